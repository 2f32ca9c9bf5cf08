from array import array
from collections.abc import Callable, Sequence
from typing import Self

from cutline.kernels.breaks.outlined import Places
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.breaks.text_blocks import TextCutter
from cutline.kernels.words.encoder import WordEncoder
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
    places: Places | None = None,
) -> tuple[memoryview, int]: ...

class WordTexts(TextCutter):
    def __new__(
        cls,
        encoder: WordEncoder,
        n: int,
        min_fill: float,
        kinds: array[int],
        overlap: Overlap | None = None,
        gap: int = 0,
    ) -> Self: ...
