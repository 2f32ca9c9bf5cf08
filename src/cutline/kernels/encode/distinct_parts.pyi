import numpy as np
from numpy.typing import NDArray

def distinct_parts(text: str, spans: NDArray[np.int64]) -> tuple[memoryview, memoryview]: ...
