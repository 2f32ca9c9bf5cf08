import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.team import Led

class Merger(Led):
    def __new__(
        cls,
        arena: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        vocab_size: int,
        min_frequency: int,
        max_token_length: int,
        ties: int,
        n_threads: int = 1,
        shared_places: int = 256,
    ) -> Merger: ...
    @property
    def n_parts(self) -> int: ...
    @property
    def finished(self) -> bool: ...
    def advance(self, most: int) -> int: ...
    def newest(self, most: int) -> list[bytes]: ...
    def merges(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def tokens_so_far(self) -> tuple[bytes, NDArray[np.uint32]]: ...
