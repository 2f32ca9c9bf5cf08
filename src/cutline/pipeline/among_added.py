"""Counts and cuts among added tokens.

Where nothing else changes a text, what is between two of them is counted by a kernel.

In a part of a text without safe split points, cuts are found so:

The leftmost match is found first, so a prefix of a text has the matches of the text, up to those
near its end. Behind an added token a text begins anew. So the tokens before each match are counted
once, and only ends near the first match that is over the budget are tried.
"""

from collections.abc import Callable, Iterable

from cutline.kernels.encode.among_added import AmongAdded
from cutline.normalizing import SPACE, Prepend
from cutline.pipeline.added import AddedFinder, is_of_word
from cutline.pipeline.pipeline import Pipeline
from cutline.spec import AddedToken
from cutline.text_encoder import TextEncoder

__all__ = ["among_added", "finder_among", "longest_fit_among_added"]


def among_added(pipeline: Pipeline, encoding: TextEncoder, text: str) -> AmongAdded | None:
    """Return what counts a text with added tokens if nothing else changes it; None: something does.

    None also where a token found depends on more than where it starts: it strips what is beside it,
    counts for single words alone, or is special.
    """
    if not encoding._has_automaton or pipeline.changes_starts or pipeline.changes_all:
        return None
    if not _is_plain(pipeline, text):
        return None
    finder = _finder_of(pipeline, text, is_plain=True)
    spans = None if finder is None else finder.plain_spans(text)
    if finder is None or spans is None:
        return None
    return AmongAdded(encoding, text, spans, finder.shortest, finder.surest)


def finder_among(pipeline: Pipeline, text: str) -> AddedFinder | None:
    """Return what finds the added tokens of a text, if what is behind one is a text of its own.

    None: there are none, or some in changed text, or they are found in two passes.
    """
    return _finder_of(pipeline, text, is_plain=_is_plain(pipeline, text))


def _is_plain(pipeline: Pipeline, text: str) -> bool:
    """Return whether no step changes a text or a slice of it."""
    return not any(
        isinstance(step, Prepend) or not step.keeps_slices(text)
        for step in pipeline.spec.normalizer
    )


def _finder_of(pipeline: Pipeline, text: str, *, is_plain: bool) -> AddedFinder | None:
    """Return what `finder_among` does."""
    raw, normalized = pipeline.ordinary_of_raw, pipeline.ordinary_of_normalized
    in_raw = raw.may_find(text)
    in_normalized = bool(normalized.texts) and (not is_plain or normalized.may_find(text))
    if in_raw is in_normalized or (in_normalized and not is_plain):
        return None
    if in_normalized and pipeline.spec.prefix_first:
        return None
    ordinary = (raw if in_raw else normalized).texts.values()
    finder = pipeline.finder_of_raw if in_raw else pipeline.finder_of_normalized
    # What a token strips could be the start of the next one.
    strips = any(token.rstrip for token in ordinary)
    if strips and any(space in found for found in finder.texts for space in SPACE):
        return None
    return finder


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
