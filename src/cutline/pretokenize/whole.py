"""Whether a pattern matches each match of another one as a whole.

Both automata read the same word side by side. Wherever the first may end a match, the second,
for which the word is a whole text, must match all of it.
"""

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
    pairs = outer.pairs_with(inner)
    seen, waiting = {(START, START)}, [(START, START)]
    while waiting:
        state, other = waiting.pop()
        for symbol, seen_as in pairs:
            reached = int(outer.targets[state, symbol])
            ends = outer.accepts[state, symbol] == ACCEPT_HERE
            ends |= bool(reached and (outer.accepts[reached] > ACCEPT_HERE).any())
            ends |= bool(reached and outer.accepts[reached, outer.end])
            after = int(inner.targets[other, seen_as])
            is_whole = inner.accepts[other, seen_as] == ACCEPT_HERE
            is_whole |= bool(after and inner.accepts[after, inner.end])
            if ends and not is_whole:
                return False
            if reached and not after:  # a longer word would not be whole
                return False
            if reached and (reached, after) not in seen:
                seen.add((reached, after))
                waiting.append((reached, after))
    return True
