from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

class Alignment:
    @property
    def text(self) -> str: ...
    def spans_of(self, parts: NDArray[np.int64]) -> NDArray[np.int64]: ...

def aligned(text: str, blocks: Iterable[tuple[int, int, int, int]]) -> Alignment: ...
