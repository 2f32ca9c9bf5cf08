from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_C = TypeVar("_C", bound=ChunkFields)

class ChunkFields:
    @property
    def text(self) -> str: ...
    @property
    def start_index(self) -> int: ...
    @property
    def end_index(self) -> int: ...
    @property
    def token_count(self) -> int: ...
    @property
    def index(self) -> int: ...
    @property
    def headings(self) -> tuple[str, ...]: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...
    def _set_fields(
        self,
        text: str,
        start_index: int,
        end_index: int,
        token_count: int,
        index: int,
        headings: tuple[str, ...],
        metadata: Mapping[str, Any] | None,
    ) -> None: ...

class OwnedRows: ...

def make_chunks(
    chunk_type: type[_C],
    text: str,
    rows: NDArray[np.int64] | memoryview,
    names: tuple[str, ...],
    offset: int,
    index: int,
) -> list[_C]: ...
def make_outlined(
    chunk_type: type[_C],
    text: str,
    rows: NDArray[np.int64] | memoryview,
    names: tuple[str, ...],
    offset: int,
    index: int,
    floor: int,
    headings_at: Callable[[int], tuple[str, ...]],
    metadata: Callable[[int, int], dict[str, Any]],
) -> list[_C]: ...
def make_chunk(
    chunk_type: type[_C],
    text: str,
    start: int,
    end: int,
    offset: int,
    tokens: int,
    index: int,
    headings: tuple[str, ...],
    metadata: dict[str, object],
) -> _C: ...
def chunk_numbers(rows: memoryview, offset: int, index: int) -> memoryview: ...
def chunk_texts(text: str, rows: memoryview) -> tuple[bytes, memoryview]: ...
