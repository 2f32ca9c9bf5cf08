"""The longest fitting slice without safe split points, where steps change neighbours together.

Most of what a prefix of a text becomes is a beginning of what the whole text becomes
(`words/prefixes.py`). So ends are tried with an appender that is cut off and appended to, instead
of encoding each slice.
"""

from bisect import bisect_right
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cutline.checks import utf8_of_part
from cutline.kernels.index.append import Growing
from cutline.kernels.words.splitting import least_tokens
from cutline.normalizing import SPACE, normalize
from cutline.pipeline.marks import most_marks, sorting_steps
from cutline.pipeline.pipeline import Pipeline
from cutline.pretokenize.splitting import prefix_counts
from cutline.text_encoder import TextEncoder
from cutline.words.beginnings import BeginsAnew
from cutline.words.prefixes import Prefixes

__all__ = ["longest_fit_by_prefixes"]

_MANY_MARKS = 32  # normalizing and appending these is no less work than encoding the slice


def longest_fit_by_prefixes(
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

    Cost: linear in the text, and for each end with too many tokens, in what only a prefix becomes
    that ends there.
    """
    spec, finders = pipeline.spec, pipeline.ordinary_finders
    if spec.marks_words:
        return None
    prefixes = pipeline.prefixes_for(text, inside=inside)
    changed = prefixes.normalized
    if any(finder.may_find(text) or finder.may_find(changed) for finder in finders):
        return None
    counts = _counts_of_prefixes(pipeline, encoder, changed, n)
    if counts is None:
        return None
    longest = max((len(token) for finder in finders for token in finder.texts), default=0)
    marks = _Marks(pipeline, encoder, prefixes, text)
    count = pipeline.count_after if inside else pipeline.count
    refused: tuple[int, str] | None = None
    end, bounded = len(text), len(text) + 1
    while end > 0:
        if end < bounded:
            bounded = marks.start_of(end)
            end = marks.most(bounded, end, n)
            continue
        kept, rest = prefixes.of(end)
        if (kept, rest) != refused:
            near = changed[max(0, kept - longest) : kept] + rest
            tokens = None
            # An added token can match a letter without its marks.
            if not any(finder.may_find(near) for finder in finders):
                tokens = counts.with_more(kept, rest)
            if tokens is None:
                tokens = count(encoder, text[:end])
            if tokens <= n:
                return end
            refused = kept, rest
        end -= 1
    return 0


def _counts_of_prefixes(
    pipeline: Pipeline, encoder: TextEncoder, changed: str, n: int
) -> "_Grown | _Known | None":
    """Return what counts prefixes of a changed text; None: nothing does, but one by one."""
    if encoder._has_automaton:
        return _Grown(encoder, changed)
    counts = prefix_counts(pipeline.spec.splittings, encoder, changed.encode(), n)
    return None if counts is None else _Known(counts, changed)


class _Grown:
    """Counts prefixes, from the longest on, by a kernel that takes back what it counted.

    Args:
        encoder: counts the changed text.
        changed: the changed text.
    """

    def __init__(self, encoder: TextEncoder, changed: str) -> None:
        self._changed = changed
        self._growing = Growing(encoder, utf8_of_part)
        self._growing.append(changed)
        self._kept = len(changed)  # of the changed text

    def with_more(self, kept: int, rest: str) -> int | None:
        """Count so many characters of the changed text with more; None: that is no less work."""
        if len(rest) > max(_MANY_MARKS, kept):
            return None
        self._growing._truncate(min(kept, self._kept))
        self._growing.append(self._changed[self._kept : kept] + rest)
        self._kept = kept
        return self._growing.count


class _Known:
    """Knows counts of prefixes.

    Args:
        counts: of `prefix_counts`.
        changed: the changed text.
    """

    def __init__(self, counts: NDArray[np.int64], changed: str) -> None:
        self._counts = counts[np.cumsum([0, *(len(one.encode()) for one in changed)])]

    def with_more(self, kept: int, rest: str) -> int | None:
        """Count so many characters of the changed text with more; None: that is not known."""
        known = int(self._counts[kept])
        return None if rest or known < 0 else known


class _Marks:
    """Bounds how many of the marks on a letter fit.

    Args:
        pipeline: changes the text.
        encoder: counts the changed text.
        prefixes: what prefixes of the text become.
        text: the text.
    """

    def __init__(
        self, pipeline: Pipeline, encoder: TextEncoder, prefixes: Prefixes, text: str
    ) -> None:
        self._pipeline = pipeline
        self._encoder = encoder
        self._prefixes = prefixes
        self._text = text
        self._starts = [0, *BeginsAnew.inside(pipeline.spec.normalizer).places(text)]

    def start_of(self, end: int) -> int:
        """Return where the stretch starts, whose marks may change one another, that ends there."""
        return self._starts[bisect_right(self._starts, end - 1) - 1]

    def most(self, start: int, end: int, n: int) -> int:
        """Bound the prefixes that fit, and end in a stretch, or are longer, up to an end."""
        if end - start <= _MANY_MARKS:
            return end
        upper_bound, stretch = self._pipeline.upper_bound, self._text[start:end]
        steps = sorting_steps(self._pipeline.spec.normalizer, stretch[1:])
        if steps is None:
            return end
        marks = "".join(normalize(one, steps) for one in set(stretch[1:]))
        # White space may be cut off at the end; ASCII may be in any token.
        if any(one.isascii() or one in SPACE for one in stretch[1:] + marks):
            return end
        if not upper_bound.covers_all(normalize(stretch, steps)):
            return end
        before, least = self._prefixes.normalized[: self._prefixes.of(start)[0]], 0
        if upper_bound.covers_all(before):
            counts = least_tokens(self._encoder, before.encode())
            # One more token may begin before the stretch and end in it.
            least = int(counts[-upper_bound.longest :][0])
        cover = partial(least_tokens, self._encoder)
        longest = upper_bound.longest_with_marks(stretch, marks)
        return start + most_marks(stretch, steps, cover, longest, n - least)
