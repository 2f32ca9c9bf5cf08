from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.encode.encoder import Encoder

LONGEST_KNOWN: int

class KnownParts:
    def __new__(
        cls,
        encoder: Encoder,
        text: str,
        points: NDArray[np.int64],
        count: Callable[[str, bool], int],
        changes_starts: bool,
    ) -> KnownParts: ...
    def known(self) -> memoryview: ...
    def count(self, spans: NDArray[np.int64], leads: bool) -> memoryview: ...
    def keep(self, spans: NDArray[np.int64], tokens: NDArray[np.int64]) -> None: ...
