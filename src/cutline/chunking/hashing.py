"""Content-defined hashes of places, for cuts that are stable under edits."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["HASHED_CHARACTERS", "hashes_around"]

HASHED_CHARACTERS: Final = 16
"""Characters that are hashed on each side of a place."""

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
# Pseudo-random odd multipliers, one for each character around a place.
_FACTORS: Final = (
    np.arange(1, 2 * HASHED_CHARACTERS + 1, dtype=np.uint64) ** np.uint64(7) * _MIX
) | np.uint64(1)


def hashes_around(text: str, start: int, first: int, last: int) -> NDArray[np.uint64]:
    """Hash the characters around each place from `first` to `last`.

    Text before `start` is ignored. The same characters give the same number everywhere.

    Returns:
        uint64, shape (last - first + 1,).

    >>> hashes_around("a" * 40, 0, 16, 18).tolist() == [hashes_around("a" * 40, 0, 20, 20)[0]] * 3
    True
    """
    begin = first - HASHED_CHARACTERS
    part = text[max(begin, start) : last + HASHED_CHARACTERS]
    points = np.zeros(last - first + 2 * HASHED_CHARACTERS, dtype=np.uint64)
    offset = max(begin, start) - begin
    points[offset : offset + len(part)] = np.frombuffer(part.encode("utf-32-le"), dtype="<u4")
    hashes = np.convolve(points, _FACTORS, mode="valid")
    hashes ^= hashes >> np.uint64(32)
    hashes *= _MIX
    mixed: NDArray[np.uint64] = hashes ^ hashes >> np.uint64(29)
    return mixed
