"""The slices of one text, counted by a tokenizer that knows nothing but to encode.

Every count that is given was had by encoding the slice, or the words in it where the tokenizer
encodes words apart. Source: docs/wrap.md.
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

__all__ = ["REACH", "SHORT", "TextSlices"]

REACH: Final = 64
"""Characters that a budget reaches at most for each of its tokens and one more."""

LOOK_AHEAD: Final = 32
"""Characters behind the end that was found which are tried, too."""

_CONTEXT: Final = 64  # characters that are encoded anew to try an end, unless they are fewer
_REFUTED: Final = 4  # ends that seemed to fit, and did not, before no more are tried
SHORT: Final = 64  # characters of parts that are worth remembering from text to text
_REMEMBERED: Final = 256


class _Encodes(Protocol):
    """What of a `WrappedTokenizer` slices are counted by."""

    @property
    def safe_points(self) -> "re.Pattern[str] | None": ...
    @property
    def count_part(self) -> Callable[[str], int]: ...
    def count(self, text: str, /) -> int: ...
    def offsets_of(self, text: str, /) -> list[tuple[int, int]] | None: ...


class TextSlices:
    """Counts slices of a text as if each were encoded on its own.

    Made by `WrappedTokenizer.intervals`, and like `IntervalCounter` but for its cost.

    Args:
        tokenizer: encodes.
        text: any string without surrogates.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate.

    Cost: each count encodes its slice. With a tokenizer of BERT's kind, every word of the
    text is encoded once at the beginning, then a count encodes at most two parts of words.
    """

    def __init__(self, tokenizer: _Encodes, text: str) -> None:
        self._tokenizer = tokenizer
        self._text = plain_text(text)
        utf8_of(self._text)
        self._long = lru_cache(_REMEMBERED)(self._count_long)
        points = tokenizer.safe_points
        # The safe split points in the text, and the tokens from the first of them to each.
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
        """Count many slices, each when it is asked for."""
        return (self.count(start, end) for start, end in spans)

    def split_at(self, start: int, n: int) -> int:
        """Find an end such that `count(start, end) <= n`; see `WrappedTokenizer.split_at`."""
        start, n = index(start), checked_budget(n, "n")
        if not 0 <= start <= len(self._text):
            raise OffsetError(
                f"start must be from 0 to {len(self._text)}, the text's length, got {start}"
            )
        limit = min(len(self._text), start + REACH * (n + 1))
        first, last = bisect_left(self._places, start), bisect_right(self._places, limit) - 1
        if first <= last:
            start, n, limit = self._word(start, n, limit, first, last)
        return self._farthest(start, self._near(start, n, limit), n, limit)

    def _word(self, start: int, n: int, limit: int, first: int, last: int) -> tuple[int, int, int]:
        """Find the word in which the budget runs out, what is left of it there, and its end.

        Args:
            start: where the slice begins.
            n: the budget.
            limit: how far the slice may go.
            first: the first seam from start on.
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
        """Find an end that fits, by where the tokens of a longer slice lie."""
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
        """Find an end that fits, and behind which one character more does not, by bisection."""
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
        """Look for an end behind the one that was found, the farthest first."""
        found: int | None = end
        while found is not None:
            end, found = found, self._farther(start, found, n, limit)
        return end

    def _farther(self, start: int, end: int, n: int, limit: int) -> int | None:
        """Find the farthest of the next ends that fits; None: none does."""
        tail = start if end - start <= _CONTEXT else self._context(end)
        spare = n - self.count(start, end) + self.count(tail, end)
        refuted = 0
        for place in range(min(limit, end + LOOK_AHEAD), end, -1):
            if refuted < _REFUTED and self.count(tail, place) <= spare:
                if self.count(start, place) <= n:
                    return place
                refuted += 1
        return None

    def _context(self, end: int) -> int:
        """Find where to begin to encode for the ends near a place: at a blank, if there is one."""
        blank = self._text.rfind(" ", end - _CONTEXT, end - _CONTEXT // 4)
        return blank if blank >= 0 else end - _CONTEXT

    def _part(self, start: int, end: int) -> int:
        """Count a slice by encoding it, unless it was encoded before."""
        if end - start <= SHORT:
            return self._tokenizer.count_part(self._text[start:end])
        return self._long(start, end)

    def _count_long(self, start: int, end: int) -> int:
        return self._tokenizer.count(self._text[start:end])
