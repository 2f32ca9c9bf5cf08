from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.scan.scan import ScanTables

MOST_STAGES: int

class PieceSplitter:
    def __new__(cls, stages: Iterable[tuple[ScanTables, int, bool]]) -> Self: ...
    def split(self, text: bytes, edges: NDArray[np.int64] | None = None) -> NDArray[np.int64]: ...
    def prefix_counts(
        self, encoder: Encoder, text: bytes, max_tokens: int
    ) -> NDArray[np.int64] | None: ...

def mark_pieces(tables: ScanTables, text: bytes, at_start: bool) -> bytes: ...
def furthest_end(encoder: Encoder, text: bytes, max_tokens: int) -> int: ...
