"""Slices of a text that fit several limits at once.

The greatest end that fits them all is at most the least of their own greatest ends. From there on
down each end is counted by every tokenizer: counts are not monotonic, so the least of the greatest
ends may be over another limit. Source: docs/cutting.md, "Several limits".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cutline.counting.limits import Limit
    from cutline.protocols import SliceCounter

__all__ = ["OVER", "Together", "split_at", "together"]

OVER: Final = 1 << 62
"""In tokens: the count of a slice that is over a further limit. No budget is as large."""

_NEXT: Final = 4  # ends after one, of which one that fits saves a cut
_LEAST_BLOCK: Final = 8
_MOST_BLOCK: Final = 1024  # of ends that are counted in one call


class Together:
    """Counts slices like one tokenizer, but those over a further limit as `OVER`.

    So whoever compares counts with budgets obeys all the limits.

    Args:
        own: counts the tokens.
        others: counters of the same text, and their limits.
        length: of the text.
    """

    def __init__(
        self, own: SliceCounter, others: Iterable[tuple[SliceCounter, int]], length: int
    ) -> None:
        self._length = length
        self.own = own
        self.others = list(others)
        self._ended: SliceCounter | None = None  # what counted the limit that ended the last slice

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice; `OVER` if it is over a further limit."""
        if any(counter.count(start, end) > most for counter, most in self.others):
            return OVER
        return self.own.count(start, end)

    def count_many(self, spans: Sequence[tuple[int, int]]) -> Iterator[int]:
        """Count many slices."""
        further = zip(*(counter.count_many(spans) for counter, _ in self.others), strict=True)
        for own, others in zip(self.own.count_many(spans), further, strict=True):
            limited = zip(others, self.others, strict=True)
            yield int(own) if all(count <= most for count, (_, most) in limited) else OVER

    def split_at(self, start: int, n: int) -> int:
        """Find the greatest end whose slice has at most n tokens and fits all the limits.

        Cost: a cut by the least limit, a count for each tokenizer, and a cut for each that does
        not fit; and counts for each end between the least of their greatest ends and the one that
        fits all. These are few, except where counts go up and down along a run.
        """
        # What ended the last slice is likely to end this one, at first the least number. Where it
        # does no other cuts, and one to whom the rest of the text is few tokens does not read it.
        limits = ((self.own, n), *self.others)
        ended = [limit for limit in limits if limit[0] is self._ended]
        first, most = min(ended or limits, key=_most)
        return self.last_fit(start, first.split_at(start, most), n)

    def last_fit(self, start: int, end: int, n: int) -> int:
        """Find the greatest end, up to one after which nothing fits, within n and all limits."""
        bound = end
        for counter, most in ((self.own, n), *self.others):
            if counter.count(start, end) > most:
                end = min(end - 1, counter.split_at(start, most))
                self._ended = counter
        if end == bound > start:
            return end
        n, block = min(n, OVER - 1), _LEAST_BLOCK
        while end > start:
            ends = range(end, max(start, end - block), -1)
            counts = self.count_many([(start, place) for place in ends])
            for place, tokens in zip(ends, counts, strict=True):
                if tokens <= n:
                    return place
            end, block = end - len(ends), min(2 * block, _MOST_BLOCK)
        # The cut of a wrapped tokenizer may have missed the first character.
        return start + (start < self._length and self.count(start, start + 1) <= n)

    def is_cut_short(self, start: int, end: int, n: int) -> bool:
        """Return whether a slice could end later if n tokens were the only limit."""
        for later in range(end + 1, min(end + _NEXT, self._length) + 1):
            if self.own.count(start, later) <= n:
                return True
        return self.own.split_at(start, n) > end


def _most(limit: tuple[SliceCounter, int]) -> int:
    return limit[1]


def together(own: SliceCounter, text: str, limits: Iterable[Limit]) -> Together:
    """Return the counter of a text that obeys further limits."""
    others = [(measure.intervals(text), most) for measure, most in limits]
    return Together(own, others, len(text))


class _Cuts(Protocol):
    def intervals(self, text: str, /) -> SliceCounter: ...
    def split_at(self, text: str, n: int, start: int = 0) -> int: ...


def split_at(tokenizer: _Cuts, text: str, n: int, start: int, limits: Sequence[Limit]) -> int:
    """Find the longest prefix within all limits; see `Encoding.split_at`.

    Cost: that of the tokenizer's own `split_at`, and building the counters of what it finds.
    """
    end = tokenizer.split_at(text, n, start)
    window = text[start:end]
    counter = together(tokenizer.intervals(window), window, limits)
    return start + counter.last_fit(0, len(window), n)
