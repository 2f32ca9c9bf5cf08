"""Slices of a text's parts whose characters change one another. Source: docs/words.md.

A slice is normalized as a string. Most of what a prefix of a part becomes is a prefix of the part's
normal form (`words/prefixes.py`). So one pass over this tells which of these prefixes fit, and only
the few ends about there are tried.
"""

from bisect import bisect_left, bisect_right
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.intervals import WordIntervals
from cutline.normalizing import SPACE, normalize
from cutline.pipeline.marks import most_marks, sorting_steps
from cutline.pipeline.words import WordPipeline

__all__ = ["EntangledParts"]

_CHARACTERS_A_TOKEN = 4  # of the first window, and
_WINDOW = 64  # characters more
_FEW = 20  # characters: to try all ends of so many costs less than a window
_MANY_MARKS = 32  # a bound is looked for before the ends among more are tried


class EntangledParts:
    """Counts slices of these parts, for `WordIntervals`.

    Args:
        pipeline: normalizes and counts.
        text: the text.
    """

    def __init__(self, pipeline: WordPipeline, text: str) -> None:
        self._pipeline = pipeline
        self._text = text

    @property
    def edges(self) -> NDArray[np.int64]:
        """Return starts and ends in turn of the parts."""
        starts, kinds = self._pipeline.kernel.raw.entangled_parts(self._text)
        spans = zip(pairwise([*starts, len(self._text)]), kinds, strict=True)
        return np.array([span for span, kind in spans if kind], dtype=np.int64).reshape(-1)

    def count(self, start: int, end: int, inside: bool) -> int:
        """Count the tokens of a slice; `inside`: of one that begins before, where a word begins."""
        texts = self._pipeline.entangled
        normalized = texts.normalized_slice(self._text[start:end], begins=not inside)
        return texts.count_normalized(normalized, begins=not inside)

    def longest_fit(self, start: int, end: int, n: int, inside: bool) -> int:
        """Find the greatest end of a slice, up to this one, that has at most n tokens.

        Cost: linear in the slice that fits; quadratic in marks of one letter that are sorted, if no
        bound for them is known.
        """
        if end - start <= _FEW:
            ends = range(end, start, -1)
            return next((one for one in ends if self.count(start, one, inside) <= n), start)
        width = _CHARACTERS_A_TOKEN * min(n, end - start) + _WINDOW
        while True:
            stop = min(end, start + width)
            if stop == end and self.count(start, end, inside) <= n:
                return end
            window = _Window(self._pipeline, self._text[start:stop], not inside)
            found = window.longest_fit(n, is_last=stop == end)
            if found is not None:
                return start + found
            width *= 4


class _Window:
    """A text whose prefixes are slices.

    Args:
        pipeline: counts.
        text: a text.
        begins: whether slices begin with it.
    """

    def __init__(self, pipeline: WordPipeline, text: str, begins: bool) -> None:
        self._pipeline = pipeline
        self._text = text
        self._begins = begins
        self._prefixes = pipeline.prefixes_of(text)
        self._starts = [0]  # of stretches whose marks may change one another
        if len(text) > _MANY_MARKS and pipeline.marks_cover is not None:
            self._starts += pipeline.rules.begin_anew(text)
        self._refused: tuple[int, str] | None = None

    def longest_fit(self, n: int, *, is_last: bool) -> int | None:
        """Find the longest prefix that fits; None: what comes after the window decides.

        Args:
            n: the budget.
            is_last: nothing comes.
        """
        fits, bound = self._bounds(n)
        # What a longer prefix becomes begins with what is settled of this one.
        reaches = len(self._text) + 1 if bound is None else self._prefixes.first_beyond(bound)
        is_open, end = reaches > len(self._text), reaches - 1
        start = end + 1
        while end > 0:
            if end < start:
                start = self._starts[bisect_right(self._starts, end) - 1]
                end = min(end, self._most_marks(start, end, n))
                if is_open and end == len(self._text) and not is_last:
                    return None
            elif self._has_at_most(n, end, fits, bound):
                return end
            else:
                end -= 1
        return 0

    def _most_marks(self, start: int, end: int, n: int) -> int:
        """Bound the prefixes that fit and end in a stretch, or are longer, up to an end."""
        pipeline, cover = self._pipeline, self._pipeline.marks_cover
        if cover is None or end - start <= _MANY_MARKS:
            return end
        written = self._text[start:end]
        steps = sorting_steps(pipeline.rules.char_steps, written[1:])
        if steps is None:
            return end
        marks = "".join(normalize(one, steps) for one in set(written[1:]))
        # Nor may they be cut off at the end.
        if not cover.has_tokens_of(marks) or not set(SPACE).isdisjoint(written[1:] + marks):
            return end
        # A token lies across the start of the stretch, or one ends there.
        place, _ = self._prefixes.of(start)
        before, cut_off = self._counter_of(self._prefixes.normalized[:place])
        sure = place - cut_off - pipeline.longest_token
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
        text, pipeline = self._prefixes.normalized, self._pipeline
        strip = pipeline.rules.last_strip
        counter, cut_off = self._counter_of(text)
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
        white_end = len(text) - len(text[fits:].lstrip(pipeline.rules.white))
        return fits, max(min(bounds), white_end + 1) if white_end < len(text) else None

    def _counter_of(self, normalized: str) -> tuple[WordIntervals, int]:
        """Return what counts a beginning of the normal form, and what is cut off at its start.

        Where white space of the given text is, a word gets the same prefix instead; and only what
        begins a slice can begin with a word that gets none elsewhere.
        """
        strip = self._pipeline.rules.last_strip
        kept = normalized.lstrip(strip.white) if strip.left and self._begins else normalized
        counter = WordIntervals(self._pipeline.kernel, kept, is_plain=True)
        return counter, len(normalized) - len(kept)

    def _has_at_most(self, n: int, end: int, fits: int, bound: int | None) -> bool:
        """Whether a prefix has at most n tokens."""
        texts, rules = self._pipeline.entangled, self._pipeline.rules
        if rules.strips_raw[1] and self._text[end - 1] in SPACE:
            normalized = texts.normalized_slice(self._text[:end], begins=self._begins)
            return texts.count_normalized(normalized, begins=self._begins) <= n
        place, rest = self._prefixes.of(end)
        if bound is not None and place >= bound:
            return False
        strips = rules.last_strip.right or rules.strips_raw[1]
        if (place, rest) == self._refused or (not rest and place > fits and not strips):
            return False
        strip = texts.strip_at(self._begins, True)
        normalized = strip.apply(self._prefixes.normalized[:place] + rest)
        if texts.count_normalized(normalized, begins=self._begins) <= n:
            return True
        self._refused = place, rest
        return False
