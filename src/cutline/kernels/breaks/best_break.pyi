import numpy as np
from numpy.typing import NDArray

from cutline.kernels.index.interval import Intervals

def cut_at_breaks(
    counter: Intervals,
    start: int,
    until: int,
    n: int,
    fill: int,
    kinds: NDArray[np.intc],
    stable: bool,
) -> tuple[NDArray[np.int64], int]: ...
