"""Cuts among added tokens, in a text without safe split points.

The leftmost match is found first, so a prefix of a text has the matches of the text, up to those
near its end. Behind an added token a text begins anew. So the tokens before each match are counted
once, and only ends near the first match that is over the budget are tried.
"""

from collections.abc import Callable, Iterable

from cutline.pipeline.added import is_of_word
from cutline.spec import AddedToken

__all__ = ["longest_fit_among_added"]


def longest_fit_among_added(
    matches: Iterable[tuple[int, int, AddedToken, int]],
    words: tuple[str, ...],
    reach: int,
    text: str,
    n: int,
    *,
    count: Callable[[int, int], int],
    longest: Callable[[int, int, int], int],
) -> int | None:
    """Find the greatest prefix of a text with added tokens that has at most n tokens.

    Args:
        matches: the added tokens of the text, of which it has some.
        words: the texts of those for single words, as many as there are.
        reach: the longest text of an added token.
        text: the text.
        n: the budget.
        count: counts a slice that begins with the text, or behind an added token.
        longest: finds the end of the longest such slice, up to an end, within a budget.

    Returns:
        The end; None: one for single words may count once a slice begins or ends beside it.

    Cost: linear in the text up to where it is over the budget; for each character of the longest
    added token, in what is after the last one that fits.
    """
    done = tokens = 0
    place = stop = len(text)
    for start, end, _, found in matches:
        if _may_count_beside(words, text, done, start, end):
            return None
        more = count(done, start) if start > done else 0
        more += start < end
        if tokens + more > n:
            place, stop = found, min(stop, found + reach)  # prefixes beyond have this match
            break
        tokens += more
        done = end
    for end in range(stop, place, -1):
        if tokens + count(done, end) <= n:
            return end
    return longest(done, place, n - tokens) if place > done else done


def _may_count_beside(words: tuple[str, ...], text: str, done: int, start: int, end: int) -> bool:
    """Return whether one of these may count in what is beside a match, as a text of its own.

    Args:
        words: the texts of added tokens that count for single words alone.
        text: the text.
        done: where the match before ends.
        start: where the match starts, and
        end: ends.
    """
    if text.endswith(words, done, start) and any(map(is_of_word, text[start : start + 1])):
        return True
    return text.startswith(words, end) and any(map(is_of_word, text[end - 1 : end]))
