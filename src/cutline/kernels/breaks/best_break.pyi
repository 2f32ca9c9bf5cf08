from array import array

from cutline.kernels.index.interval import Intervals

def cut_at_breaks(
    counter: Intervals,
    start: int,
    until: int,
    n: int,
    fill: int,
    kinds: array[int],
    stable: bool,
) -> tuple[memoryview, int]: ...
