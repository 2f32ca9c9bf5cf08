"""Slices of a text of which few are counted, each of many tokens: in a pass as fast as `count`.

Source: docs/counting.md, "Few slices".
"""

from collections.abc import Iterable, Sequence
from functools import cached_property

from cutline.checks import utf8_of
from cutline.counting.break_cuts import BreakCuts, cut_indexed
from cutline.counting.intervals import IntervalCounter
from cutline.kernels.breaks.piece_breaks import PieceSums, count_pieces, cut_pieces_at_breaks
from cutline.text_encoder import TextEncoder

__all__ = ["LEAST_TOKENS", "FewSlices", "few_slices"]

LEAST_TOKENS = 64
"""Of a slice."""
SHARE = 1.0
"""Of a slice's tokens at most is what is counted again at one of its ends, on average: by runs."""
COUNTED_AGAIN = 2.0
"""As many times as a text has bytes, parts of it may be counted again at the ends of slices."""


def few_slices(encoding: object, text: str) -> "FewSlices | None":
    """Return what counts few slices of a text, none of which shares text with another.

    None: another counter is needed, because the encoding changes the text, or its pieces are not
    found by an automaton that tells which characters are always apart.

    Args:
        encoding: counts.
        text: any text.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate.
    """
    if not isinstance(encoding, TextEncoder) or not encoding._has_automaton:
        return None
    if encoding._changes(text):
        return None
    sums = PieceSums(encoding, text, COUNTED_AGAIN, utf8_of(text))
    return FewSlices(encoding, text, sums) if sums.are_known else None


class FewSlices:
    """Counts the slices of a text like `IntervalCounter`, which it makes for what is not its own.

    That is slices that begin long before one that was counted, and all from where it counted much
    again.

    Cost: what is counted again at the ends of slices is no more than a few times the text.
    """

    def __init__(self, encoding: TextEncoder, text: str, sums: PieceSums) -> None:
        self._encoding, self._text, self._sums = encoding, text, sums

    @cached_property
    def _all(self) -> IntervalCounter:
        return IntervalCounter._of_normalized(self._encoding, self._text)

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice, whose offsets are right."""
        tokens = count_pieces(self._sums, start, end)
        return tokens if tokens >= 0 else self._all.count(start, end)

    def count_many(self, spans: Sequence[tuple[int, int]]) -> Iterable[int]:
        """Count the tokens of many slices."""
        return self._all.count_many(spans)

    def split_at(self, start: int, n: int) -> int:
        """Find the greatest end whose slice has at most n tokens."""
        return self._all.split_at(start, n)

    def cut_at_breaks(self, asked: BreakCuts) -> tuple[memoryview, int]:
        """Cut at the last breaks that fit; see `kernels/breaks/piece_breaks`."""
        assert asked.overlap is None
        assert asked.renew is None
        if self._sums.are_known:
            rows, fit_end = cut_pieces_at_breaks(
                self._sums, asked.floor, asked.until, asked.n, asked.min_fill, asked.kinds,
                asked.places,
            )  # fmt: skip
            if rows or self._sums.are_known:
                return rows, fit_end
        return cut_indexed(self._all, asked)
