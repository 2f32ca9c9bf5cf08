"""Analysis of a compiled pattern: which properties hold for whole classes of characters."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cutline.pretokenize.charset import CODE_POINTS, CharSet
from cutline.pretokenize.compiled import ACCEPT_HERE, BLOCK_SIZE, Automaton, meets_match
from cutline.pretokenize.store import compile_pattern

__all__ = ["Tables"]

START = 1


class Tables:
    """A pattern's automaton as matrices of states and classes; the last class is the end.

    Attributes:
        targets: int64, shape (states, classes + 1).
        accepts: int64, the same shape; see `Automaton`.
        end: the number of the end of the text, as a class.
        block_index: uint16, shape (17408,); the block of each `BLOCK_SIZE` code points.
        blocks: uint8, shape (blocks, BLOCK_SIZE); the classes of the code points of each.

    Args:
        pattern: as for `compile_pattern`, or what that returned.
    """

    targets: NDArray[np.int64]
    accepts: NDArray[np.int64]
    block_index: NDArray[np.uint16]
    blocks: NDArray[np.uint8]

    def __init__(self, pattern: str | Automaton) -> None:
        automaton = compile_pattern(pattern) if isinstance(pattern, str) else pattern
        entries = automaton.transitions.reshape(-1, automaton.stride).astype(np.int64)
        self.accepts = entries & 3
        self.targets = (entries >> 2) // automaton.stride
        self.end = automaton.n_classes
        self.block_index = automaton.block_index
        self.blocks = automaton.block_class.reshape(-1, BLOCK_SIZE)

    @cached_property
    def classes(self) -> NDArray[np.uint8]:
        """The class of each code point."""
        return self.blocks[self.block_index].ravel()

    def meets_match(self) -> NDArray[np.bool_]:
        """Return for each state and class whether a match is certain once the class is read."""
        first, end = 0xD800 // BLOCK_SIZE, 0xE000 // BLOCK_SIZE  # the surrogates
        surrogate = self.blocks[self.block_index[first], 0]
        scalars = np.unique(np.delete(self.block_index, np.s_[first:end]))
        symbols = np.arange(self.end + 1) != surrogate
        symbols |= surrogate in self.blocks[scalars]
        return meets_match(self.targets, self.accepts, symbols)

    def begins_match(self) -> NDArray[np.uint8]:
        """Return for each class 1 if a match is certain to begin with it, where none goes on."""
        return self.meets_match()[START, : self.end].astype(np.uint8)

    def is_dead(self) -> NDArray[np.bool_]:
        """Return for each state and class whether no match is possible any more."""
        dead: NDArray[np.bool_] = (self.targets == 0) & (self.accepts == 0)
        return dead

    def classes_of(self, chars: CharSet) -> list[int]:
        """List the classes of a set's characters."""
        points = np.flatnonzero(chars.contains(np.arange(CODE_POINTS)))
        return [int(number) for number in np.unique(self.classes[points])]

    def members(self, classes: Sequence[int]) -> CharSet:
        """Return the set of the characters of some classes."""
        inside = np.isin(self.classes, np.array(classes, dtype=np.int64))
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False)).tolist()
        return CharSet.from_ranges(zip(edges[::2], edges[1::2], strict=True))

    def pairs_with(self, other: "Tables") -> list[tuple[int, int]]:
        """List which class of this one goes with which of another, for some character."""
        blocks = np.unique(self.block_index.astype(np.int64) << 32 | other.block_index)
        mine, others = self.blocks[blocks >> 32], other.blocks[blocks & 0xFFFFFFFF]
        joined = np.flatnonzero(np.bincount((mine.astype(np.int64) << 8 | others).ravel()))
        return [*zip((joined >> 8).tolist(), (joined & 0xFF).tolist(), strict=True)]

    def classes_in(self, text: str) -> NDArray[np.uint8]:
        """Look up the class of each character of a short text."""
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        found = self.block_index[points // BLOCK_SIZE]
        classes: NDArray[np.uint8] = self.blocks[found, points % BLOCK_SIZE]
        return classes

    def match_end(self, word: Sequence[int]) -> int:
        """Match at the start of a text, given as classes. Returns the length, 0 without a match."""
        state, end = START, 0
        for at, symbol in enumerate((*word, self.end)):
            accept = int(self.accepts[state, symbol])
            if accept:
                end = min(at + (accept == ACCEPT_HERE), len(word))
            state = int(self.targets[state, symbol])
            if not state:
                break
        return end
