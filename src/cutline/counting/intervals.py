"""`IntervalCounter`: token counts of any slice of one text, after one pass over it."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, Self, cast

from cutline.checks import (
    changes_texts,
    checked_budget,
    need_unchanged,
    plain_text,
    spans_error,
    utf8_of,
)
from cutline.counting.windows import longest_fit
from cutline.errors import OffsetError
from cutline.kernels.cut.windows import Cutter
from cutline.kernels.index.interval import Intervals
from cutline.text_encoder import TextEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
else:
    from cutline.kernels.base.late import numpy as np  # most counters count one slice at a time

__all__ = ["IntervalCounter"]


class IntervalCounter(Intervals):
    """Counts the tokens of any slice of a text as if the slice were encoded on its own.

    Made by `Encoding.intervals`. Immutable; any number of threads may use it at once. Its
    pickle contains encoding and text; unpickling builds it again.

    Args:
        encoding: its split pattern must compile to an automaton.
        text: any string without surrogates; kept, not copied.
        byte_offsets: take and return offsets in bytes of the text's UTF-8, not in code points.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate.
        UnsupportedPatternError: the split pattern runs on the `regex` module.

    An encoding that changes texts before it splits them, or splits them several times, gives its
    own counter instead, with all public methods and other costs. A subclass refuses it.

    Cost: building encodes the text once. Memory is 0.5 bytes per character, 0.77 if the
    text is not ASCII; and for each piece of more than 64 bytes, about 100 bytes and a fifth of
    its length. If it helps slices that begin or end in such a piece, and once these have encoded
    it 16 times over, a tree of 16 bytes for each of its bytes is stored. `nbytes` is the total.

    >>> import cutline
    >>> text = "one two three"
    >>> counter = cutline.get_encoding("o200k_base").intervals(text)
    >>> counter.total, counter.count(0, 7), counter.count(1, 13)
    (3, 2, 3)
    """

    __slots__ = ("__weakref__", "_byte_offsets", "_encoding", "_text")

    _encoding: TextEncoder
    _text: str
    _byte_offsets: bool

    def __new__(cls, encoding: TextEncoder, text: str, *, byte_offsets: bool = False) -> Self:
        """Check the text, then let the kernel build."""
        text = plain_text(text)
        if cls is IntervalCounter and changes_texts(encoding, "intervals(text)", text):
            counter = encoding.intervals(text, byte_offsets=byte_offsets)
            return cast("Self", counter)  # has all public methods
        need_unchanged(encoding, "intervals(text)", text)
        return cls._of_normalized(encoding, text, byte_offsets)

    @classmethod
    def _of_normalized(cls, encoding: TextEncoder, text: str, byte_offsets: bool = False) -> Self:
        """Count slices of a text that nothing changes any more."""
        counter = super().__new__(cls, encoding, text, utf8_of(text), byte_offsets)
        counter._encoding = encoding
        counter._text = text
        counter._byte_offsets = byte_offsets
        return counter

    @property
    def encoding(self) -> TextEncoder:
        """The encoding that counts."""
        return self._encoding

    @property
    def text(self) -> str:
        """The text."""
        return self._text

    def count_many(self, spans: ArrayLike) -> NDArray[np.int64]:
        """Count the tokens of many slices; the GIL is released.

        Args:
            spans: integers, shape (k, 2): start and end of each slice.

        Returns:
            int64, shape (k,).

        Raises:
            OffsetError: (a ValueError) names the first row that is out of range.

        Cost: that of `count` for each slice, without the overhead of Python.

        >>> import cutline
        >>> counter = cutline.get_encoding("o200k_base").intervals("hello world")
        >>> counter.count_many([(0, 11), (3, 8), (5, 5)])
        array([2, 2, 0])
        """
        rows = np.asarray(spans)
        if rows.size == 0 and rows.ndim <= 2:
            rows = np.empty((0, 2), dtype=np.int64)
        if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
            self._refuse_huge(spans)
            raise spans_error(rows.dtype, rows.shape)
        if rows.dtype == np.uint64 and rows.max() > np.iinfo(np.int64).max:
            self._refuse_huge(rows)
        return self._count_many(np.ascontiguousarray(rows, dtype=np.int64))

    def _refuse_huge(self, spans: ArrayLike) -> None:
        """Name the first row with an offset beyond int64, if spans are rows of integers."""
        rows = np.asarray(spans, dtype=object)
        if rows.ndim != 2 or rows.shape[1] != 2:
            return
        for number, (start, end) in enumerate(rows.tolist()):
            if type(start) is not int or type(end) is not int:
                return
            if max(abs(start), abs(end)) > np.iinfo(np.int64).max:
                raise self._offset_error(start, end, number)

    def split_at(self, start: int, n: int) -> int:
        """Find the longest slice from a start that fits a token budget.

        Args:
            start: the start of the slice.
            n: the budget in tokens, 0 or more.

        Returns:
            The greatest end such that `count(start, end) <= n`; start if not even one character
            fits. A longer slice can have fewer tokens, but none after this end fits.

        Raises:
            OffsetError: (a ValueError) start is out of range, or inside a character.
            ValueError: n is negative.

        Cost: constant in ordinary text, whatever n: some microseconds. Like
        `Encoding.split_at`, linear in n if the slice never meets the text's own pieces, or
        begins or ends in a piece of many tokens, or in one whose end took a long lookahead.
        Linear in such a piece if the pattern has gaps.

        >>> import cutline
        >>> cutline.get_encoding("o200k_base").intervals("one two three").split_at(3, 1)
        7
        """
        start, n = index(start), checked_budget(n, "n")
        first = self._character(start)
        if first < 0:
            raise self._start_error(start)
        end = self._longest_fit(first, min(n, 4 * len(self._text)))
        return self._offset(end) if self._byte_offsets else end

    def _longest_fit(self, first: int, n: int) -> int:
        """Find the longest fitting prefix from a character on, in characters."""
        before, limit = len(self._text) + 1, len(self._text)
        while True:
            # The tokens before this place stand for all cuts behind it.
            at, tokens = self._seek(first, n, before)
            end = longest_fit(self._encoding, self._text, at, limit, n - tokens)
            if end > at or at == first or self._count_characters(first, at) <= n:
                return end
            before = limit = at

    def _count_characters(self, first: int, last: int) -> int:
        """Count a slice given in characters."""
        return self.count(self._offset(first), self._offset(last))

    def _count_tails(self, start: int, end: int) -> NDArray[np.int64]:
        """Count `text[at:end]` for each character after `start`, the last one first.

        Linear in the slice, where many counts of slices out of step with the text are not.
        """
        cutter = Cutter(self._encoding, utf8_of(self._text[start:end]))
        counts = cutter.count_tails()
        cutter.close()
        return counts

    def _start_error(self, start: int) -> OffsetError:
        """Build the error for an invalid start of a cut."""
        if not 0 <= start <= len(self):
            return OffsetError(
                f"start must be from 0 to {len(self)}, the text's length in {self._unit}, "
                f"got {start}"
            )
        return OffsetError(f"start must not lie inside a character, got byte {start}")

    def _offset_error(self, start: int, end: int, row: int | None = None) -> OffsetError:
        """Build the error for invalid offsets of a slice; the kernel raises it."""
        where = "" if row is None else f"row {row}: "
        got = f"got start {start}, end {end}"
        if not 0 <= start <= end <= len(self):
            return OffsetError(
                f"{where}offsets must be 0 <= start <= end <= {len(self)}, the text's length in "
                f"{self._unit}, {got}"
            )
        return OffsetError(f"{where}byte offsets must not lie inside a character, {got}")

    def __len__(self) -> int:
        """Return the text's length in the unit of the offsets."""
        return self._length

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counter's arguments."""
        return _rebuild, (self._encoding, self._text, self._byte_offsets)

    def __repr__(self) -> str:
        """Show the encoding, the text's length and its tokens."""
        size = f"{len(self)} {self._unit}, {self.total} tokens"
        return f"<IntervalCounter {self._encoding.name!r}: {size}>"

    @property
    def _unit(self) -> str:
        return "bytes" if self._byte_offsets else "code points"


def _rebuild(encoding: TextEncoder, text: str, byte_offsets: bool) -> IntervalCounter:
    return IntervalCounter(encoding, text, byte_offsets=byte_offsets)
