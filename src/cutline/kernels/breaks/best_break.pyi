from array import array
from collections.abc import Callable, Sequence
from typing import Self

from cutline.kernels.breaks.overlaps import Cutting, Overlap
from cutline.kernels.index.interval import Intervals

class BreakCut(Cutting):
    def __new__(cls, kinds: array[int], n_limits: int, min_fill: float, stable: bool) -> Self: ...

def cut_at_breaks(
    counter: Intervals,
    start: int,
    floor: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: array[int],
    stable: bool,
    further: Sequence[tuple[Intervals | str, int]] = (),
    renew: Callable[[int], Sequence[tuple[int, int]] | None] | None = None,
    overlap: Overlap | None = None,
) -> tuple[memoryview, int]: ...
