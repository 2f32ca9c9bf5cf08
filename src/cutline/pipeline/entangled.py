"""Slices of a text's parts whose characters change one another. Source: docs/words.md.

A slice is normalized as a string. Its normal form is that of its prefix up to a character that
begins anew, whatever is before it, and that of the rest. So one pass over the normal form of a part
tells which of these prefixes fit, and only ends inside the few stretches after them are tried.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.intervals import WordIntervals
from cutline.normalizing import SPACE, normalize
from cutline.pipeline.marks import most_marks
from cutline.pipeline.words import WordPipeline

__all__ = ["EntangledParts", "entangled"]

_CHARACTERS_A_TOKEN = 4  # of the first window, and
_WINDOW = 64  # characters more
_KNOWN_STRETCHES = 4096
_MANY_MARKS = 32  # a bound is looked for before the ends among more are tried


def entangled(pipeline: WordPipeline, text: str) -> tuple[NDArray[np.int64], "EntangledParts"]:
    """Return starts and ends in turn of the parts whose characters change one another.

    And what counts slices of them.
    """
    starts, kinds = pipeline.kernel.raw.entangled_parts(text)
    spans = zip(pairwise([*starts, len(text)]), kinds, strict=True)
    edges = np.array([span for span, kind in spans if kind], dtype=np.int64).reshape(-1)
    return edges, EntangledParts(pipeline, text)


class EntangledParts:
    """Counts slices of these parts, for `WordIntervals`.

    Args:
        pipeline: normalizes and counts.
        text: the text.
    """

    def __init__(self, pipeline: WordPipeline, text: str) -> None:
        self._pipeline = pipeline
        self._text = text
        steps = pipeline.rules.char_steps
        self._normal = lru_cache(_KNOWN_STRETCHES)(partial(normalize, steps=steps))

    def count(self, start: int, end: int, inside: bool) -> int:
        """Count the tokens of a slice; `inside`: of one that begins before, where a word begins."""
        normalized = self._pipeline.normalized_slice(self._text[start:end], begins=not inside)
        return self._pipeline.count_normalized(normalized, begins=not inside)

    def longest_fit(self, start: int, end: int, n: int, inside: bool) -> int:
        """Find the greatest end of a slice, up to this one, that has at most n tokens.

        Cost: linear in the slice that fits; quadratic in the marks of one letter.
        """
        width = _CHARACTERS_A_TOKEN * min(n, end - start) + _WINDOW
        while True:
            stop = min(end, start + width)
            if stop == end and self.count(start, end, inside) <= n:
                return end
            window = _Window(self._pipeline, self._normal, self._text[start:stop], not inside)
            found = window.longest_fit(n, is_last=stop == end)
            if found is not None:
                return start + found
            width *= 4


class _Window:
    """A text whose prefixes are slices.

    Args:
        pipeline: counts.
        normal: normalizes stretches.
        text: a text.
        begins: whether slices begin with it.
    """

    def __init__(
        self, pipeline: WordPipeline, normal: Callable[[str], str], text: str, begins: bool
    ) -> None:
        self._pipeline = pipeline
        self._normal = normal
        self._text = text
        self._begins = begins
        # Of each stretch: where it starts, and where in the normal form of those that are whole.
        self._starts = [0, *pipeline.rules.begin_anew(text)]
        made = [normal(text[start:end]) for start, end in pairwise(self._starts)]
        self._places = [*accumulate(map(len, made), initial=0)]
        self._normalized = "".join(made)

    def longest_fit(self, n: int, *, is_last: bool) -> int | None:
        """Find the longest prefix that fits; None: what comes after the window decides.

        Args:
            n: the budget.
            is_last: nothing comes.
        """
        fits, bound = self._bounds(n)
        last = len(self._starts) - 1
        if bound is not None:
            last = bisect_left(self._places, bound) - 1
        is_open = last == len(self._starts) - 1
        end = len(self._text) if is_open else self._starts[last + 1] - 1
        end = min(end, self._most_marks(last, end, n))
        if is_open and end == len(self._text) and not is_last:
            return None
        while end > self._starts[last] or last > 0:
            if end < self._starts[last]:
                last -= 1
                end = min(end, self._most_marks(last, end, n))
            elif self._has_at_most(n, end, last, fits):
                return end
            else:
                end -= 1
        return 0

    def _most_marks(self, stretch: int, end: int, n: int) -> int:
        """Bound the prefixes that fit and end in a stretch, or are longer, up to an end."""
        pipeline, start, place = self._pipeline, self._starts[stretch], self._places[stretch]
        steps, cover = pipeline.rules.char_steps, pipeline.marks_cover
        if cover is None or end - start <= _MANY_MARKS:
            return end
        written = self._text[start:end]
        marks = "".join(normalize(one, steps) for one in set(written[1:]))
        if not cover.has_tokens_of(marks):
            return end
        # A token lies across the start of the stretch, or one ends there.
        sure = place - pipeline.longest_token
        before = WordIntervals(pipeline.kernel, self._normalized[:place], is_plain=True)
        least = bisect_left(range(n), True, key=lambda m: before.split_at(0, m) > sure)
        longest = cover.longest_with(marks)
        return start + most_marks(written, steps, cover.least_tokens, longest, n - least)

    def _bounds(self, n: int) -> tuple[int, int | None]:
        """Find where prefixes of the normal form end to fit.

        Returns:
            The longest one's end; and from which place on no prefix of the text ends that fits,
            if there is one. In a word of Unigram, the path to it would go through a place that is
            as near as the longest token, and no later than a place where a word begins.
        """
        text, pipeline = self._normalized, self._pipeline
        strip = pipeline.rules.last_strip
        cut_off = len(text) - len(text.lstrip(SPACE)) if strip.left and self._begins else 0
        counter = WordIntervals(pipeline.kernel, text[cut_off:], is_plain=True)
        fits = cut_off + counter.split_at(0, n)
        bounds = []
        if fits < len(text):
            start = counter.start_from(fits + 1 - cut_off)
            bounds = [start + cut_off] if start >= 0 else []
        if pipeline.longest_token and fits + pipeline.longest_token <= len(text):
            bounds.append(fits + pipeline.longest_token)
        if not bounds:
            return fits, None
        if not (strip.right or pipeline.rules.strips_raw[1]):
            return fits, min(bounds)
        # White space at the end is cut off.
        white_end = len(text) - len(text[fits:].lstrip(SPACE))
        return fits, max(min(bounds), white_end + 1) if white_end < len(text) else None

    def _has_at_most(self, n: int, end: int, stretch: int, fits: int) -> bool:
        """Whether a prefix has at most n tokens; it ends at the start of a stretch, or inside."""
        rules = self._pipeline.rules
        strips = rules.last_strip.right or rules.strips_raw[1]
        start, place = self._starts[stretch], self._places[stretch]
        if end == start and place > fits and not strips:
            return False
        if rules.strips_raw[1] and self._text[end - 1] in SPACE:
            normalized = self._pipeline.normalized_slice(self._text[:end], begins=self._begins)
        else:
            begun = normalize(self._text[start:end], rules.char_steps)
            normalized = self._pipeline.strip_at(self._begins, True).apply(
                self._normalized[:place] + begun
            )
        return self._pipeline.count_normalized(normalized, begins=self._begins) <= n
