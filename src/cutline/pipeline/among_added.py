"""Cuts among added tokens, in a text without safe split points.

The leftmost match is found first, so a prefix of a text has the matches of the text, up to those
near its end. Behind an added token a text begins anew. So the tokens before each match are counted
once, and only ends near the first match that is over the budget are tried.
"""

from collections.abc import Callable, Iterable

from cutline.normalizing import SPACE, Prepend
from cutline.pipeline.added import AddedFinder
from cutline.pipeline.pipeline import Pipeline
from cutline.spec import AddedToken

__all__ = ["finder_among", "longest_fit_among_added"]


def finder_among(pipeline: Pipeline, text: str) -> AddedFinder | None:
    """Return what finds the added tokens of a text, if what is behind one is a text of its own.

    None: there are none, or some in changed text, or they are found in two passes, or look at what
    is beside them.
    """
    is_plain = not any(
        isinstance(step, Prepend) or not step.keeps_slices(text)
        for step in pipeline.spec.normalizer
    )
    raw, normalized = pipeline.ordinary_of_raw, pipeline.ordinary_of_normalized
    in_raw = raw.may_find(text)
    in_normalized = bool(normalized.texts) and (not is_plain or normalized.may_find(text))
    if in_raw is in_normalized or (in_normalized and not is_plain):
        return None
    if in_normalized and pipeline.spec.prefix_first:
        return None
    ordinary = (raw if in_raw else normalized).texts.values()
    finder = pipeline.finder_of_raw if in_raw else pipeline.finder_of_normalized
    if any(token.single_word for token in ordinary):
        return None
    # What a token strips could be the start of the next one.
    strips = any(token.rstrip for token in ordinary)
    if strips and any(space in found for found in finder.texts for space in SPACE):
        return None
    return finder


def longest_fit_among_added(
    matches: Iterable[tuple[int, int, AddedToken, int]],
    reach: int,
    length: int,
    n: int,
    *,
    count: Callable[[int, int], int],
    longest: Callable[[int, int, int], int],
) -> int:
    """Find the greatest prefix of a text with added tokens that has at most n tokens.

    Args:
        matches: the added tokens of the text, of which it has some.
        reach: the longest text of an added token.
        length: that of the text.
        n: the budget.
        count: counts a slice that begins with the text, or behind an added token.
        longest: finds the end of the longest such slice, up to an end, within a budget.

    Returns:
        The end.

    Cost: linear in the text up to where it is over the budget; for each character of the longest
    added token, in what is after the last one that fits.
    """
    done = tokens = 0
    place = stop = length
    for start, end, _, found in matches:
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
