"""The longest fitting slice without safe split points, if steps work on letters and marks.

A normalized slice is then a prefix of the normalized text, for its complete letters, followed by
the normalized last letter, if the slice ends between that letter's marks. So ends are tried with
an appender that is truncated and appended to, instead of encoding each slice.
"""

from bisect import bisect_right
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cutline.checks import utf8_of_part
from cutline.kernels.index.append import Growing
from cutline.kernels.words.splitting import least_tokens
from cutline.normalizing import SPACE, Prepend, Step, Strip, Traced, normalize, trace
from cutline.pipeline.marks import most_marks, sorts_marks
from cutline.pipeline.pipeline import Pipeline
from cutline.pretokenize.splitting import prefix_counts
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
    strip, steps, leads = _sorted_out(pipeline.steps_for(inside=inside))
    begin = len(text) - len(text.lstrip(SPACE)) if strip.left else 0
    text, whole_text = text[begin:], text
    if all(step.keeps_slices(text) for step in steps):
        steps = ()
    if leads is None or not sorts_marks(steps) or spec.marks_words:
        return None
    traced = trace(Traced.of(text), steps)
    prefix = _prefix(traced.text, leads)
    led = prefix + traced.text
    if any(finder.may_find(text) or finder.may_find(led) for finder in finders):
        return None
    counts = _counts_of_prefixes(pipeline, encoder, prefix, traced.text, n)
    if counts is None:
        return None
    # What is put before a text may depend on so much of it.
    seen = max((len(lead.prefix) for lead in leads), default=0)
    longest = max((len(token) for finder in finders for token in finder.texts), default=0)
    whole = traced.spans[:, 1].tolist()
    marks = _Marks(pipeline, encoder, prefix, traced.text, steps)
    count = pipeline.count_after if inside else pipeline.count
    end, bounded = len(text), -1
    while end > 0:
        solid = end
        while strip.right and solid and text[solid - 1] in SPACE:
            solid -= 1
        kept = bisect_right(whole, solid)
        start = whole[kept - 1] if kept else 0
        if start != bounded and solid - start > _MANY_MARKS:
            bounded = start
            most = start + marks.most(text[start:solid], kept, n)
            end = end if most == solid else most
            continue
        begun = normalize(text[start:solid], steps)
        led_end = len(prefix) + kept
        near = led[max(0, led_end - longest) : led_end] + begun
        is_led = kept >= seen or _prefix(traced.text[:kept] + begun, leads) == prefix
        tokens = None
        # An added token can match a letter without its marks.
        if is_led and not any(finder.may_find(near) for finder in finders):
            tokens = counts.with_more(kept, begun)
        if tokens is None:
            tokens = count(encoder, whole_text[: begin + solid])
        if tokens <= n:
            return begin + end
        end = solid - 1
    return begin


def _counts_of_prefixes(
    pipeline: Pipeline, encoder: TextEncoder, prefix: str, changed: str, n: int
) -> "_Grown | _Known | None":
    """Return what counts prefixes of a changed text; None: nothing does, but one by one."""
    if encoder._has_automaton:
        return _Grown(encoder, prefix, changed)
    counts = prefix_counts(pipeline.spec.splittings, encoder, (prefix + changed).encode(), n)
    return None if counts is None else _Known(counts, prefix, changed)


class _Grown:
    """Counts prefixes, from the longest on, by a kernel that takes back what it counted.

    Args:
        encoder: counts the changed text.
        prefix: what is put before the changed text.
        changed: the changed text.
    """

    def __init__(self, encoder: TextEncoder, prefix: str, changed: str) -> None:
        self._length = len(prefix)
        self._growing = Growing(encoder, utf8_of_part)
        self._growing.append(prefix + changed)

    def with_more(self, kept: int, begun: str) -> int | None:
        """Count so many characters of the changed text with more; None: that is no less work."""
        if len(begun) > max(_MANY_MARKS, kept):
            return None
        if self._length + kept < self._growing.text_length:
            self._growing._truncate(self._length + kept)
        self._growing.append(begun)
        return self._growing.count


class _Known:
    """Knows counts of prefixes.

    Args:
        counts: of `prefix_counts`.
        prefix: what is put before the changed text.
        changed: the changed text.
    """

    def __init__(self, counts: NDArray[np.int64], prefix: str, changed: str) -> None:
        ends = np.cumsum([0, *(len(one.encode()) for one in changed)])
        self._counts = counts[ends + len(prefix.encode())]

    def with_more(self, kept: int, begun: str) -> int | None:
        """Count so many characters of the changed text with more; None: that is not known."""
        known = int(self._counts[kept])
        return None if begun or known < 0 else known


def _sorted_out(
    steps: tuple[Step, ...],
) -> tuple[Strip, tuple[Step, ...], list[Prepend] | None]:
    """Return what strips a text first, the other steps, and those that put something before it.

    None for the last: they do not come last.
    """
    strip = Strip(False, False)
    if steps and isinstance(steps[0], Strip):
        strip, steps = steps[0], steps[1:]
    inner = tuple(step for step in steps if not isinstance(step, Prepend))
    leads = [step for step in steps[len(inner) :] if isinstance(step, Prepend)]
    return strip, inner, leads if steps == (*inner, *leads) else None


def _prefix(text: str, leads: list[Prepend]) -> str:
    """Return what steps put before a text."""
    led = normalize(text, leads)
    return led[: len(led) - len(text)]


class _Marks:
    """Bounds how many of the marks on a letter fit.

    Args:
        pipeline: changes the text.
        encoder: counts the changed text.
        prefix: what is put before the changed text.
        changed: the changed text.
        steps: those that change it.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        encoder: TextEncoder,
        prefix: str,
        changed: str,
        steps: tuple[Step, ...],
    ) -> None:
        self._pipeline = pipeline
        self._encoder = encoder
        self._prefix = prefix
        self._changed = changed
        self._steps = steps

    def most(self, stretch: str, kept: int, n: int) -> int:
        """Bound a stretch after so many characters of the changed text, where n tokens fit."""
        upper_bound = self._pipeline.upper_bound
        if not upper_bound.covers_all(normalize(stretch, self._steps)):
            return len(stretch)
        before, least = self._prefix + self._changed[:kept], 0
        if upper_bound.covers_all(before):
            counts = least_tokens(self._encoder, before.encode())
            # One more token may begin before the stretch and end in it.
            least = int(counts[-upper_bound.longest :][0])
        cover = partial(least_tokens, self._encoder)
        longest = upper_bound.longest_with_marks(stretch)
        return most_marks(stretch, self._steps, cover, longest, n - least)
