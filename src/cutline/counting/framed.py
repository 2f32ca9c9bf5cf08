"""Slices of a text, counted with what a template puts around them, as one text.

Before a safe split point in the slice, its tokens are those of what stands before it and the
slice's head; after the last one, those of its tail and what stands after it. So a slice is
counted by its own count and two differences, of a few words each, and is not encoded as a whole.
Source: docs/what-is-sent.md, "How it is counted".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cutline.counting.units import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cutline.counting.limits import Measure
    from cutline.protocols import SliceCounter

__all__ = ["FramedSlices", "Head"]

_FAR: Final = 256  # characters in which a safe split point is looked for
_NEAR: Final = 32  # ends after one that fits which are tried, where no such point is near
_MOST_KNOWN: Final = 1 << 14


class Head(NamedTuple):
    """How the start of a slice is counted with what stands before it.

    Attributes:
        end: of slices that end here or later it holds.
        more: the tokens that such a slice has more.
    """

    end: int
    more: int


class FramedSlices:
    """Counts slices of a text with some text before and after each; a `SliceCounter`.

    Args:
        measure: counts texts.
        own: counts the text's slices without what stands around them.
        text: the text.

    Cost: a count is that of `own`; for a start or an end not met before, two short texts are
    encoded. Where a slice has no safe split point in its first characters, it is encoded whole.
    """

    def __init__(self, measure: Measure, own: SliceCounter, text: str) -> None:
        self._measure: Any = measure
        self._own = own
        self._text = text
        self._is_unit = measure in UNITS.values()
        self._has_points = hasattr(measure, "_is_safe_point")
        # How many characters on each side of a place decide whether it is a safe split point.
        self._reach: int = getattr(measure, "_safe_point_reach", 1)
        self._points: dict[str, bool] = {}
        self._heads: dict[tuple[str, str], int] = {}
        self._tails: dict[tuple[str, str], int] = {}
        self._alone: dict[str, int] = {}
        self._last_head: tuple[str, int, Head | None] = ("", -1, None)
        self.before = self.after = ""

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice with what stands before and after it."""
        if self._is_unit:
            around = self._measure.count(self.before) + self._measure.count(self.after)
            return self._own.count(start, end) + int(around)
        head = self.head(start)
        if head is None or end < head.end:
            return self._whole(start, end)
        tokens = int(self._own.count(start, end)) + head.more
        if not self.after:
            return tokens
        tail = self._tail(max(head.end, start + 1), end)
        return self._whole(start, end) if tail is None else tokens + tail

    def count_many(self, spans: Sequence[tuple[int, int]]) -> Iterator[int]:
        """Count many slices lazily."""
        return (self.count(start, end) for start, end in spans)

    def split_at(self, start: int, n: int) -> int:
        """Find the greatest end whose slice has at most n tokens; the start: not one fits.

        With something after the slices, and no safe split point near: one such that none of the
        next 32 fits.
        """
        if self._is_unit:
            left = n - self.count(start, start)
            return start if left < 0 else self._own.split_at(start, left)
        head = self.head(start)
        if head is None:
            return self._split_whole(start, n)
        left = n - head.more
        end = self._own.split_at(start, left) if left >= 0 else start
        if self.after:
            # Behind a safe split point after `end`, even what stands before it has too many.
            return self._last_fit(start, self._next_point(max(end, head.end)), n)
        return end if end >= head.end else self._last_fit(start, head.end - 1, n)

    def head(self, start: int) -> Head | None:
        """Return how slices that begin here are counted; None: not without encoding them."""
        if not self.before:
            return Head(start, 0)
        if self._is_unit:
            return Head(start, int(self._measure.count(self.before)))
        place, known = self._last_head[1], self._last_head[2]
        if place == start and self._last_head[0] == self.before:
            return known
        head = None
        point = self._first_point(start)
        if point is not None:
            part = self._text[start:point]
            more = self._heads.get((self.before, part))
            if more is None:
                count = self._measure.count
                more = int(count(self.before + part)) - int(count(part))
                _keep(self._heads, (self.before, part), more)
            head = Head(point, more)
        self._last_head = (self.before, start, head)
        return head

    def _tail(self, floor: int, end: int) -> int | None:
        """Return the tokens that what stands after a slice adds to it; None: not known."""
        after = self._measure._count_after
        point = self._last_point(floor, end)
        if point is None:
            return None
        part = self._text[point:end]
        tokens = self._tails.get((self.after, part))
        if tokens is None:
            tokens = int(after(part + self.after)) - (int(after(part)) if part else 0)
            _keep(self._tails, (self.after, part), tokens)
        return tokens

    def _last_fit(self, start: int, last: int, n: int) -> int:
        """Find the greatest end up to `last` that fits; if that is `last`, a later one."""
        bound, width = self._last_joint(start, n), _NEAR
        while True:
            end = last
            while end > start and (
                (end > bound and self._is_joint(start, end)) or self.count(start, end) > n
            ):
                end -= 1
            if not start < end == last < len(self._text):
                return end
            last, width = min(last + width, len(self._text)), 2 * width

    def _last_joint(self, start: int, n: int) -> int:
        """Return an end after which no end that is a safe split point fits: without counting each.

        To all slices that end so, what stands after them adds the same.
        """
        if not self.after or not self._has_points or (head := self.head(start)) is None:
            return len(self._text)
        left = n - head.more - self._tokens_after()
        found = self._own.split_at(start, left) if left >= 0 else start
        return max(found, head.end - 1)

    def _split_whole(self, start: int, n: int) -> int:
        """Find an end by encoding what is sent."""
        bound = self._measure._max_bytes_of(n)
        stop = len(self._text) if bound is None else min(len(self._text), start + bound)
        sent = self.before + self._text[start:stop]
        skipped = len(self.before)
        if not self.after:
            return start + max(0, int(self._measure.split_at(sent, n)) - skipped)
        left = n - self._tokens_after()
        end = self._measure.split_at(sent, left) - skipped if left >= 0 else 0
        return self._last_fit(start, min(stop, start + max(0, end) + _NEAR), n)

    def _whole(self, start: int, end: int) -> int:
        return int(self._measure.count(self.before + self._text[start:end] + self.after))

    def _tokens_after(self) -> int:
        """Count what stands after a slice, from a safe split point on."""
        if self.after not in self._alone:
            count = getattr(self._measure, "_count_after", self._measure.count)
            self._alone[self.after] = int(count(self.after))
        return self._alone[self.after]

    # Safe split points

    def _first_point(self, start: int) -> int | None:
        """Find the first safe split point in a slice with what stands before it."""
        if not self._has_points:
            return None
        text = self._text
        blank = text.find(" ", start + 1, start + _NEAR)
        if blank > start and self._is_point(text, blank):
            return blank
        near = self.before[-1] + text[start : start + _FAR]
        places = range(2, len(near) - 1)
        return next((start + at - 1 for at in places if self._is_point(near, at)), None)

    def _last_point(self, floor: int, end: int) -> int | None:
        """Find the last safe split point from a place on, the slice's end included."""
        if not self._has_points:
            return None
        begin = max(floor - 2, end - _FAR, 0)
        near = self._text[begin:end] + self.after[:2]
        places = range(end - begin, max(floor - begin, 2) - 1, -1)
        return next((begin + at for at in places if self._is_point(near, at)), None)

    def _next_point(self, place: int) -> int:
        """Find a safe split point of the text after a place, or stop after some characters."""
        text, last = self._text, min(len(self._text), place + _FAR // 4)
        places = range(max(place + 1, 2), min(last, len(text) - 1))
        return next((at for at in places if self._is_point(text, at)), last)

    def _is_joint(self, start: int, end: int) -> bool:
        """Return whether the end of a slice is a safe split point."""
        if end - start < 2:
            return False
        return self._is_point(self._text[end - 2 : end] + self.after[:2], 2)

    def _is_point(self, text: str, place: int) -> bool:
        """Return whether a place is a safe split point; few characters around it decide."""
        around = text[place - self._reach : place + self._reach]
        found = self._points.get(around)
        if found is None:
            found = bool(self._measure._is_safe_point(around, self._reach))
            _keep(self._points, around, found)
        return found


def _keep(known: dict[Any, Any], key: object, value: object) -> None:
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[key] = value
