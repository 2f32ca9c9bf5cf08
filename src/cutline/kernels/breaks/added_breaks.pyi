from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.breaks.few_breaks import FewSums
from cutline.kernels.encode.among_added import AmongAdded
from cutline.kernels.encode.encoder import Encoder

class AddedSums(FewSums):
    def __new__(
        cls,
        encoder: Encoder,
        text: str,
        most: float,
        added: AmongAdded,
        points: NDArray[np.int64],
        count: Callable[[str], int],
    ) -> Self: ...
