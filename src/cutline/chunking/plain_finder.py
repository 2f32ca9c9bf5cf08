"""Chunks by plain rules, in batches: a kernel cuts at paragraphs, lines, sentences and so on.

It does so at all levels before the first that is not its own, such as a regular expression. If none
of them fills a chunk, it returns the end of the longest fitting prefix, and only the best boundary
of the other levels up to there remains to be found. The levels of a structure come before; then
there are no others.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from cutline.chunking.chunk_run import ChunkRun
from cutline.chunking.rules import ENDLESS, Rules
from cutline.counting import IntervalCounter
from cutline.counting.break_cuts import BreakCuts, CutsAtBreaks, cut_indexed
from cutline.counting.few_slices import LEAST_TOKENS
from cutline.kernels.breaks.overlaps import Overlap
from cutline.protocols import SliceCounter

if TYPE_CHECKING:
    from cutline.chunking.outline import Outline
    from cutline.chunking.sending import Sending
    from cutline.counting.units import UnitSlices

__all__ = ["Elsewhere", "PlainFinder", "asks_few", "cuts_at_breaks", "overlap_of"]

Elsewhere = Callable[[int, int], tuple[int, int, str]]
"""From a chunk's start and the end of the longest fitting prefix to best end, tokens, level."""

_NOWHERE = -1
_MOST_WAITS = 64
_NONE = memoryview(array("q"))


def cuts_at_breaks(counter: SliceCounter) -> TypeGuard[CutsAtBreaks]:
    """Return whether a counter has a kernel of its own for cuts at breaks."""
    return hasattr(counter, "cut_at_breaks")


def asks_few(rules: Rules) -> bool:
    """Return whether few slices are counted: none for an overlap, a limit or another level."""
    return (
        rules.is_plain
        and rules.chunk_size >= LEAST_TOKENS
        and not (rules.chunk_overlap or rules.stable or rules.also_fits or rules.never_across)
        and rules.are_known
    )


def overlap_of(rules: Rules, outline: Outline | None = None) -> Overlap | None:
    """Return what chunks share, as kernels take it; they know all levels that it may begin at."""
    if not rules.chunk_overlap:
        return None
    kinds = [level.kind for level in rules.known_overlaps]
    closed = None if outline is None else outline.closed_regions
    return Overlap(rules.chunk_overlap, array("i", kinds), rules.keeps_graphemes, *(closed or ()))


class PlainFinder:
    """Makes the chunks that `ChunkFinder.next_cut` would find.

    Args:
        text: the text.
        counter: counts slices of the text.
        others: counters of the text for the limits of `also_fits`, with their maxima; none for a
            counter that cuts by itself.
        rules: plain rules; without `stable` for such a counter.
        offset: the text's offset in the source.
        end: the name of the boundary at the end of the last chunk.
        sending: what is sent for a slice, with nothing after it; None: the slice alone.
        outline: the text's structure, if it has one: for levels that all are known, with nothing
            else that limits a chunk, and not for `stable`.
    """

    def __init__(
        self,
        text: str,
        counter: IntervalCounter | CutsAtBreaks,
        others: Sequence[tuple[IntervalCounter | UnitSlices, int]],
        rules: Rules,
        offset: int,
        end: str,
        sending: Sending | None = None,
        outline: Outline | None = None,
    ) -> None:
        self._text = text
        self._outline = outline
        self._sending = sending
        self._counter = counter
        self._others = [
            (one if isinstance(one, IntervalCounter) else one.unit.name, min(most, ENDLESS))
            for one, most in others
        ]
        # What is sent is limited so, too; the maxima differ by chunk.
        if sending is not None and isinstance(counter, IntervalCounter):
            self._others += [(counter, ENDLESS), *self._others]
        self.other_levels = rules.levels[len(rules.known_levels) :]
        self._kinds = rules.known_kinds
        first_names = () if outline is None else outline.names
        self._names = (*first_names, *rules.known_names, end)
        self._size = rules.chunk_size
        self._overlap = overlap_of(rules, outline)
        self._stable = rules.stable
        self._min_fill = float(rules.min_fill)
        self._offset = offset
        # A chunk that ends at no break: its start, and the end of the longest fitting prefix.
        self._stuck = (_NOWHERE, _NOWHERE)
        # Where one chunk after another needs a longer search, most of them are not looked for here.
        self._lost = self._wait = 0

    def chunks(
        self, start: int, floor: int, until: int, index: int, elsewhere: Elsewhere
    ) -> ChunkRun | None:
        """Find the next chunks, up to the first that needs a longer search; None: it is the first.

        Args:
            start: the start of the chunk before; it is read only where chunks overlap.
            floor: where the first chunk adds text; without overlap its start.
            until: no chunk adds text from here on.
            index: the index of the first chunk.
            elsewhere: finds the best cut at the other levels. It is called at most once, and
                first, so that no chunk is lost if it raises.
        """
        if self._wait > 0:
            self._wait -= 1
            return None
        rows, sent, names = _NONE, array("q"), self._names
        stuck, fit_end = self._stuck
        if stuck != floor:
            rows, fit_end = self._at_breaks(start, floor, until, sent)
        if not rows and fit_end != _NOWHERE:
            end, tokens, level = elsewhere(floor, fit_end)
            first = array("q", (floor, end, tokens, len(names)))
            names = (*names, level)
            if self._sending is not None:
                sent.append(self._sending.tokens(floor, end))
            more, fit_end = self._at_breaks(floor, end, until, sent)
            first.frombytes(more.tobytes())
            rows = memoryview(first)
        self._stuck = (_NOWHERE, _NOWHERE)
        if not rows:
            self._wait, self._lost = self._lost, min(2 * self._lost + 1, _MOST_WAITS)
            return None
        self._lost = 0
        if fit_end != _NOWHERE:
            self._stuck = (rows[-3], fit_end)
        tokens_sent = None if self._sending is None else sent
        return ChunkRun(
            self._text, rows, names, self._offset, index, tokens_sent, self._outline, floor
        )

    def _at_breaks(
        self, start: int, floor: int, until: int, sent: array[int]
    ) -> tuple[memoryview, int]:
        """Find the chunks up to one without a break, and what is sent for each.

        Also returns where the longest fit of that one ends.
        """
        counter, sending, more = self._counter, self._sending, dict[int, int]()
        renew = None if sending is None else partial(sending.limits_from, more)
        asked = BreakCuts(
            start, floor, until, self._size, self._min_fill, self._kinds, self._overlap, renew,
            None if self._outline is None else self._outline.places,
        )  # fmt: skip
        if isinstance(counter, IntervalCounter):
            rows, fit_end = cut_indexed(counter, asked, self._stable, self._others)
        else:
            rows, fit_end = counter.cut_at_breaks(asked)
        if sending is not None:
            sent.extend(
                tokens + more[start] for start, tokens in zip(rows[::4], rows[2::4], strict=True)
            )
        return rows, fit_end
