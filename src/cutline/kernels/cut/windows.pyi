from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.encode.encoder import Encoder

_C = TypeVar("_C")

class Cutter:
    def __new__(cls, encoder: Encoder, owner: str | bytes) -> Self: ...
    def close(self) -> None: ...
    def longest_fit(self, start: int, max_tokens: int, goes_on: bool) -> int: ...
    def count_tails(self) -> NDArray[np.int64]: ...
    def cut_all(self, chunk_size: int, overlap: int) -> memoryview: ...

def chunk_text(
    chunk_type: type[_C],
    text: str,
    encoder: Encoder,
    chunk_size: int,
    overlap: int,
    names: tuple[str, ...],
) -> list[_C] | None: ...
def chunk_block(
    chunk_type: type[_C],
    texts: list[str],
    encoder: Encoder,
    chunk_size: int,
    overlap: int,
    names: tuple[str, ...],
) -> list[list[_C] | None]: ...
def cut_column(
    utf8: bytes, offsets: NDArray[np.int64], encoder: Encoder, chunk_size: int, overlap: int
) -> tuple[memoryview, memoryview]: ...
def code_points(owner: str | bytes, places: NDArray[np.int64] | memoryview) -> memoryview: ...
def count_code_points(owner: str | bytes, rows: memoryview, shares: bool) -> None: ...
