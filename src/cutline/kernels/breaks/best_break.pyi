from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.index.interval import Intervals

def cut_at_breaks(
    counter: Intervals,
    start: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: NDArray[np.intc],
    stable: bool,
    further: Sequence[tuple[Intervals | str, int]] = (),
) -> tuple[NDArray[np.int64], int]: ...
