from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

class KnownPairs:
    def __new__(cls, holds: Callable[[str, str], bool]) -> KnownPairs: ...
    def places_of(self, text: str, places: NDArray[np.int64] | memoryview) -> memoryview: ...
