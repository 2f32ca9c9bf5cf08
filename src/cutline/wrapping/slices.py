"""The slices of one text, counted by a tokenizer that can only encode.

Every count comes from encoding the slice, or its words if the tokenizer encodes words
separately. Source: docs/wrap.md.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import index
from typing import TYPE_CHECKING, Any, Final, Protocol

from cutline.checks import checked_budget, plain_text, utf8_of
from cutline.errors import OffsetError

if TYPE_CHECKING:
    import re

__all__ = ["MAX_TOKEN_CHARACTERS", "SHORT", "TextSlices"]

MAX_TOKEN_CHARACTERS: Final = 64
"""Upper bound of a slice: this many characters for each token of the budget and one more."""

LOOK_AHEAD: Final = 32
"""How many characters after a found end are tried as ends, too."""

_CONTEXT: Final = 64  # characters before an end that are encoded again to try it
_MOST_FAILURES: Final = 4  # failed candidates after which no more ends are tried
SHORT: Final = 64  # characters: counts of parts up to this length are cached across texts
_CACHED_PARTS: Final = 256


class _Encodes(Protocol):
    """The part of `WrappedTokenizer` that counts slices."""

    @property
    def safe_points(self) -> "re.Pattern[str] | None": ...
    @property
    def count_part(self) -> Callable[[str], int]: ...
    def count(self, text: str, /) -> int: ...
    def offsets_of(self, text: str, /) -> list[tuple[int, int]] | None: ...


class TextSlices:
    """Counts slices of a text as if each were encoded on its own.

    Made by `WrappedTokenizer.intervals`; like `IntervalCounter` except for its cost.

    Args:
        tokenizer: encodes the slices.
        text: any string without surrogates.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate.

    Cost: each count encodes its slice. With a tokenizer like BERT's, every word of the text
    is encoded once at the beginning; then a count encodes at most two parts of words.
    """

    def __init__(self, tokenizer: _Encodes, text: str) -> None:
        self._tokenizer = tokenizer
        self._text = plain_text(text)
        utf8_of(self._text)
        self._long = lru_cache(_CACHED_PARTS)(self._count_long)
        points = tokenizer.safe_points
        # The safe split points of the text, and the token counts from the first point to each.
        found = () if points is None else points.finditer(self._text)
        self._places = array("q", (match.start() for match in found))
        words = (self._part(start, end) for start, end in pairwise(self._places))
        self._before = array("q", accumulate(words, initial=0))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tokenizer, self._text)

    def count(self, start: int, end: int) -> int:
        """Count the tokens of `text[start:end]`.

        Raises:
            OffsetError: (a ValueError) unless 0 <= start <= end <= the text's length.
        """
        start, end = index(start), index(end)
        if not 0 <= start <= end <= len(self._text):
            raise OffsetError(
                f"offsets must be 0 <= start <= end <= {len(self._text)}, the text's length in "
                f"code points, got start {start}, end {end}"
            )
        first, last = bisect_left(self._places, start), bisect_right(self._places, end) - 1
        if first > last:
            return self._part(start, end)
        inside = self._before[last] - self._before[first]
        head = self._part(start, self._places[first])
        return head + inside + self._part(self._places[last], end)

    def count_many(self, spans: Iterable[tuple[int, int]]) -> Iterator[int]:
        """Count many slices lazily."""
        return (self.count(start, end) for start, end in spans)

    def split_at(self, start: int, n: int) -> int:
        """Find an end such that `count(start, end) <= n`; see `WrappedTokenizer.split_at`."""
        start, n = index(start), checked_budget(n, "n")
        if not 0 <= start <= len(self._text):
            raise OffsetError(
                f"start must be from 0 to {len(self._text)}, the text's length, got {start}"
            )
        limit = min(len(self._text), start + MAX_TOKEN_CHARACTERS * (n + 1))
        first, last = bisect_left(self._places, start), bisect_right(self._places, limit) - 1
        if first <= last:
            start, n, limit = self._word(start, n, limit, first, last)
        return self._farthest(start, self._near(start, n, limit), n, limit)

    def _word(self, start: int, n: int, limit: int, first: int, last: int) -> tuple[int, int, int]:
        """Find the word in which the budget runs out: its start, the tokens left there, its end.

        Args:
            start: where the slice begins.
            n: the budget.
            limit: upper bound of the end.
            first: the first safe split point from start on.
            last: the last one up to the limit.
        """
        left = n - self._part(start, self._places[first]) + self._before[first]
        if left < self._before[first]:
            return start, n, self._places[first]
        at = bisect_right(self._before, left, first, last + 1) - 1
        if at < last:
            limit = self._places[at + 1]
        return self._places[at], left - self._before[at], limit

    def _near(self, start: int, n: int, limit: int) -> int:
        """Find an end that fits, from the token offsets of a longer slice."""
        width, step = 6 * n + _CONTEXT, 1
        while True:
            stop = min(limit, start + width)
            offsets = self._tokenizer.offsets_of(self._text[start:stop])
            if offsets is None:
                return self._near_by_counts(start, n, limit)
            if len(offsets) > n:
                break
            if stop == limit:
                return limit
            width *= 2
        place, kept = start + offsets[n][0], n
        while place > start and (tokens := self.count(start, place)) > n:
            kept = max(0, kept - max(step, tokens - n))
            place, step = min(place - 1, start + offsets[kept][0]), 2 * step
        return max(start, place)

    def _near_by_counts(self, start: int, n: int, limit: int) -> int:
        """Find by bisection an end that fits such that one more character does not."""
        fits, step = start, n + 1
        while True:
            stop = min(limit, fits + step)
            if self.count(start, stop) > n:
                break
            fits, step = stop, 2 * step
            if stop == limit:
                return limit
        while stop - fits > 1:
            middle = (fits + stop) // 2
            if self.count(start, middle) <= n:
                fits = middle
            else:
                stop = middle
        return fits

    def _farthest(self, start: int, end: int, n: int, limit: int) -> int:
        """Extend a found end while a later one fits."""
        found: int | None = end
        while found is not None:
            end, found = found, self._farther(start, found, n, limit)
        return end

    def _farther(self, start: int, end: int, n: int, limit: int) -> int | None:
        """Find the last of the next ends that fits; None if none does."""
        tail = start if end - start <= _CONTEXT else self._context(end)
        spare = n - self.count(start, end) + self.count(tail, end)
        failures = 0
        for place in range(min(limit, end + LOOK_AHEAD), end, -1):
            if failures < _MOST_FAILURES and self.count(tail, place) <= spare:
                if self.count(start, place) <= n:
                    return place
                failures += 1
        return None

    def _context(self, end: int) -> int:
        """Find where to start encoding to try ends near a place: at a blank, if there is one."""
        blank = self._text.rfind(" ", end - _CONTEXT, end - _CONTEXT // 4)
        return blank if blank >= 0 else end - _CONTEXT

    def _part(self, start: int, end: int) -> int:
        """Count a slice by encoding it, with a cache."""
        if end - start <= SHORT:
            return self._tokenizer.count_part(self._text[start:end])
        return self._long(start, end)

    def _count_long(self, start: int, end: int) -> int:
        return self._tokenizer.count(self._text[start:end])
