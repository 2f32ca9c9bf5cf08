import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.alignment import Alignment
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
    @property
    def token_spans(self) -> NDArray[np.int64]: ...
    def encode(
        self, ids: NDArray[np.uint32], aligns: bool
    ) -> (
        tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], Alignment | None] | None
    ): ...
    def counts_between(self, places: NDArray[np.int64]) -> memoryview: ...
