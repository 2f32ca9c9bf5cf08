from array import array
from typing import Self

from cutline.kernels.breaks.counted_breaks import CountedCut
from cutline.kernels.breaks.outlined import Places
from cutline.kernels.encode.encoder import Encoder

class PieceSums(CountedCut):
    @property
    def are_known(self) -> bool: ...
    def __new__(cls, encoder: Encoder, text: str, share: float, owner: str | bytes) -> Self: ...

def count_pieces(sums: PieceSums, start: int, end: int) -> int: ...
def cut_pieces_at_breaks(
    sums: PieceSums,
    start: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: array[int],
    places: Places | None = None,
) -> tuple[memoryview, int]: ...
