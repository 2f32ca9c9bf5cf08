"""How much of a text that goes on is decided: where chunks end, whatever text follows.

Counts before and after a safe split point add up. So if the text between two of them has more
tokens than a chunk may have, a chunk that begins before the first ends before the second.
"""

from bisect import bisect_left
from functools import partial
from typing import Final

from cutline.chunking.levels import LOOK_AHEAD
from cutline.encoding import Encoding
from cutline.protocols import TokenCounter

__all__ = ["decided_until", "least_window"]

_CHARACTERS_A_TOKEN: Final = 8  # few slices have more
_ENOUGH: Final = 4  # times the greatest length of a chunk: in a longer text nothing is counted


def least_window(encoding: TokenCounter, ahead: int | None) -> int | None:
    """Return how many characters may decide a chunk; None: only the whole text does."""
    if isinstance(encoding, Encoding):
        return 0
    return None if ahead is None else _ENOUGH * ahead


def decided_until(
    text: str,
    encoding: TokenCounter,
    n: int,
    ahead: int | None,
) -> int:
    """Return a place before which chunks that add text are decided; 0 or less: none is.

    Args:
        text: what there is of the text.
        encoding: counts tokens.
        n: the most tokens of a chunk.
        ahead: how far the end of a chunk may depend on the text after its start; None: unbounded.

    Cost: linear in a few times the characters of n tokens; or in the text, if it has no safe split
    point for long.
    """
    longest = 0 if ahead is None else len(text) - ahead
    if isinstance(encoding, Encoding) and (ahead is None or len(text) < _ENOUGH * ahead):
        return max(longest, _by_points(text, encoding, n))
    return longest


def _by_points(text: str, encoding: Encoding, n: int) -> int:
    """Do it by safe split points near the end."""
    reach = encoding._safe_point_reach
    stop = len(text) - LOOK_AHEAD - reach
    width = _CHARACTERS_A_TOKEN * min(n, len(text)) + LOOK_AHEAD
    begin = stop
    while begin > 0:
        begin = max(0, stop - width)
        found = encoding._safe_points(text[begin : stop + reach], 0)
        points = [begin + at for at in found if reach <= at <= stop - begin]
        if points:
            end = points[-1]
            place = bisect_left(points, True, key=partial(_fits, text, encoding, n, end))
            if place:
                return points[place - 1] - reach
        width *= _ENOUGH
    return 0


def _fits(text: str, encoding: Encoding, n: int, end: int, start: int) -> bool:
    # Few slices are asked for: a counter of the whole text would cost more.
    return encoding.count_till_limit(text[start:end], n) is not None
