from typing import Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.alignment import Alignment

class RunRules:
    def __new__(
        cls,
        kept: NDArray[np.uint8],
        after_lines: NDArray[np.uint8] | None,
        after_stops: NDArray[np.uint8] | None,
        stops: str,
        stand_ins: str,
        blank: str,
        prefix: int,
    ) -> Self: ...
    @property
    def are_known(self) -> bool: ...
    def changed(self, text: str) -> str | None: ...
    def aligned(self, text: str) -> Alignment | None: ...
