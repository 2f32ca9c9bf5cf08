"""`Automaton`: a compiled split pattern, the tables of the scanner kernel.

Separate from the compiler, which most programs never need: the tables of the packaged
patterns are shipped.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ACCEPT_HERE",
    "ACCEPT_ONE_AGO",
    "BLOCK_COUNT",
    "BLOCK_SIZE",
    "MAX_CLASSES",
    "MAX_STATES",
    "Automaton",
    "meets_match",
]

ACCEPT_HERE = 1
ACCEPT_ONE_AGO = 2
BLOCK_SIZE = 64
BLOCK_COUNT = 0x110000 // BLOCK_SIZE
MAX_CLASSES = 250
MAX_STATES = 4_000


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """A split pattern as tables; state 0 is dead, state 1 the start.

    Scanning from a piece's start: begin with `row = stride`; for each character
    read `e = transitions[row + class]`; stop if e is 0; if `e & 3` is not 0
    store the end that it gives; continue with `row = e >> 2`. After the last
    character read the end symbol, class `n_classes`, the same way. The last
    stored end is the match's end; without one the character is in a gap.

    Attributes:
        ascii_class: uint8, shape (128,): class of an ASCII character.
        block_index: uint16, shape (17408,): block number by code point >> 6.
        block_class: uint8, shape (64 * blocks,): class by block and code point & 63.
            Surrogates have a class that is in no set of the pattern.
        n_classes: classes are 0 to n_classes - 1; the end of the text is n_classes.
        transitions: uint32, shape (states * stride,), row by state, column by class.
            An entry is `(target state * stride) << 2 | accept`: accept 1 is a match
            that ends after the character just read (or at the end of the text),
            2 one that ends before that character, 0 neither. Only a dead entry is 0.
        stride: n_classes + 1.
        has_gaps: False if it is proven that a match starts at every character of every text.

    Source: the construction is explained at the top of automaton.py.
    """

    ascii_class: NDArray[np.uint8]
    block_index: NDArray[np.uint16]
    block_class: NDArray[np.uint8]
    n_classes: int
    transitions: NDArray[np.uint32]
    stride: int
    has_gaps: bool


def meets_match(
    targets: NDArray[np.int64], accepts: NDArray[np.int64], symbols: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return for each state and class whether a match is certain once the class is read.

    The greatest fixpoint of: a transition is certain if it accepts, or leads to a live state all
    of whose transitions are certain. Texts are finite, and the end is certain only if it accepts.

    Args:
        targets: shape (states, classes + 1); the last class is the end of the text.
        accepts: the same shape.
        symbols: the classes that occur in texts, and the end.
    """
    certain: NDArray[np.bool_] = np.ones(len(targets), dtype=bool)
    while True:
        met: NDArray[np.bool_] = (accepts != 0) | (certain[targets] & (targets != 0))
        narrowed: NDArray[np.bool_] = np.logical_and.reduce(met[:, symbols], axis=1)
        if (narrowed == certain).all():
            return met
        certain = narrowed
