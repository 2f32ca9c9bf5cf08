"""Whether a pattern matches each match of another one as a whole.

Both automata read the same word side by side. Wherever the first may end a match, the second,
for which the word is a whole text, must match all of it.
"""

import numpy as np
from numpy.typing import NDArray

from cutline.pretokenize.analysis import START, Tables
from cutline.pretokenize.compiled import ACCEPT_HERE

__all__ = ["leaves_whole"]


def leaves_whole(first: str, second: str) -> bool:
    r"""Return whether a pattern matches all matches of another one from end to end.

    True is certain; what the first one matches is taken for more than it may be.

    Args:
        first: a pattern for any text.
        second: a pattern for a text that is one match of the first.

    Raises:
        UnsupportedPatternError: one of them is outside the subset that compiles to an automaton.

    Cost: linear in the pairs of states and classes.

    >>> leaves_whole(r"'s|\p{L}+|[^\s\p{L}]+", r"'s| ?\p{L}+| ?[^\s\p{L}]+")
    True
    >>> leaves_whole(r"\w+", r"\d|\D+")
    False
    """
    outer, inner = Tables(first), Tables(second)
    symbols, seen_as = (list(column) for column in zip(*outer.pairs_with(inner), strict=True))
    ends_before: NDArray[np.bool_] = np.logical_or.reduce(outer.accepts > ACCEPT_HERE, axis=1)
    ends = _ends_match(outer) | ends_before[outer.targets]
    is_whole = _ends_match(inner)
    seen, waiting = {(START, START)}, [(START, START)]
    while waiting:
        state, other = waiting.pop()
        reached, after = outer.targets[state, symbols], inner.targets[other, seen_as]
        if (ends[state, symbols] & ~is_whole[other, seen_as]).any():
            return False
        if (after[reached != 0] == 0).any():  # a longer word would not be whole
            return False
        for pair in zip(reached.tolist(), after.tolist(), strict=True):
            if pair[0] and pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return True


def _ends_match(tables: Tables) -> NDArray[np.bool_]:
    """Tell for each state and class whether a match may end once the class is read."""
    at_end = tables.accepts[:, tables.end] != 0
    ends: NDArray[np.bool_] = (tables.accepts == ACCEPT_HERE) | at_end[tables.targets]
    return ends
