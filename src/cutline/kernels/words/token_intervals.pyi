from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.intervals import WordIntervals

class TokenIntervals(WordIntervals):
    @property
    def settled(self) -> int: ...
    def add_tokens(
        self,
        texts: NDArray[np.int64],
        spans: NDArray[np.int64],
        groups: NDArray[np.int64],
        counter_of: Callable[[str], WordIntervals],
    ) -> None: ...
