from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.intervals import WordIntervals

class TokenIntervals(WordIntervals):
    def add_tokens(
        self, spans: NDArray[np.int64], counter_of: Callable[[str], WordIntervals]
    ) -> None: ...
