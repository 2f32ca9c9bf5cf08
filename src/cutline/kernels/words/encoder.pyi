from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.char_map import CharMap

class WordEncoder:
    def __new__(
        cls,
        raw: CharMap,
        plain: CharMap,
        arena: bytes,
        offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        unk_id: int,
        options: dict[str, Any],
    ) -> Self: ...
    @property
    def raw(self) -> CharMap: ...
    @property
    def plain(self) -> CharMap: ...
    @property
    def changed_runs(self) -> Any: ...
    def count(
        self, text: str, is_plain: bool = False, prefixes: bool = True, keeps_end: bool = False
    ) -> int: ...
    # A list of ids or an array, as `as_list` says; None where characters are entangled.
    def encode(
        self,
        text: str,
        as_list: bool,
        is_plain: bool = False,
        prefixes: bool = True,
        keeps_end: bool = False,
    ) -> Any: ...
    def encode_with_spans(
        self, text: str, is_plain: bool = False, prefixes: bool = True, keeps_end: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]] | None: ...
    def encode_parts(
        self,
        text: str,
        parts: list[tuple[int, int, str | None, NDArray[np.int64] | None, bool]],
        traces: bool,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
