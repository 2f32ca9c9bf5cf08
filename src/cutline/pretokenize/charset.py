"""Sets of code points as sorted, disjoint, half-open ranges.

The universe is the 1,112,064 Unicode scalar values: surrogates are in no set,
not even in a complement. All operations work on the ranges' edges, never on
single code points, so they cost microseconds whatever the sets' sizes.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CODE_POINTS", "CharSet", "union"]

CODE_POINTS = 0x110000
_SCALAR_EDGES = (0, 0xD800, 0xE000, CODE_POINTS)


class CharSet:
    """An immutable set of Unicode scalar values.

    Args:
        edges: int32, even length, strictly increasing: start, end, start, end,
            and so on of half-open ranges that do not touch.

    >>> vowels = union(CharSet.of(c) for c in "aeiou")
    >>> letters = CharSet.from_ranges([(0x61, 0x7B)])
    >>> len(letters - vowels), 0x65 in vowels, len(~letters)
    (21, True, 1112038)
    """

    __slots__ = ("edges",)

    def __init__(self, edges: NDArray[np.int32]) -> None:
        self.edges = edges

    @classmethod
    def of(cls, character: str) -> "CharSet":
        """Return the set of one character."""
        return cls.from_ranges([(ord(character), ord(character) + 1)])

    @classmethod
    def from_ranges(cls, ranges: Iterable[tuple[int, int]]) -> "CharSet":
        """Return the set of half-open ranges, given in any order, without surrogates."""
        pairs = [(start, end) for start, end in ranges if start < end]
        if len(pairs) == 1 and pairs[0][0] >= 0 and pairs[0][1] <= _SCALAR_EDGES[1]:
            return cls(np.array(pairs[0], dtype=np.int32))  # as most are: characters of patterns
        edges = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        edges = edges[np.argsort(edges[:, 0], kind="stable")]
        ends = np.maximum.accumulate(edges[:, 1])
        opens = np.ones(len(edges), dtype=bool)
        opens[1:] = edges[1:, 0] > ends[:-1]
        closes = np.append(opens[1:], True)[: len(edges)]
        merged = np.column_stack((edges[opens, 0], ends[closes])).ravel()
        return cls(merged.astype(np.int32)) & _SCALARS

    def contains(self, code_points: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for each code point whether it is a member."""
        return (np.searchsorted(self.edges, code_points, side="right") & 1).astype(bool)

    def ranges(self) -> list[tuple[int, int]]:
        """Return the half-open ranges as pairs of ints."""
        flat = self.edges.tolist()
        return list(zip(flat[::2], flat[1::2], strict=True))

    def _combine(self, other: "CharSet", operation: "np.ufunc") -> "CharSet":
        points = np.sort(np.concatenate([self.edges, other.edges]))  # some of them twice
        inside = operation(self.contains(points), other.contains(points))
        changes = np.empty_like(inside)
        changes[:1] = inside[:1]
        changes[1:] = inside[1:] != inside[:-1]
        return CharSet(points[changes].astype(np.int32))

    def __or__(self, other: "CharSet") -> "CharSet":
        return self._combine(other, np.logical_or)

    def __and__(self, other: "CharSet") -> "CharSet":
        return self._combine(other, np.logical_and)

    def __sub__(self, other: "CharSet") -> "CharSet":
        return self._combine(other, np.greater)

    def __invert__(self) -> "CharSet":
        return _SCALARS - self

    def __contains__(self, code_point: int) -> bool:
        return bool(self.contains(np.array([code_point]))[0])

    def __len__(self) -> int:
        return int((self.edges[1::2] - self.edges[::2]).sum())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CharSet) and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash(self.edges.tobytes())

    def __repr__(self) -> str:
        shown = ", ".join(f"{start:X}-{end - 1:X}" for start, end in self.ranges()[:4])
        return f"<CharSet of {len(self)}: {shown}{', ...' if len(self.edges) > 8 else ''}>"


_SCALARS = CharSet(np.array(_SCALAR_EDGES, dtype=np.int32))


def union(sets: Iterable[CharSet]) -> CharSet:
    """Return the union of any number of sets."""
    given = [*sets]
    return reduce(CharSet.__or__, given) if given else CharSet(np.empty(0, dtype=np.int32))
