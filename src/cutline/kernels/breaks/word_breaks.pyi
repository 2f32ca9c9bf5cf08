from array import array

from cutline.kernels.words.intervals import WordIntervals

def cut_words_at_breaks(
    counter: WordIntervals,
    start: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: array[int],
) -> tuple[memoryview, int]: ...
