from collections.abc import Callable
from typing import Self

from cutline.kernels.words.encoder import WordEncoder

class TextStarts:
    def __new__(
        cls,
        encoder: WordEncoder,
        text: str,
        parts_of: Callable[[], object] | None = None,
        is_plain: bool = False,
        gap: int = 0,
        before: int = 0,
    ) -> Self: ...
    @property
    def total(self) -> int: ...
    @property
    def settled(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def settled_start(self) -> int: ...
    def start_from(self, at: int) -> int: ...
