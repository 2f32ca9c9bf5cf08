"""The longest fitting slice of text whose characters all begin anew: each is changed on its own.

A normalized slice is then a prefix of the normalized text. So one search in the normal form of a
window that ends a little beyond the slice finds it. Proof:
docs/tokenizers.md, "Characters that begin anew".
"""

from bisect import bisect_right
from itertools import accumulate

from cutline.checks import utf8_of
from cutline.kernels.cut.windows import Cutter
from cutline.normalizing import SPACE
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder
from cutline.words.beginnings import BeginsAnew

__all__ = ["longest_fit_anew"]

_CHARACTERS_A_TOKEN = 2  # of the first window, and
_WINDOW = 128  # characters more
_FEW = 16


def longest_fit_anew(
    pipeline: Pipeline, encoder: TextEncoder, text: str, point: int, end: int, n: int
) -> int | None:
    """Find the greatest end, up to `end`, of a slice that begins at a safe split point.

    Args:
        pipeline: changes the text, but puts nothing before it.
        encoder: counts the changed text.
        text: the text.
        point: where the slice begins.
        end: at most the text's length.
        n: the budget.

    Returns:
        The end; None if some characters do not begin anew, or added tokens could be found.

    Cost: linear in the slice that fits.
    """
    if not encoder._has_automaton or pipeline.beginnings is None:
        return None
    width = _CHARACTERS_A_TOKEN * min(n, end - point) + _WINDOW
    while True:
        stop = min(end, point + width)
        window = text[point:stop]
        # A token that begins in the window, or white space that would be cut off.
        near = text[point : min(end, stop + pipeline.reach_of_added)]
        if any(finder.may_find(near) for finder in pipeline.ordinary_finders):
            return None
        if pipeline.strips and any(one in window for one in SPACE):
            return None
        # A few tell mostly that not all do: marks, jamo.
        if not all(_begin(pipeline.beginnings, part) for part in (window[:_FEW], window)):
            return None
        found = _longest_prefix(pipeline, encoder, window, n, is_whole=stop == end)
        if found is None or found >= 0:
            return found if found is None else point + found
        width *= 2


def _begin(beginnings: BeginsAnew, text: str) -> bool:
    """Return whether all characters after the first begin anew."""
    return len(beginnings.places(text)) >= len(text) - 1


def _longest_prefix(
    pipeline: Pipeline, encoder: TextEncoder, window: str, n: int, *, is_whole: bool
) -> int | None:
    """Find the longest prefix of a window that fits; -1: a longer window decides.

    Args:
        pipeline: normalizes.
        encoder: counts.
        window: each of its characters begins anew.
        n: the budget.
        is_whole: slices end inside; else they may go on after it.

    Returns:
        The prefix's length; None if an added token may be found in the normal form.
    """
    known = window if is_whole else window[:-1]  # what is next may change the last character
    made = [*map(pipeline.normal_of_character, known)]
    normalized, places = "".join(made), [*accumulate(map(len, made), initial=0)]
    if any(finder.may_find(normalized) for finder in pipeline.ordinary_finders):
        return None
    owner = utf8_of(normalized)
    cutter = Cutter(encoder, owner)
    end: int = cutter.longest_fit(0, min(n, len(owner)), not is_whole)
    if end < 0 and _is_over(pipeline, encoder, normalized, n):
        end, is_whole = cutter.longest_fit(0, min(n, len(owner)), False), True
    cutter.close()
    fits = end if end < 0 or isinstance(owner, str) else len(owner[:end].decode())
    # An added token that goes on after the window must not end what fits.
    if not is_whole and (fits < 0 or fits + pipeline.reach_of_added >= len(normalized)):
        return -1
    length = bisect_right(places, fits) - 1
    if places[length] == fits:
        return length
    # It ends inside what a character becomes; counts of shorter ones are not monotonic.
    while length and encoder._count_normalized(normalized[: places[length]]) > n:
        length -= 1
    return length


def _is_over(pipeline: Pipeline, encoder: TextEncoder, normalized: str, n: int) -> bool:
    """Return whether no text that begins so fits, though pieces leave characters out.

    The kernel knows no bound there, for text without tokens is free.
    """
    pieces = pipeline.sure_pieces
    over = None if pieces is None else pieces.end_over(encoder, normalized, n)
    return over is not None and over + pipeline.reach_of_added <= len(normalized)
