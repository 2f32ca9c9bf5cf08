from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.alignment import Alignment
from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.encode.run_counts import RunRules

# Ids, where the added tokens are among them, the spans of these, and what is between comes from.
EncodedAmong: TypeAlias = tuple[
    NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], Alignment | None
]

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
    def encode(self, ids: NDArray[np.uint32], aligns: bool) -> EncodedAmong | None: ...
    def counts_between(self, places: NDArray[np.int64]) -> memoryview: ...
