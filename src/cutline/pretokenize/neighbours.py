"""Which two characters are in different pieces, whatever is around them.

A text may be cut between such characters: the pieces of both sides are those of the whole text. So
it is for one pattern if no match has both, and a match that ends between them would end there at
the end of the text as well. Of several splittings, one after another, all have to be so up to
one that is certain to cut there; docs/tokenizers.md, "Safe split points".
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.pairs import places_of_pairs
from cutline.pretokenize.analysis import START, Tables
from cutline.pretokenize.charset import CharSet
from cutline.pretokenize.compiled import ACCEPT_HERE, BLOCK_COUNT, BLOCK_SIZE
from cutline.pretokenize.splitting import Splitting, has_automaton

__all__ = ["Neighbours"]

_Matrix = NDArray[np.bool_]


class Neighbours:
    """What is known of characters and pairs of them.

    Attributes:
        apart: bool, shape (classes, classes): no piece has a character of the first class followed
            by one of the second, and a text may be cut there.
        in_pieces: bool, shape (classes,): each of its characters is in a piece.
        n_classes: how many classes of characters there are.

    Args:
        pattern: splits the text; or
        splittings: do so one after another.
    """

    def __init__(self, pattern: str, splittings: Sequence[Splitting] = ()) -> None:
        self.n_classes = 1
        # The classes of the code points of each block, as in `Tables`.
        self._block_index: NDArray[np.integer] = np.zeros(BLOCK_COUNT, dtype=np.uint16)
        self._blocks: NDArray[np.unsignedinteger] = np.zeros((1, BLOCK_SIZE), dtype=np.uint8)
        self.apart: _Matrix = np.zeros((1, 1), dtype=bool)
        self.in_pieces: _Matrix = np.ones(1, dtype=bool)
        if not splittings:
            tables = Tables(pattern)
            self.n_classes = tables.end
            self._block_index, self._blocks = tables.block_index, tables.blocks
            self.apart = _never_joined(tables)
            self.in_pieces = tables.begins_match().astype(bool)
            return
        certain: _Matrix = np.ones((1, 1), dtype=bool)  # nothing changes if the text is cut here
        for one in splittings:
            if not has_automaton(one.pat_str):
                certain = np.zeros_like(certain)
                self.in_pieces = self.in_pieces & (one.behavior != "removed")
                continue
            tables = Tables(one.pat_str)
            old, new = self._refine(tables)
            untouched, cuts = _pairs(one, tables)
            certain = certain[np.ix_(old, old)] & untouched[np.ix_(new, new)]
            self.apart = self.apart[np.ix_(old, old)] | (certain & cuts[np.ix_(new, new)])
            self.in_pieces = self.in_pieces[old] & _stays(one, tables)[new]

    def _refine(self, tables: Tables) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Split classes by those of an automaton; return for each what it was in both."""
        both = self._block_index.astype(np.int64) << 16 | tables.block_index
        blocks, self._block_index = np.unique(both, return_inverse=True)
        joined = self._blocks[blocks >> 16].astype(np.int64) << 8 | tables.blocks[blocks & 0xFFFF]
        found = np.flatnonzero(np.bincount(joined.ravel()))
        number_of = np.zeros(int(found[-1]) + 1, dtype=np.uint16)
        number_of[found] = np.arange(len(found))
        self._blocks = number_of[joined]
        self.n_classes = len(found)
        return found >> 8, found & 0xFF

    @cached_property
    def _class_of(self) -> NDArray[np.unsignedinteger]:
        """The class of each code point."""
        return self._blocks.take(self._block_index, axis=0).ravel()

    def classes_in(self, text: str) -> NDArray[np.int64]:
        """Look up the class of each character of a text."""
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        return self._class_of.take(points).astype(np.int64)

    def class_of(self, character: str) -> int:
        """Look up the class of one character."""
        return int(self._class_of[ord(character)])

    def places_of(self, text: str, pairs: _Matrix) -> NDArray[np.int64]:
        """List the places in a text between characters whose classes are such a pair, in order.

        Args:
            text: any text.
            pairs: like `apart`.
        """
        return np.asarray(places_of_pairs(text, *self.tables_of(pairs)))

    def tables_of(self, pairs: _Matrix) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        """Return the class of each code point, and which pairs are such, for kernels."""
        class_of = self._class_of = self._class_of.astype(np.uint16, copy=False)
        return class_of, np.ascontiguousarray(pairs).view(np.uint8)

    def bits_of(self, classes: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return a bit for each code point: whether its class is one of these."""
        of_blocks = np.packbits(classes.take(self._blocks), axis=1, bitorder="little")
        return of_blocks.take(self._block_index, axis=0).ravel()

    def is_alone(self, number: int) -> bool:
        """Return whether a class has but one character."""
        in_blocks = np.count_nonzero(self._blocks == number, axis=1)
        return int(in_blocks[self._block_index].sum()) == 1

    def members(self, number: int) -> CharSet:
        """Return the set of the characters of a class."""
        inside = self._class_of == number
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False)).tolist()
        return CharSet.from_ranges(zip(edges[::2], edges[1::2], strict=True))


def _never_joined(tables: Tables) -> _Matrix:
    """Return for each pair of classes whether no match contains them in this order.

    From every state after the first class, the second one must end the match without being
    part of it, and exactly as the end of the text would.
    """
    n = tables.end
    ends = tables.accepts != 0
    stops = (tables.targets == 0) & (tables.accepts != 1)
    stops &= ends == ends[:, n : n + 1]
    stops[:, n] = False
    apart = np.zeros((n, n), dtype=bool)
    for first in range(n):
        reached = np.unique(tables.targets[START:, first])
        apart[first] = stops[reached[reached != 0], :n].all(axis=0)
    return apart


def _pairs(one: Splitting, tables: Tables) -> tuple[_Matrix, _Matrix]:
    """Return for each pair whether cutting there changes no match, and whether it is cut."""
    n = tables.end
    untouched = _never_joined(tables)
    begins = tables.meets_match()[START, :n]  # a match begins here, if none goes on
    never = tables.is_dead()[START, :n]
    ends = np.zeros((n, n), dtype=bool)  # the first class is the end of a match
    for first in range(n):
        reached = tables.targets[:, first]
        accepted = (tables.accepts[:, first] == ACCEPT_HERE)[:, None]
        accepted = accepted | (tables.accepts[reached, :n] != 0) & (reached != 0)[:, None]
        alive = reached != 0
        alive[0], alive[START] = False, True
        ends[first] = accepted[alive].all(axis=0)
    if one.behavior == "removed":
        cuts = untouched if one.inverted else untouched & (ends | begins)
    elif one.behavior == "isolated":
        cuts = untouched & (ends | begins)
    elif one.behavior == "contiguous":
        outside = _never_inside(tables)
        cuts = untouched & ((ends & never) | (outside[:, None] & begins))
    elif one.inverted:
        cuts = np.zeros((n, n), dtype=bool)
    else:
        cuts = untouched & (ends if one.behavior == "merged with previous" else begins)
    return untouched, cuts


def _never_inside(tables: Tables) -> _Matrix:
    """Return for each class whether no match has a character of it."""
    n = tables.end
    goes_on = (tables.targets[START:, :n] != 0) | (tables.accepts[START:, :n] == ACCEPT_HERE)
    never: _Matrix = ~goes_on.any(axis=0)
    return never


def _stays(one: Splitting, tables: Tables) -> _Matrix:
    """Return for each class whether all of its characters are in pieces."""
    if one.behavior != "removed":
        return np.ones(tables.end, dtype=bool)
    if one.inverted:
        return tables.meets_match()[START, : tables.end]
    return _never_inside(tables)
