from array import array
from collections.abc import Callable, Sequence

from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.index.interval import Intervals

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
