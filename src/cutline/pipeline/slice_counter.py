"""Slices of a text that a tokenizer changes, counted from one safe split point to the next."""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import chain
from operator import index
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cutline.checks import checked_budget, need_no_surrogates, spans_error
from cutline.counting import cutting
from cutline.errors import OffsetError
from cutline.pipeline.among_added import longest_fit_among_added
from cutline.pipeline.anew_fit import longest_fit_anew
from cutline.pipeline.longest_fit import longest_fit_by_prefixes
from cutline.pipeline.new_parts import tokens_before
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.section_fit import SectionFit
from cutline.text_encoder import TextEncoder

__all__ = ["SliceCounter"]

_SHORT = 128  # characters: trying all ends costs less than finding a bound
_LONG = 1024  # characters
_FEW = 8  # characters
_TRIES = 16  # ends, each counted from the start, before a window grows instead
_CHARACTERS_A_TOKEN = 4  # few slices have more


class SliceCounter:
    """Counts the tokens of any slice of a text as if the slice were encoded on its own.

    The result of `Encoding.intervals` for a text that the tokenizer changes: like
    `IntervalCounter`, in code points of the given text.

    Args:
        pipeline: changes the text.
        encoding: counts the changed text.
        text: any string without surrogates; kept, not copied.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate.

    Cost: the first count encodes the text once and traces what changes, some 10 MB/s. A count
    encodes the parts of the slice before its first safe split point and after its last one: nothing
    at most ends of words, and the whole slice if it has none, as in a run of one letter.
    """

    def __init__(self, pipeline: Pipeline, encoding: TextEncoder, text: str) -> None:
        need_no_surrogates(text)
        self._pipeline = pipeline
        self._encoding = encoding
        self._text = text
        self._build()

    def _build(self) -> None:
        """Get ready; what counts are looked up in is made when one is asked for."""

    @cached_property
    def _point_offsets(self) -> NDArray[np.int64]:
        """The safe split points."""
        return self._pipeline.safe_points.all_of(self._text)

    @cached_property
    def _points(self) -> list[int]:
        """The same, to look one up."""
        found: list[int] = self._point_offsets.tolist()
        return found

    @cached_property
    def _before(self) -> NDArray[np.int64]:
        """The tokens from the first safe split point to each."""
        return self._count_before()

    def _count_before(self) -> NDArray[np.int64]:
        points = self._point_offsets
        points = points if len(points) else np.zeros(1, dtype=np.int64)
        before = tokens_before(self._pipeline, self._encoding, self._text, points)
        before -= before[0]
        return before

    @property
    def _skipped(self) -> int:
        """A slice is encoded like what comes after a point, unless its start is changed."""
        return 0 if self._pipeline.changes_starts else 1

    @property
    def encoding(self) -> TextEncoder:
        """The encoding that counts."""
        return self._encoding

    @property
    def text(self) -> str:
        """The text."""
        return self._text

    @property
    def total(self) -> int:
        """The tokens of the whole text."""
        return self.count(0, len(self._text))

    @property
    def settled(self) -> int:
        """No more tokens than before the last safe split point.

        A cut within a lower budget is not moved by more text.
        """
        return int(self._before[max(0, len(self._points) - 1)])

    @property
    def nbytes(self) -> int:
        """The memory it uses in bytes, without the text."""
        return int(self._before.nbytes) + sys.getsizeof(self._points)

    def __len__(self) -> int:
        """Return the text's length in code points."""
        return len(self._text)

    def __reduce__(self) -> tuple[type[Self], tuple[Pipeline, TextEncoder, str]]:
        return type(self), (self._pipeline, self._encoding, self._text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._encoding.name!r}: {len(self)} code points>"

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice.

        Raises:
            OffsetError: (a ValueError) the offsets are out of range or reversed.
        """
        start, end = index(start), index(end)
        self._check_span(start, end)
        points = self._points
        first = self._first_point(start)
        last = bisect_right(points, end) - 1
        if first > last:
            return self._encoding.count(self._text[start:end])
        tokens = int(self._before[last] - self._before[first])
        if start < points[first]:
            tokens += self._encoding.count(self._text[start : points[first]])
        if points[last] < end:
            tokens += self._count_after(points[last], end)
        return tokens

    def _counts_to(self, end: int, places: Iterable[int]) -> Iterator[int]:
        """Count the slices from each place to an end; the places fall.

        Cost: linear in all of the text, where one that grows at its beginning is settled.
        """
        growing, reached, rest = self._encoding.prepender(), -1, 0
        for place in places:
            first = self._first_point(place)
            stop = min(end, self._points[first]) if first < len(self._points) else end
            if stop - place <= _SHORT:
                yield self.count(place, end)
                continue
            if stop != reached + growing.text_length:
                growing = self._encoding.prepender(self._text[place:stop])
                rest = self.count(place, end) - growing.count
            else:
                growing.prepend(self._text[place:reached])
            reached = place
            yield growing.count + rest

    def _checked_rows(self, spans: ArrayLike) -> NDArray[np.int64]:
        """Return the offsets of many slices, all of them checked."""
        rows = np.asarray(spans)
        if rows.size == 0 and rows.ndim <= 2:
            return np.empty((0, 2), dtype=np.int64)
        kind = rows.dtype
        are_integers = kind.kind in "iu"
        if not are_integers:  # or some are beyond int64
            rows = np.asarray(spans, dtype=object)
            are_integers = all(type(one) is int for one in rows.flat)
        if rows.ndim != 2 or rows.shape[1] != 2 or not are_integers:
            raise spans_error(kind, rows.shape)
        wrong = (rows[:, 0] < 0) | (rows[:, 0] > rows[:, 1]) | (rows[:, 1] > len(self._text))
        if wrong.any():
            self._check_span(*rows[int(wrong.argmax())].tolist())
        return np.ascontiguousarray(rows, dtype=np.int64)

    def _check_span(self, start: int, end: int) -> None:
        if not 0 <= start <= end <= len(self._text):
            raise OffsetError(
                f"offsets must be 0 <= start <= end <= {len(self._text)}, the text's length in "
                f"code points, got start {start}, end {end}"
            )

    def _first_point(self, start: int) -> int:
        """Return which safe split point is the first one of a slice."""
        return bisect_right(self._points, start - self._skipped)

    def _count_after(self, start: int, end: int) -> int:
        """Count the tokens of a slice that begins at a safe split point."""
        return self._pipeline.count_after(self._encoding, self._text[start:end])

    def count_many(self, spans: ArrayLike) -> NDArray[np.int64]:
        """Count the tokens of many slices: int64, shape (k,) for spans of shape (k, 2)."""
        rows = self._checked_rows(spans).tolist()
        return np.array([self.count(start, end) for start, end in rows], dtype=np.int64)

    def split_at(self, start: int, n: int) -> int:
        """Find the longest slice from a start that fits a token budget.

        Returns:
            The greatest end such that `count(start, end) <= n`; start if not even one
            character fits.

        Raises:
            OffsetError: (a ValueError) start is out of range.
            ValueError: n is negative.

        Cost: encodes some slices from one safe split point to the next; if the text has none for
        a long stretch, as many as n tokens have characters.
        """
        start, n = self._checked_start(start, n)
        # Counts before and after a point add up. So the last point that fits decides, and no
        # end after the next point fits.
        points, text = self._points, self._text
        first = self._first_point(start)
        if first == len(points):
            return self._longest_fit(start, start, len(text), n)
        if points[first] - start > _CHARACTERS_A_TOKEN * n + _SHORT:
            # Most likely, the point is too far; to count up to it could take long.
            end = self._longest_fit(start, start, points[first], n)
            if end < points[first]:
                return end
        begun = self._encoding.count(text[start : points[first]]) if start < points[first] else 0
        if begun > n:
            return self._longest_fit(start, start, points[first] - 1, n)
        most = int(self._before[first]) + n - begun
        last = int(np.searchsorted(self._before[: len(points)], most, side="right")) - 1
        end = points[last + 1] - 1 if last + 1 < len(points) else len(text)
        left = n - begun - int(self._before[last] - self._before[first])
        return self._longest_fit(start, points[last], end, left)

    def _checked_start(self, start: int, n: int) -> tuple[int, int]:
        start, n = index(start), checked_budget(n, "n")
        if not 0 <= start <= len(self._text):
            raise OffsetError(
                f"start must be from 0 to {len(self._text)}, the text's length in code points, "
                f"got {start}"
            )
        return start, n

    @cached_property
    def _sections(self) -> SectionFit | None:
        """What cuts section by section; None: nothing does."""
        pipeline = self._pipeline
        return SectionFit(pipeline, self._encoding) if SectionFit.applies(pipeline) else None

    def _longest_fit(self, start: int, point: int, end: int, n: int) -> int:
        """Find the greatest end, up to `end`, of a slice that begins at a safe split point."""
        pipeline, encoding, text = self._pipeline, self._encoding, self._text
        if end - point > _SHORT and not (pipeline.changes_starts and point == start):
            found = longest_fit_anew(pipeline, encoding, text, point, end, n)
            if found is not None:
                return found
        inside = point > start - self._skipped
        if end - point > _FEW and self._sections is not None:
            found = self._sections.longest(text, point, end, n, inside=inside)
            if found is not None:
                return found
        most = pipeline.max_characters_of(encoding, n)
        end = end if most is None else min(end, point + most)
        window = text[point:end]
        prefixes_of = partial(pipeline.prefixes_for, inside=inside)
        # Else each step would look through all of a long window.
        if is_bounded := len(window) > _CHARACTERS_A_TOKEN * n + _LONG:
            window = window[: pipeline.upper_bound.limit(encoding, window, n, prefixes_of)]
        if not (pipeline.changes_after(window) if inside else pipeline.changes(window)):
            return point + cutting.split_at(encoding, window, n, 0)
        if len(window) > _SHORT and not is_bounded:
            window = window[: pipeline.upper_bound.limit(encoding, window, n, prefixes_of)]
        end = point + len(window)
        if len(window) > _SHORT or is_bounded:
            found = self._longest_among_added(start, point, window, n, inside=inside)
            if found is None:
                found = longest_fit_by_prefixes(pipeline, encoding, window, n, inside=inside)
            if found is not None:
                return point + found
        count = pipeline.count_after if inside else pipeline.count
        stop = end - _TRIES
        while end > point and count(encoding, text[point:end]) > n:
            end -= 1
            if end == stop and (not inside or not pipeline.changes_starts):
                found = self._longest_grown(point, end, n)
                if found is not None:
                    return found
        return end

    def _longest_grown(self, start: int, end: int, n: int) -> int | None:
        """Find the greatest end of a slice that fits as it grows; None: nothing of it is settled.

        Cost: linear in the slice, up to where more tokens than fit are settled.
        """
        if self._encoding._settled_start() is None:
            return None
        grown, fitting = self._encoding.appender(), start
        for place in range(start, end):
            grown.append(self._text[place])
            if grown.count <= n:
                fitting = place + 1
            elif grown.least > n:
                break
        return fitting

    def _longest_among_added(
        self, start: int, point: int, window: str, n: int, *, inside: bool
    ) -> int | None:
        """Find the longest prefix of a window that fits; None: it has no added tokens, or others.

        What is behind an added token is counted like a slice that begins there.
        """
        pipeline, encoding = self._pipeline, self._encoding
        finder = pipeline.finder_among(window)
        if finder is None:
            return None
        matches = finder.matches(window, pipeline.counting(frozenset()))
        first_match = next(matches, None)
        if first_match is None:
            return None

        def is_inside(first: int) -> bool:
            return pipeline.spec.prefix_first if first else inside

        def count(first: int, last: int) -> int:
            counted = pipeline.count_after if is_inside(first) else pipeline.count
            return counted(encoding, window[first:last])

        def longest(first: int, last: int, budget: int) -> int:
            at = point + first
            begin = start if is_inside(first) or not first else at
            return self._longest_fit(begin, at, point + last, budget) - point

        words = tuple(text for text, token in finder.texts.items() if token.single_word)
        return longest_fit_among_added(
            *(chain([first_match], matches), words, max(map(len, finder.texts)), window, n),
            count=count, longest=longest,
        )  # fmt: skip
