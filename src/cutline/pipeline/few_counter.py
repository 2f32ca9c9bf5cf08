"""Counts of slices of a text that a tokenizer changes, for who cuts all of it.

Who does asks for few slices: a kernel counts the text once, and keeps the tokens before few
places. Other slices are counted like those of any text that is changed. docs/tokenizers.md,
"Counts by runs" and "Among added tokens", has the proofs.
"""

from array import array
from functools import cached_property, partial
from operator import index
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cutline.counting import few_slices
from cutline.counting.break_cuts import ANY_CHARACTER, BreakCuts
from cutline.kernels.breaks.added_breaks import AddedSums
from cutline.kernels.breaks.few_breaks import FewSums, cut_few_at_breaks
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.breaks.point_breaks import PointSums
from cutline.kernels.breaks.run_breaks import RunSums
from cutline.kernels.encode.among_added import AmongAdded
from cutline.kernels.encode.known_parts import LONGEST_KNOWN, KnownParts
from cutline.kernels.encode.known_slices import KnownSlices
from cutline.pipeline.new_parts import count_new_parts
from cutline.pipeline.slice_counter import SliceCounter

__all__ = ["AddedCounter", "KnownCounter", "RunCounter"]

_NONE: Final = memoryview(array("q"))
_LONGER_SEARCH: Final = -1
_FEW_NEW, _CHARACTERS_OF_FEW = 4, 2048
"""So many new parts, or one for so many characters, are counted one by one."""
_SHARE: Final = 0.5
"""Of a text is the most that is encoded instead of it."""
_ROWS: Final = 1 << 16  # slices: between so many Ctrl-C is looked for
_ENDLESS: Final = 1 << 60  # tokens


class FewCounter(SliceCounter):
    """Like `SliceCounter`, where a kernel may count few slices; takes the same arguments.

    Cost: to cut all of a text, what counting it takes. Other slices: see `SliceCounter`.
    """

    _sums: tuple[int, FewSums | None] = (0, None)
    """The tokens of the last slices that a kernel counted, and what counts them."""

    def _sums_for(self, n: int) -> FewSums | None:
        """Return what counts slices of n tokens; None: no kernel does."""
        known, sums = self._sums
        if known != n:
            made = self._make_sums(few_slices.SHARE * n)
            sums = made if made is not None and made.are_known else None
            self._sums = n, sums
        return sums

    def _make_sums(self, most: float) -> FewSums | None:
        """Count the text; see `FewSums`."""
        raise NotImplementedError

    def cut_at_breaks(self, asked: BreakCuts) -> tuple[memoryview, int]:
        """Cut at the last breaks that fit; see `kernels/breaks/few_breaks`.

        Few slices are asked for, if chunks are long and share nothing. Else see
        `_cut_many_at_breaks`.
        """
        if asked.overlap is None and asked.n >= few_slices.LEAST_TOKENS and self._may_ask_few():
            sums = self._few_sums_for(asked.n)
            if sums is not None:
                return cut_few_at_breaks(sums, *asked)
        return self._cut_many_at_breaks(asked)

    def _few_sums_for(self, n: int) -> FewSums | None:
        """Return the same where few slices are asked for."""
        return self._sums_for(n)

    def _may_ask_few(self) -> bool:
        """Whether there is nothing yet that counts any slice."""
        return True

    def _cut_many_at_breaks(self, asked: BreakCuts) -> tuple[memoryview, int]:
        """Cut where many slices are asked for: none, each takes a longer search."""
        return _NONE, _LONGER_SEARCH

    def cut_slices(self, start: int, floor: int, n: int, overlap: int) -> memoryview:
        """Cut the next slices, each as long as possible, many at a time.

        Args:
            start: of the slice before.
            floor: its end.
            n: tokens of a slice at most.
            overlap: tokens that it may share with the one before.

        Returns:
            Start, end, tokens of each, and whether it ends the text; none where the first takes a
            longer search.
        """
        n, overlap = min(n, _ENDLESS), min(overlap, _ENDLESS)
        shared = Overlap(overlap, ANY_CHARACTER, False) if overlap else None
        asked = BreakCuts(start, floor, len(self._text), n, 0.0, ANY_CHARACTER, shared)
        rows, _ = self.cut_at_breaks(asked)
        return rows


class RunCounter(FewCounter):
    """The same for a text that is counted by runs."""

    def _make_sums(self, most: float) -> FewSums | None:
        """See `FewCounter`."""
        rules = self._pipeline.run_rules
        return None if rules is None else RunSums(self._encoding, self._text, most, rules)


class KnownCounter(FewCounter):
    """The same for any text, counted by parts between safe split points, of which most were met."""

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
            spans = np.stack([points[new], points[new + 1]], axis=1)
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
        short = self._count_new(spans[~is_long], int(_SHARE * n))
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
            new = new.reshape(-1, 4)
            np.add.at(counts, new[:, 0], self._count_ends(new[:, 1:3], new[:, 3] > 0))
        return counts

    def _count_ends(
        self, spans: NDArray[np.int64], leads: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Count parts that slices begin with, or that begin at points."""
        tokens = np.empty(len(spans), dtype=np.int64)
        is_long = spans[:, 1] - spans[:, 0] > LONGEST_KNOWN
        starts = leads & self._pipeline.changes_starts & ~is_long
        tokens[starts] = self._parts.count(spans[starts], leads=True)
        others = ~(starts | is_long)
        counted = self._count_new(spans[others])
        tokens[others] = counted
        for at in np.flatnonzero(is_long).tolist():
            start, end = spans[at].tolist()
            part = self._text[start:end]
            tokens[at] = (
                self._encoding.count(part)
                if leads[at]
                else self._pipeline.count_after(self._encoding, part)
            )
        return tokens

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
