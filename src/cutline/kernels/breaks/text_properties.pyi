import numpy as np
from numpy.typing import NDArray

def set_tables(
    block_index: NDArray[np.uint16],
    block_class: NDArray[np.uint8],
    values: NDArray[np.uint32],
    abbreviations: NDArray[np.uint64],
) -> None: ...
