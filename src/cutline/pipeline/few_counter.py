"""Counts of slices of a text that a tokenizer changes, for who cuts all of it.

Who does asks for few slices: a kernel counts the text once, and keeps the tokens before few
places. Other slices are counted like those of any text that is changed. docs/tokenizers.md,
"Counts by runs", has the proofs.
"""

from array import array
from typing import Final

from cutline.counting import few_slices
from cutline.counting.break_cuts import ANY_CHARACTER, BreakCuts
from cutline.kernels.breaks.few_breaks import FewSums, cut_few_at_breaks
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.breaks.run_breaks import RunSums
from cutline.pipeline.slice_counter import SliceCounter

__all__ = ["FewCounter", "RunCounter"]

_NONE: Final = memoryview(array("q"))
_LONGER_SEARCH: Final = -1
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
