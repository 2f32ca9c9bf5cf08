"""Character classes: code points that no set of the pattern distinguishes.

A class is a group of code points that are members of exactly the same sets.
The automaton reads classes, so its table has a column per class and a two-stage
table maps a code point to its class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cutline.pretokenize.charset import CODE_POINTS, CharSet
from cutline.pretokenize.compiled import BLOCK_COUNT, BLOCK_SIZE

__all__ = ["Partition", "block_tables", "partition"]

Class = TypeVar("Class", bound=np.unsignedinteger[Any])

_SURROGATE_EDGES = np.array([0xD800, 0xE000], dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Partition:
    """The ranges of code points and the class of each.

    Attributes:
        starts: int32, increasing, first 0: where a range starts.
        classes: int64, same length: the range's class, numbered by first range.
        members: bool, shape (sets, classes): which classes make up a set.
        surrogate_class: the class of U+D800-U+DFFF, which are in no set.
    """

    starts: NDArray[np.int32]
    classes: NDArray[np.int64]
    members: NDArray[np.bool_]
    surrogate_class: int


def partition(sets: Sequence[CharSet]) -> Partition:
    """Split the code points into the classes that the sets distinguish.

    Cost: O(sets x ranges of all sets); about 2 ms for o200k's 3,000 ranges.
    """
    edges = [chars.edges for chars in sets]
    starts = np.unique(np.concatenate([np.zeros(1, np.int32), _SURROGATE_EDGES, *edges]))
    starts = starts[starts < CODE_POINTS].astype(np.int32)
    inside = [chars.contains(starts) for chars in sets]
    classes = ((starts >= 0xD800) & (starts < 0xE000)).astype(np.int64)
    for member in inside:
        _, classes = np.unique(2 * classes + member, return_inverse=True)
    _, first, classes = np.unique(classes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    classes = np.argsort(order)[classes]
    first = first[order]
    members = np.array([member[first] for member in inside], dtype=bool)
    members = members.reshape(len(sets), len(first))
    surrogate = int(classes[np.searchsorted(starts, 0xD800)])
    return Partition(starts, classes, members, surrogate)


def block_tables(
    starts: NDArray[np.int32], classes: NDArray[Class]
) -> tuple[NDArray[np.uint16], NDArray[Class]]:
    """Return the two-stage table: block number by code point // 64, classes by block.

    Only blocks in which the class changes are stored code point by code point;
    the others share one block per class.
    """
    mixed = np.unique(starts[starts % BLOCK_SIZE != 0] // BLOCK_SIZE)
    uniform = np.setdiff1d(np.arange(BLOCK_COUNT), mixed)
    first = classes[np.searchsorted(starts, uniform * BLOCK_SIZE, side="right") - 1]
    kinds, kind = np.unique(first, return_inverse=True)
    points = mixed[:, None] * BLOCK_SIZE + np.arange(BLOCK_SIZE)
    rows = classes[np.searchsorted(starts, points, side="right") - 1]

    numbers = {row.tobytes(): number for number, row in enumerate(_repeat(kinds))}
    index = np.empty(BLOCK_COUNT, dtype=np.uint16)
    index[uniform] = kind
    index[mixed] = [numbers.setdefault(row.tobytes(), len(numbers)) for row in rows]
    return index, np.frombuffer(b"".join(numbers), dtype=classes.dtype)


def _repeat(classes: NDArray[Class]) -> NDArray[Class]:
    """Return a block for each class that consists of that class alone."""
    return np.repeat(classes[:, None], BLOCK_SIZE, axis=1)
