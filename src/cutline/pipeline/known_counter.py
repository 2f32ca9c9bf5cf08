"""Counts of slices of any text that a tokenizer changes, by its parts between safe split points.

The tokens of most parts were met before, and are looked up by their characters. Where added tokens
are all that changes a text, a kernel counts it. docs/tokenizers.md, "Parts that are known" and
"Among added tokens", has the proofs.
"""

from functools import cached_property, partial
from operator import index
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cutline.counting import few_slices
from cutline.counting.break_cuts import BreakCuts
from cutline.kernels.breaks.added_breaks import AddedSums
from cutline.kernels.breaks.few_breaks import FewSums, cut_few_at_breaks
from cutline.kernels.breaks.point_breaks import PointSums
from cutline.kernels.encode.among_added import AmongAdded
from cutline.kernels.encode.distinct_parts import distinct_parts
from cutline.kernels.encode.known_parts import LONGEST_KNOWN, KnownParts
from cutline.kernels.encode.known_slices import KnownSlices
from cutline.pipeline.few_counter import FewCounter
from cutline.pipeline.new_parts import count_new_parts

__all__ = ["AddedCounter", "KnownCounter"]

_FEW_NEW, _CHARACTERS_OF_FEW = 8, 2048
"""So many new parts, or one for so many characters, are counted one by one."""
_SHARE: Final = 0.5
"""Of a text is the most that is encoded instead of it."""
_ROWS: Final = 1 << 16  # slices: between so many Ctrl-C is looked for


