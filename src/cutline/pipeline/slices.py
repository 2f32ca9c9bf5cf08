"""Slices of a text that a tokenizer changes: counted from one border to the next."""

from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cutline.errors import OffsetError
from cutline.pipeline.retreating import retreat
from cutline.text import utf8_of

if TYPE_CHECKING:
    from cutline.pipeline.encoding import ChangingEncoding

__all__ = ["SliceCounter"]

_SHORT = 128  # characters: trying all ends costs less than looking for a bound


class SliceCounter:
    """Counts the tokens of any slice of a text as if the slice were encoded on its own.

    What `Encoding.intervals` gives for a text that the tokenizer changes: like
    `IntervalCounter`, in code points of the text as it was given.

    Args:
        encoding: that counts.
        text: any string without surrogates. It is kept, not copied.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate.

    Cost: building encodes the text once, some 9 MB/s. A count encodes what is left of the
    slice in front of its first border and behind its last one: a few words of most text, and
    all of it where a text has no borders, as in a run of one letter.
    """

    def __init__(self, encoding: "ChangingEncoding", text: str) -> None:
        utf8_of(text)
        self._encoding = encoding
        self._text = text
        self._borders = encoding._borders.find(text)
        edges = [*self._borders, len(text)]
        counts = [encoding._count_inside(text[start:end]) for start, end in pairwise(edges)]
        self._before = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])

    @property
    def encoding(self) -> "ChangingEncoding":
        """The encoding that counts."""
        return self._encoding

    @property
    def text(self) -> str:
        """The text that slices are of."""
        return self._text

    @property
    def total(self) -> int:
        """The tokens of the whole text."""
        return self.count(0, len(self._text))

    def __len__(self) -> int:
        """Return the text's length in code points."""
        return len(self._text)

    def __repr__(self) -> str:
        return f"<SliceCounter {self._encoding.name!r}: {len(self)} code points>"

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice.

        Raises:
            OffsetError: (a ValueError) the offsets are out of range or reversed.
        """
        start, end = index(start), index(end)
        if not 0 <= start <= end <= len(self._text):
            raise OffsetError(
                f"offsets must be 0 <= start <= end <= {len(self._text)}, the text's length in "
                f"code points, got start {start}, end {end}"
            )
        encoding, text, borders = self._encoding, self._text, self._borders
        first = bisect_right(borders, start)
        last = bisect_left(borders, end) - 1
        if first > last:
            return encoding.count(text[start:end])
        return (
            encoding.count(text[start : borders[first]])
            + int(self._before[last] - self._before[first])
            + encoding._count_inside(text[borders[last] : end])
        )

    def count_many(self, spans: ArrayLike) -> NDArray[np.int64]:
        """Count the tokens of many slices: int64, shape (k,) for spans of shape (k, 2)."""
        rows = np.asarray(spans).reshape(-1, 2).tolist()
        return np.array([self.count(start, end) for start, end in rows], dtype=np.int64)

    def split_at(self, start: int, n: int) -> int:
        """Find how far the text can go within a token budget.

        Returns:
            The greatest end such that `count(start, end) <= n`; start itself, if not even one
            character fits.

        Raises:
            OffsetError: (a ValueError) start is out of range.
            ValueError: n is negative.

        Cost: some slices from one border to the next are encoded; where the text has none for
        long, as many as n tokens have characters.
        """
        start, n = index(start), index(n)
        if n < 0:
            raise ValueError(f"n must be 0 or more tokens, got {n}")
        if not 0 <= start <= len(self._text):
            raise OffsetError(
                f"start must be from 0 to {len(self._text)}, the text's length in code points, "
                f"got {start}"
            )
        # What is behind a border adds to what is before it. So of those that fit the last one
        # counts, and no end behind the next one fits.
        borders, text = self._borders, self._text
        first = bisect_right(borders, start)
        if first == len(borders):
            return self._greatest(start, start, len(text), n)
        begun = self._encoding.count(text[start : borders[first]])
        if begun > n:
            return self._greatest(start, start, borders[first] - 1, n)
        most = int(self._before[first]) + n - begun
        last = int(np.searchsorted(self._before[: len(borders)], most, side="right")) - 1
        end = borders[last + 1] - 1 if last + 1 < len(borders) else len(text)
        left = n - begun - int(self._before[last] - self._before[first])
        return self._greatest(start, borders[last], end, left)

    def _greatest(self, start: int, border: int, end: int, n: int) -> int:
        """Find the greatest end of a slice that goes on from a border, up to `end`."""
        encoding, text = self._encoding, self._text
        most = encoding._max_bytes_of(n)  # in characters
        end = end if most is None else min(end, border + most)
        window = text[border:end]
        inside = border > start
        if encoding._is_unchanged_inside(window) if inside else encoding._is_unchanged(window):
            return border + encoding._inner.split_at(window, n)
        if len(window) > _SHORT:
            end = border + encoding._reach.limit(window, n)
            found = retreat(encoding, text[border:end], n, inside=inside)
            if found is not None:
                return border + found
        count = encoding._count_inside if inside else encoding.count
        while end > border and count(text[border:end]) > n:
            end -= 1
        return end
