from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

class ScanTables:
    def __new__(
        cls,
        ascii_class: NDArray[np.uint8],
        block_index: NDArray[np.uint16],
        block_class: NDArray[np.uint8],
        transitions: NDArray[np.uint32],
        stride: int,
        in_pieces: NDArray[np.uint8] | None,
    ) -> Self: ...
    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, int]: ...
    @property
    def has_gaps(self) -> bool: ...
    @property
    def lane_table(self) -> memoryview | None: ...
    @property
    def lane_ends(self) -> memoryview | None: ...
    @property
    def apart(self) -> memoryview | None: ...

def scan_pieces(
    tables: ScanTables, text: bytes
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
