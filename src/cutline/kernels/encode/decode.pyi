from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

class Decoder:
    def __new__(
        cls,
        arena: bytes,
        ids: NDArray[np.uint32],
        starts: NDArray[np.uint64],
        lengths: NDArray[np.uint32],
    ) -> Self: ...
    def bytes_of(self, token_id: int) -> bytes: ...
    def starts_of(self, tokens: Iterable[int]) -> NDArray[np.int64]: ...
    def join(self, tokens: Iterable[int]) -> bytes: ...

class Ids:
    def __new__(cls, tokens: Iterable[int]) -> Self: ...

def ids_to_list(ids: NDArray[np.uint32]) -> list[int]: ...
