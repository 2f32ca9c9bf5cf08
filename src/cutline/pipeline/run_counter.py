"""Counts of slices where a normalizer changes characters, and texts are counted by their runs.

Who cuts all of a text asks for few slices: their counts are sums of those of runs. Other slices are
counted like those of any text that is changed. docs/tokenizers.md, "Counts by runs", has the proof.
"""

from array import array
from functools import cached_property
from operator import index
from typing import Final

from cutline.counting import few_slices
from cutline.kernels.breaks.breaks import CHARACTER
from cutline.kernels.breaks.few_breaks import cut_few_at_breaks
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.breaks.run_breaks import RunSums
from cutline.kernels.words.run_images import ImagePlaces, ImageRules, change_text
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.slice_counter import SliceCounter
from cutline.pipeline.spelled import SpelledCounter
from cutline.protocols import LimitsFrom
from cutline.text_encoder import TextEncoder

__all__ = ["ImageCounter", "RunCounter", "run_counter"]

_ANY_CHARACTER: Final = array("i", [CHARACTER])
_NONE: Final = memoryview(array("q"))
_LONGER_SEARCH: Final = -1
_ENDLESS: Final = 1 << 60  # tokens


def run_counter(
    pipeline: Pipeline, encoding: TextEncoder, text: str
) -> "RunCounter | ImageCounter | None":
    """Return what counts slices of a text by its runs; None: its runs are not counted."""
    rules = pipeline.run_rules
    if not isinstance(rules, ImageRules):
        return None
    if any(finder.may_find(text) for finder in pipeline.ordinary_finders):
        return None
    if not rules.is_entangled(text):
        return ImageCounter(pipeline, encoding, text)
    return RunCounter(pipeline, encoding, text)


class ImageCounter(SpelledCounter):
    """Like `SpelledCounter`, for a text of which no characters change one another."""

    @cached_property
    def _spelling(self) -> tuple[str, ImagePlaces]:
        rules = self._pipeline.run_rules
        assert isinstance(rules, ImageRules)
        changed = change_text(rules, self._text)
        assert changed is not None  # there are no surrogates, and none change one another
        return changed

    def split_at(self, start: int, n: int) -> int:
        """Find the longest slice from a start that fits; see `SliceCounter.split_at`."""
        start = index(start)
        # A character may become several: where not all of these fit, those before it need not.
        end = max(start, super().split_at(start, n))
        while end > start and self.count(start, end) > n:
            end -= 1
        # What vanishes between blanks that become one is no token without the next of these.
        while end < len(self._text) and self._becomes_nothing(start, end + 1):
            end += 1
        return end

    def _becomes_nothing(self, start: int, end: int) -> bool:
        first, last = self._spelling[1].span_of(start, end)
        return first == last


class RunCounter(SliceCounter):
    """Like `SliceCounter`, for a text that is counted by runs; takes the same arguments.

    Cost: to cut all of a text, what counting it takes. Other slices: see `SliceCounter`.
    """

    def _build(self) -> None:
        """See `SliceCounter`."""
        # The tokens of the last slices that were counted by runs, and what counts them.
        self._sums: tuple[int, RunSums | None] = (0, None)

    def _sums_for(self, n: int) -> RunSums | None:
        """Return what counts slices of n tokens by their runs; None: the text is not counted so."""
        known, sums = self._sums
        if known != n:
            rules = self._pipeline.run_rules
            assert rules is not None
            made = RunSums(self._encoding, self._text, few_slices.SHARE * n, rules)
            sums = made if made.are_known else None
            self._sums = n, sums
        return sums

    def cut_at_breaks(
        self,
        start: int,
        floor: int,
        until: int,
        n: int,
        min_fill: float,
        kinds: "array[int]",
        overlap: Overlap | None,
        renew: LimitsFrom | None,
    ) -> tuple[memoryview, int]:
        """Cut at the last breaks that fit; see `kernels/breaks/few_breaks`.

        Nothing is cut so where chunks are short or share something.
        """
        if overlap is None and n >= few_slices.LEAST_TOKENS:
            sums = self._sums_for(n)
            if sums is not None:
                return cut_few_at_breaks(sums, floor, until, n, min_fill, kinds, renew)
        return _NONE, _LONGER_SEARCH

    def cut_slices(self, start: int, floor: int, n: int, overlap: int) -> memoryview:
        """Cut the next slices, each as long as possible; see `SpelledCounter.cut_slices`."""
        if overlap:
            return _NONE
        rows, _ = self.cut_at_breaks(
            start, floor, len(self._text), min(n, _ENDLESS), 0.0, _ANY_CHARACTER, None, None
        )
        return rows
