from array import array
from typing import TypeVar

from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.encode.encoder import Encoder

_C = TypeVar("_C")

class BlockCutter: ...

def chunk_block(
    chunk_type: type[_C],
    texts: list[str],
    limits: list[tuple[Encoder | str, int]],
    min_fill: float,
    kinds: array[int],
    stable: bool,
    names: tuple[str, ...],
    overlap: Overlap | None = None,
    share: float = -1,
) -> list[list[_C] | None]: ...
def chunk_stretches(
    chunk_type: type[_C],
    text: str,
    places: memoryview,
    index: int,
    limits: list[tuple[Encoder | str, int]],
    min_fill: float,
    kinds: array[int],
    stable: bool,
    names: tuple[str, ...],
    overlap: Overlap | None = None,
    share: float = -1,
) -> tuple[list[_C], int]: ...
