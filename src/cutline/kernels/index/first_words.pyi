from typing import Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.encode.encoder import Encoder

class FirstWords:
    def __new__(
        cls,
        encoder: Encoder,
        text: str,
        prefix: str,
        takes_blank: bool,
        class_of: NDArray[np.uint16],
        pairs: NDArray[np.uint8],
        splits_nothing: bool,
    ) -> Self: ...
    def count(self, start: int, end: int) -> tuple[int, int]: ...
    def count_many(
        self, spans: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
