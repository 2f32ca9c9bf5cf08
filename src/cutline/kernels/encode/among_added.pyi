import numpy as np
from numpy.typing import NDArray

from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.encode.run_counts import RunRules

class AmongAdded:
    def __new__(
        cls,
        encoder: Encoder,
        text: str,
        spans: NDArray[np.int64],
        shortest: int,
        surest: int,
        rules: RunRules | None = None,
    ) -> AmongAdded: ...
    def count(self) -> int: ...
    def counts_between(self, places: NDArray[np.int64]) -> memoryview: ...
