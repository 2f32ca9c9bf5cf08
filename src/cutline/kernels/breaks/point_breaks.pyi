from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.breaks.few_breaks import FewCut, FewSums
from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.encode.known_parts import KnownParts

class PointSums(FewSums):
    def __new__(
        cls,
        encoder: Encoder,
        text: str,
        most: float,
        parts: KnownParts,
        before: NDArray[np.int64],
        longest: Callable[[int, int, int, bool], int],
    ) -> Self: ...

class PointCut(FewCut): ...
