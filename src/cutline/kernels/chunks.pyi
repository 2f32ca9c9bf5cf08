from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

C = TypeVar("C")

def make_chunks(
    chunk_type: type[C],
    text: str,
    rows: NDArray[np.int64],
    names: tuple[str, ...],
    *,
    offset: int,
    index: int,
) -> list[C]: ...
def make_chunk(
    chunk_type: type[C],
    text: str,
    start: int,
    end: int,
    offset: int,
    tokens: int,
    index: int,
    headings: tuple[str, ...],
    metadata: dict[str, object],
) -> C: ...
