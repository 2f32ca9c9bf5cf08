from array import array
from collections.abc import Callable, Sequence

from cutline.kernels.base.spelling import SpelledPlaces
from cutline.kernels.breaks.outlined import Places
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.index.first_words import FirstWords
from cutline.kernels.index.interval import Intervals

def cut_spelled_at_breaks(
    counter: Intervals,
    text: str,
    spelled: SpelledPlaces | None,
    first_words: FirstWords | None,
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
