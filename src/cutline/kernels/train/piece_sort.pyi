import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.team import Led

Pieces = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]

class PieceSort(Led):
    def __new__(cls) -> PieceSort: ...
    @property
    def n_rows(self) -> int: ...
    def pieces(self, n_threads: int = 1) -> Pieces: ...
