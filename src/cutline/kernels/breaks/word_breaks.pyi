from array import array
from collections.abc import Callable, Sequence

from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.words.intervals import WordIntervals

def cut_words_at_breaks(
    counter: WordIntervals,
    start: int,
    floor: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: array[int],
    overlap: Overlap | None = None,
    renew: Callable[[int], Sequence[tuple[int, int]] | None] | None = None,
) -> tuple[memoryview, int]: ...
