"""The longest fitting slice without safe split points, if steps work on letters and marks.

A normalized slice is then a prefix of the normalized text, for its complete letters, followed by
the normalized last letter, if the slice ends between that letter's marks. So ends are tried with
an appender that is truncated and appended to, instead of encoding each slice.
"""

from bisect import bisect_right
from functools import partial

from cutline.checks import utf8_of_part
from cutline.kernels.index.append import Growing
from cutline.kernels.words.splitting import least_tokens
from cutline.normalizing import Traced, normalize, trace
from cutline.pipeline.marks import most_marks, sorts_marks
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder

__all__ = ["longest_fit_by_letters"]

_MANY_MARKS = 32  # normalizing and appending these is no less work than encoding the slice


def longest_fit_by_letters(
    pipeline: Pipeline, encoder: TextEncoder, text: str, n: int, *, inside: bool
) -> int | None:
    """Find the longest prefix of a text that has at most n tokens.

    Args:
        pipeline: changes the text.
        encoder: counts the changed text.
        text: tried whole first, then with one character less each time.
        n: the budget.
        inside: whether the text begins at a safe split point.

    Returns:
        The end; None if this method does not apply.

    Cost: linear in the text, and for each end with too many tokens, in the marks before it.
    """
    spec, finders = pipeline.spec, pipeline.ordinary_finders
    if not sorts_marks(spec.normalizer) or spec.marks_words or (spec.prefix_space and not inside):
        return None
    traced = trace(Traced.of(text), spec.normalizer)
    found = any(finder.may_find(text) or finder.may_find(traced.text) for finder in finders)
    if found or not encoder._has_automaton:
        return None
    longest = max((len(token) for finder in finders for token in finder.texts), default=0)
    whole = traced.spans[:, 1].tolist()
    marks = _Marks(pipeline, encoder, traced.text)
    shorter = Growing(encoder, utf8_of_part)
    shorter.append(traced.text)
    end, bounded = len(text), -1
    while end > 0:
        kept = bisect_right(whole, end)
        start = whole[kept - 1] if kept else 0
        if start != bounded and end - start > _MANY_MARKS:
            bounded = start
            end = start + marks.most(text[start:end], kept, n)
            continue
        begun = normalize(text[start:end], spec.normalizer)
        near = traced.text[max(0, kept - longest) : kept] + begun
        # An added token can match a letter without its marks.
        if end - start > max(_MANY_MARKS, kept) or any(finder.may_find(near) for finder in finders):
            tokens = pipeline.count_after(encoder, text[:end])
        else:
            if kept < shorter.text_length:
                shorter._truncate(kept)
            shorter.append(begun)
            tokens = shorter.count
        if tokens <= n:
            return end
        end -= 1
    return 0


class _Marks:
    """Bounds how many of the marks on a letter fit.

    Args:
        pipeline: changes the text.
        encoder: counts the changed text.
        changed: the changed text.
    """

    def __init__(self, pipeline: Pipeline, encoder: TextEncoder, changed: str) -> None:
        self._pipeline = pipeline
        self._encoder = encoder
        self._changed = changed

    def most(self, stretch: str, kept: int, n: int) -> int:
        """Bound a stretch after so many characters of the changed text, where n tokens fit."""
        upper_bound = self._pipeline.upper_bound
        if not upper_bound.covers_all(normalize(stretch, self._pipeline.spec.normalizer)):
            return len(stretch)
        before, least = self._changed[:kept], 0
        if upper_bound.covers_all(before):
            counts = least_tokens(self._encoder, before.encode())
            # One more token may begin before the stretch and end in it.
            least = int(counts[-upper_bound.longest :][0])
        cover = partial(least_tokens, self._encoder)
        longest = upper_bound.longest_with_marks(stretch)
        return most_marks(stretch, self._pipeline.spec.normalizer, cover, longest, n - least)
