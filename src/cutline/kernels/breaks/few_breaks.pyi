from array import array
from collections.abc import Callable, Sequence
from typing import Any, Self

from cutline.kernels.breaks.outlined import Places
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.encode.encoder import Encoder

class FewSums:
    @property
    def are_known(self) -> bool: ...
    def __new__(cls, encoder: Encoder, text: str, most: float, *args: Any) -> Self: ...

def cut_few_at_breaks(
    sums: FewSums,
    start: int,
    floor: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: array[int],
    overlap: Overlap | None = None,
    renew: Callable[[int], Sequence[tuple[int, int]] | None] | None = None,
    places: Places | None = None,
) -> tuple[memoryview, int]: ...

class FewCut:
    def __new__(cls, sums: FewSums) -> Self: ...
