from array import array
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.spelling import SpelledPlaces
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.index.interval import Intervals

class FirstWords:
    def __new__(
        cls,
        encoder: Encoder,
        text: str,
        prefix: str,
        takes_blank: bool,
        class_of: NDArray[np.uint16],
        pairs: NDArray[np.uint8],
    ) -> Self: ...

def cut_spelled_at_breaks(
    counter: Intervals,
    text: str,
    places: SpelledPlaces | None,
    first_words: FirstWords | None,
    start: int,
    floor: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: array[int],
    overlap: Overlap | None = None,
    renew: Callable[[int], Sequence[tuple[int, int]] | None] | None = None,
) -> tuple[memoryview, int]: ...