class KnownCounter(FewCounter):
    """Like `FewCounter`, for any text; takes the same arguments.

    Cost: a count looks up the parts of the slice before its first safe split point and after its
    last one: about a microsecond, less for one of many. Parts that were not met are counted first,
    and those of more than 255 characters each time.
    """

    @cached_property
    def _parts(self) -> KnownParts:
        pipeline, encoding = self._pipeline, self._encoding

        def count(part: str, leads: bool) -> int:
            return pipeline._count_pieces(encoding, part, at_start=leads)

        points, changes_starts = self._point_offsets, pipeline.changes_starts
        return KnownParts(encoding, self._text, points, count, changes_starts)

    def _count_before(self) -> NDArray[np.int64]:
        """See `SliceCounter`."""
        points, parts = self._point_offsets, self._parts
        if not len(points):
            return super()._count_before()
        tokens = np.asarray(parts.known())
        new = np.flatnonzero(tokens < 0)
        if len(new):
            spans = np.array([points[new], points[new + 1]]).T
            counted = self._count_parts(spans)
            if counted is None:
                before = super()._count_before()
                parts.keep(spans, np.diff(before)[new])
                return before
            tokens[new] = counted
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(tokens)])

    def _count_parts(self, spans: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Count parts between points; None: to count all of the text takes less time."""
        n, is_long = len(self._text), spans[:, 1] - spans[:, 0] > LONGEST_KNOWN
        if len(spans) <= max(_FEW_NEW, n // _CHARACTERS_OF_FEW):
            return np.asarray(self._parts.count(spans, leads=False))
        most = int(_SHARE * n)
        if not is_long.any():
            return self._count_new(spans, most)
        short = self._count_new(spans[~is_long], most)
        if short is None:
            return None
        tokens = np.empty(len(spans), dtype=np.int64)
        tokens[~is_long] = short
        tokens[is_long] = self._parts.count(spans[is_long], leads=False)
        return tokens

    def _count_new(
        self, spans: NDArray[np.int64], most: int | None = None
    ) -> NDArray[np.int64] | None:
        pipeline, encoding, parts = self._pipeline, self._encoding, self._parts
        return count_new_parts(pipeline, encoding, parts, self._text, spans, most)

    @cached_property
    def _slices(self) -> KnownSlices:
        points = self._point_offsets
        before = self._before if len(points) else np.zeros(0, dtype=np.int64)
        return KnownSlices(self._parts, before)

    @property
    def nbytes(self) -> int:
        """See `SliceCounter`."""
        return super().nbytes + self._slices.nbytes

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice; see `SliceCounter.count`."""
        start, end = index(start), index(end)
        self._check_span(start, end)
        tokens = self._slices.count(start, end)
        return tokens if tokens >= 0 else super().count(start, end)

    def count_many(self, spans: ArrayLike) -> NDArray[np.int64]:
        """Count the tokens of many slices; see `SliceCounter.count_many`.

        Cost: less than a microsecond for each, where its ends are short.
        """
        rows = self._checked_rows(spans)
        counts = [self._count_rows(rows[at : at + _ROWS]) for at in range(0, len(rows), _ROWS)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *counts])

    def _count_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        counts, new = map(np.asarray, self._slices.count_many(rows))
        if len(new):
            slices, starts, ends, leads = new.reshape(-1, 4).T
            tokens = self._count_ends(np.array([starts, ends]).T, leads > 0)
            np.add.at(counts, slices, tokens)
        return counts

    def _count_ends(self, spans: NDArray[np.int64], leads: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count parts that slices begin with, or that begin at points."""
        tokens = np.empty(len(spans), dtype=np.int64)
        is_long = spans[:, 1] - spans[:, 0] > LONGEST_KNOWN
        # A slice is encoded like what comes after a point, unless its start is changed.
        is_start = leads & self._pipeline.changes_starts & ~is_long
        is_other = ~(is_start | is_long)
        others = self._count_new(spans[is_other])
        assert others is not None  # there is no limit
        tokens[is_other] = others
        starts = spans[is_start]
        firsts, numbers = map(np.asarray, distinct_parts(self._text, starts))
        tokens[is_start] = np.asarray(self._parts.count(starts[firsts], leads=True))[numbers]
        for at in np.flatnonzero(is_long).tolist():
            start, end = spans[at].tolist()
            count = self._encoding.count if leads[at] else self._count_rest
            tokens[at] = count(self._text[start:end])
        return tokens

    def _count_rest(self, text: str) -> int:
        """Count the tokens of a text that begins at a safe split point."""
        return self._pipeline.count_after(self._encoding, text)

    def _make_sums(self, most: float) -> FewSums | None:
        """See `FewCounter`."""
        return PointSums(
            self._encoding, self._text, most, self._parts, self._before, self._longest_after
        )

    def _longest_after(self, start: int, end: int, n: int, leads: bool) -> int:
        """Find the greatest end, up to `end`, of a slice of its own, or that begins at a point."""
        return self._longest_fit(start if leads else start - 1, start, end, n)

    def _cut_many_at_breaks(self, asked: BreakCuts) -> tuple[memoryview, int]:
        """See `FewCounter`."""
        sums = self._sums_for(asked.n)
        return (
            super()._cut_many_at_breaks(asked) if sums is None else cut_few_at_breaks(sums, *asked)
        )


class AddedCounter(KnownCounter):
    """The same where added tokens are all that changes a text; else see `KnownCounter`."""

    @cached_property
    def _added(self) -> AmongAdded | None:
        return self._pipeline.among_added(self._encoding, self._text)

    def _count_before(self) -> NDArray[np.int64]:
        """See `SliceCounter`."""
        if self._added is not None and len(self._point_offsets):
            before = np.asarray(self._added.counts_between(self._point_offsets))
            if before[-1] >= 0:
                return before
        return super()._count_before()

    def _make_sums(self, most: float) -> FewSums | None:
        """See `FewCounter`."""
        if self._added is None:
            return super()._make_sums(most)
        # Others, for which this is none, take longer for many slices, too.
        most = max(most, few_slices.SHARE * few_slices.LEAST_TOKENS)
        count = partial(self._pipeline.count, self._encoding)
        return AddedSums(self._encoding, self._text, most, self._added, self._point_offsets, count)
