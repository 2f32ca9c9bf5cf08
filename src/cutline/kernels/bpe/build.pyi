from typing import Self

import numpy as np
from numpy.typing import NDArray

NON_MONOTONE_LIMIT: int

class PairTable:
    def __new__(cls, n_tokens: int) -> Self: ...
    @property
    def slots(self) -> NDArray[np.uint64]: ...
    @property
    def filter_words(self) -> NDArray[np.uint64]: ...

def slots_for(entries: int) -> int: ...
def filter_words_for(n_tokens: int) -> int: ...
def token_slots_for(n_tokens: int) -> int: ...
def fill_tables(arrays: dict[str, memoryview]) -> None: ...
def token_slots(
    arena: NDArray[np.uint8], offsets: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], tuple[int, int] | None]: ...
def monotone_left_lengths(
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    byte_token: NDArray[np.uint32],
) -> NDArray[np.uint32] | None: ...
def any_left_lengths(
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    byte_token: NDArray[np.uint32],
) -> NDArray[np.uint32]: ...
def splits(
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    byte_token: NDArray[np.uint32],
    left_lengths: NDArray[np.uint32],
) -> (
    tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint64], bool]
    | int
): ...
def wrong_split(
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    byte_token: NDArray[np.uint32],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    pair_slots: NDArray[np.uint64],
    pair_filter: NDArray[np.uint64],
) -> int: ...
def match_filters(
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint64],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...
def character_tables(
    arena: NDArray[np.uint8], offsets: NDArray[np.uint64], left: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint64]]: ...
