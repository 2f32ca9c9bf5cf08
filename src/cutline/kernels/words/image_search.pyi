from typing import Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.char_map import CharMap

class ImageSearch:
    def __new__(
        cls,
        char_map: CharMap,
        labels: NDArray[np.uint8],
        children: NDArray[np.int32],
        numbers: NDArray[np.int32],
    ) -> Self: ...
    def find(self, text: str, overlapping: bool = False) -> memoryview | None: ...
