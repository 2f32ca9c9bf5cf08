import numpy as np
from numpy.typing import NDArray

def places_of_pairs(
    text: str, class_of: NDArray[np.uint16], pairs: NDArray[np.uint8]
) -> memoryview: ...
def next_pair(
    text: str, at: int, until: int, class_of: NDArray[np.uint16], pairs: NDArray[np.uint8]
) -> int: ...
