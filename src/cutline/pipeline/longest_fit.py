"""The longest fitting slice without safe split points, where steps change neighbours together.

Most of what a prefix of a text becomes is a beginning of what the whole text becomes
(`words/prefixes.py`). So ends are tried with an appender that is cut off and appended to, instead
of encoding each slice.
"""

import numpy as np
from numpy.typing import NDArray

from cutline.checks import utf8_of_part
from cutline.kernels.index.append import Growing
from cutline.pipeline.pipeline import Pipeline
from cutline.pretokenize.splitting import prefix_counts
from cutline.text_encoder import TextEncoder

__all__ = ["GrownPrefixes", "KnownPrefixes", "longest_fit_by_prefixes", "part_with_more"]

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
    if any(finder.finds(text) or finder.finds(changed) for finder in finders):
        return None
    counts = _counts_of_prefixes(pipeline, encoder, changed, n)
    if counts is None:
        return None
    longest = max((len(token) for finder in finders for token in finder.texts), default=0)
    bound = pipeline.upper_bound
    count = pipeline.count_after if inside else pipeline.count
    refused: tuple[int, str] | None = None
    end, bounded = len(text), len(text) + 1
    while end > 0:
        if end < bounded:
            bounded = bound.start_of_marks(text, end)
            end = bound.most_with_marks(encoder, prefixes, text[:end], bounded, n)
            continue
        kept, rest = prefixes.of(end)
        if (kept, rest) != refused:
            tokens = None
            # An added token can match a letter without its marks, or a word that goes on.
            near = (
                part_with_more(changed, kept - longest, kept, rest),
                part_with_more(text, end - longest, end),
            )
            if not any(finder.may_count(*one) for finder in finders for one in near):
                tokens = counts.with_more(kept, rest)
            if tokens is None:
                tokens = count(encoder, text[:end])
            if tokens <= n:
                return end
            refused = kept, rest
        end -= 1
    return 0


def part_with_more(text: str, start: int, end: int, more: str = "") -> tuple[str, int]:
    """Return a part of a text with the character before it, and where it starts in this."""
    before = max(0, start - 1)
    return text[before:end] + more, max(0, start) - before


def _counts_of_prefixes(
    pipeline: Pipeline, encoder: TextEncoder, changed: str, n: int
) -> "GrownPrefixes | KnownPrefixes | None":
    """Return what counts prefixes of a changed text; None: nothing does, but one by one."""
    if encoder._has_automaton:
        return GrownPrefixes(encoder, changed)
    counts = prefix_counts(pipeline.spec.splittings, encoder, changed.encode(), n)
    return None if counts is None else KnownPrefixes(counts, changed)


class GrownPrefixes:
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


class KnownPrefixes:
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
