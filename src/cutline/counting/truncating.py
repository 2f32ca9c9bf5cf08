"""Truncation to one or more budgets: keeps the start of a text, its end, or both, with a marker.

Counts are not monotonic, and a marker can merge with the text next to it; so every candidate is
counted as the text that would be returned. An appender (for a start) or a prepender (for an end)
has the text kept so far, so that a candidate costs only what it adds.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import gt, sub
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from cutline.checks import checked_budget, checked_integer, plain_text
from cutline.counting.appender import Appender
from cutline.errors import BudgetError, shown

if TYPE_CHECKING:
    from cutline.counting.limits import Limit
    from cutline.protocols import GrowsAtEnd, GrowsAtStart, SliceCounter, TokenCounter

__all__ = [
    "Boundary",
    "Framed",
    "Growing",
    "Keep",
    "Truncated",
    "check_options",
    "cut",
    "special_spans",
    "truncate",
]

Keep = Literal["start", "end", "both"]
Boundary = Literal["character", "grapheme", "word"]

Budgets: TypeAlias = tuple[int, ...]
Spans: TypeAlias = Sequence[tuple[int, int]]

# The search for more text stops if none of this many next lengths fits.
LOOK_AHEAD = 64
# Characters from a cut within which a boundary, and a safe start to find it from, are sought.
WINDOW = 4096
# Most texts have fewer.
_CHARACTERS_A_TOKEN = 8
_FEW = 256
_CLUSTER, _WORD_EDGE = r"\X", r"(?w)\b"
# After a line feed, and between a blank and an ASCII letter or digit: always boundaries.
_SAFE = r"(?r)(?<=\n)|(?<= )(?=[A-Za-z0-9])"


class Growing(Protocol):
    """What a limit needs of a token counter here."""

    @property
    def name(self) -> str:
        """Its name."""

    def count(self, text: str, /) -> int:
        """Count the tokens of a text."""

    def count_till_limit(self, text: str, limit: int, /) -> int | None:
        """Count the tokens, or return None if there are more than `limit`."""

    def appender(self, text: str = "") -> GrowsAtEnd:
        """Begin a text that grows at its end."""

    def prepender(self, text: str = "") -> GrowsAtStart:
        """Begin a text that grows at its beginning."""


class Framed(NamedTuple):
    """A limit of a text together with what stands before and after it."""

    measure: Growing
    most: int
    before: str = ""
    after: str = ""

    def count(self, text: str) -> int:
        """Count a text in its place."""
        return self.measure.count(f"{self.before}{text}{self.after}")


class Truncated(NamedTuple):
    """A text within its budget, and the half-open spans of the source that it contains."""

    text: str
    kept: tuple[tuple[int, int], ...]


def truncate(
    encoding: Growing,
    text: str,
    max_tokens: int,
    keep: Keep = "start",
    marker: str = "…",
    boundary: Boundary = "character",
    others: Sequence[Limit] = (),
) -> Truncated:
    """Cut a text to a budget, and to those of other limits; see `cutline.truncate`."""
    text, max_tokens = plain_text(text), checked_integer(max_tokens, "max_tokens")
    marker = check_options(max_tokens, keep, marker, boundary)
    limits = (Framed(encoding, max_tokens), *(Framed(*other) for other in others))
    if all(measure.count_till_limit(text, most) is not None for measure, most, *_ in limits):
        return Truncated(text, ((0, len(text)),) if text else ())
    _check_marker(marker, limits)
    return cut(limits, text, keep, marker, boundary, special_spans(encoding, text))


def special_spans(encoding: Growing, text: str) -> Spans:
    """Return the spans of a text that a counter takes for special tokens: never cut inside."""
    find: Callable[[str], Spans] | None = getattr(encoding, "special_spans", None)  # WithSpecial
    return () if find is None else find(text)


def cut(
    limits: Sequence[Framed],
    text: str,
    keep: Keep,
    marker: str,
    boundary: Boundary,
    uncut: Spans = (),
) -> Truncated:
    """Cut a text, which does not fit whole, so that it is within its limits in its place.

    Args:
        limits: at least one.
        text: not empty.
        keep: as of `cutline.truncate`, like the two options after it.
        marker: replaces what is removed.
        boundary: where the text may be cut.
        uncut: spans that are kept whole or not at all, in order and disjoint.

    Returns:
        The marker alone, and no spans, if nothing of the text fits.
    """
    if keep == "both":
        return _both(limits, text, marker, boundary, uncut)
    side = (_Start if keep == "start" else _End)(limits, text, uncut)
    budgets = _budgets(limits)
    most = len(text) - 1
    if not side.begin(marker, budgets, most) or keep == "end" or marker or uncut:
        _grow(side, marker, budgets, most)
    _step_back(side, marker, budgets, boundary)
    kept = (side.span,) if side.kept else ()
    return Truncated(side.joined(marker), kept)


def _cuts_alone(limits: Sequence[Framed]) -> bool:
    """Whether the text stands alone, and its counter cuts texts."""
    return hasattr(limits[0].measure, "split_at") and not any(
        one.before or one.after for one in limits
    )


def _longest(limits: Sequence[Framed], text: str, budgets: Budgets) -> int:
    encoding: TokenCounter = limits[0].measure  # type: ignore[assignment]
    if len(limits) == 1:
        return encoding.split_at(text, budgets[0])
    from cutline.counting.together import split_at

    measures = (one.measure for one in limits[1:])
    others: Sequence[Limit] = [*zip(measures, budgets[1:], strict=True)]  # type: ignore[list-item]
    return split_at(encoding, text, budgets[0], 0, others)


def _budgets(limits: Sequence[Framed]) -> Budgets:
    return tuple(limit.most for limit in limits)


def _counts(limits: Sequence[Framed], text: str) -> Budgets:
    return tuple(limit.count(text) for limit in limits)


def _check_marker(marker: str, limits: Sequence[Framed]) -> None:
    for place, (measure, most, *_) in enumerate(limits):
        if (tokens := measure.count(marker)) > most:
            has, budget = "token" if tokens == 1 else "tokens", f"max_tokens={most}"
            if place:
                from cutline.counting.limits import unit_of

                has, budget = unit_of(measure), f"the {most} of also_fits"
            raise BudgetError(
                f"the marker {marker!r} alone has {tokens} {has}, more than {budget}: use a "
                "shorter one, or an empty one"
            )


def check_options(max_tokens: int, keep: str, marker: str, boundary: str) -> str:
    """Refuse invalid options; return the marker as a plain str.

    Raises:
        ValueError: names the option and its valid values.
        TypeError: the marker is no str.
    """
    checked_budget(max_tokens)
    if keep not in ("start", "end", "both"):
        raise ValueError(f"keep must be 'start', 'end' or 'both', got {shown(keep)}")
    if boundary not in ("character", "grapheme", "word"):
        raise ValueError(
            f"boundary must be 'character', 'grapheme' or 'word', got {shown(boundary)}"
        )
    if not isinstance(marker, str):
        raise TypeError(f"marker must be a str, got {type(marker).__name__}")
    return plain_text(marker)


def _both(
    limits: Sequence[Framed], text: str, marker: str, boundary: Boundary, uncut: Spans
) -> Truncated:
    """Keep about as many tokens of the start as of the end."""
    budgets, of_marker = _budgets(limits), _counts(limits, marker)
    head = _Start(limits, text, uncut)
    halves = tuple(
        own + (most - own + 1) // 2 for most, own in zip(budgets, of_marker, strict=True)
    )
    most = len(text) - 1
    head.begin(marker, halves, most)
    _grow(head, marker, halves, most)
    _step_back(head, marker, halves, boundary)
    before = head.joined(marker)
    # Each candidate counts the head again: so begin with the tail that would fit if nothing
    # merged across the marker, and try few.
    tail = _End(limits, text, uncut)
    most -= head.kept
    spare = [*map(sub, budgets, _counts(limits, before))]
    less = 0
    while True:
        tail.keep(0)
        if less > min(spare):
            break
        room = tuple(own + left - less for own, left in zip(of_marker, spare, strict=True))
        tail.begin(marker, room, most)
        _grow(tail, marker, room, most)
        if tail.fits(tail.kept, before, budgets):
            break
        less = 2 * less + 1
    _grow(tail, before, budgets, most, look_ahead=1)
    _step_back(tail, before, budgets, boundary)
    kept = tuple(side.span for side in (head, tail) if side.kept)
    return Truncated(tail.joined(before), kept)


class _Side(ABC):
    """The part of a text that is kept so far, at its start or its end.

    Attributes:
        kept: its length in characters.
    """

    def __init__(self, limits: Sequence[Framed], text: str, uncut: Spans) -> None:
        self.text = text
        self.kept = 0
        self._limits = limits
        self._uncut = uncut
        self._uncut_starts = [start for start, _ in uncut]

    def _uncut_at(self, place: int) -> tuple[int, int]:
        """Return the span that a place lies inside; an empty one if it may be cut there."""
        at = bisect_right(self._uncut_starts, place) - 1
        if at >= 0 and self._uncut[at][0] < place < self._uncut[at][1]:
            return self._uncut[at]
        return place, place

    def lengths(self, least: int, most: int) -> Iterable[int]:
        """Return `whole` of the lengths from `least` to `most`, the greatest first."""
        lengths = range(most, least - 1, -1)
        if not self._uncut:
            return lengths
        return sorted({self.whole(length) for length in lengths}, reverse=True)

    @abstractmethod
    def whole(self, length: int) -> int:
        """Return the least length from this one on whose cut is inside no uncut span."""

    @property
    @abstractmethod
    def span(self) -> tuple[int, int]:
        """The span of the part in the text."""

    @abstractmethod
    def fits(self, length: int, marker: str, budgets: Budgets) -> bool:
        """Return whether a part of this length, at least `kept`, fits with the marker."""

    def begin(self, marker: str, budgets: Budgets, most: int) -> bool:
        """Keep what fits if nothing merges with the marker, in a length of at most `most`.

        False: that is not known at once.
        """
        if not _cuts_alone(self._limits):
            return False
        left = tuple(map(sub, budgets, _counts(self._limits, marker)))
        if min(left) < 0:
            return False
        length = self.whole(self.longest(left, most))
        if length > most or not self.fits(length, marker, budgets):
            return False
        self.keep(length)
        return True

    @abstractmethod
    def longest(self, budgets: Budgets, most: int) -> int:
        """Return a length, at most `most`, that fits alone; of a start it is the greatest."""

    def reach(self, most: int, budgets: Budgets) -> int:
        """Return up to which length, at most `most`, any may fit, whatever the marker."""
        return most

    @abstractmethod
    def keep(self, length: int) -> None:
        """Keep a part of this length."""

    @abstractmethod
    def joined(self, marker: str) -> str:
        """Return the part with the marker at the cut."""

    @abstractmethod
    def cuts(self, boundary: Boundary) -> Iterator[int]:
        """Yield the lengths up to `kept`, the greatest first, whose cuts are boundaries."""


class _Start(_Side):
    def __init__(self, limits: Sequence[Framed], text: str, uncut: Spans) -> None:
        super().__init__(limits, text, uncut)
        self._counters = [limit.measure.appender(limit.before) for limit in limits]

    @property
    def span(self) -> tuple[int, int]:
        return 0, self.kept

    def fits(self, length: int, marker: str, budgets: Budgets) -> bool:
        more = self.text[self.kept : length] + marker
        for counter, limit, most in zip(self._counters, self._limits, budgets, strict=True):
            if not counter.fits(more + limit.after, most):
                return False
        return True

    def whole(self, length: int) -> int:
        return self._uncut_at(length)[1]

    def longest(self, budgets: Budgets, most: int) -> int:
        return min(most, _longest(self._limits, self.text, budgets))

    def reach(self, most: int, budgets: Budgets) -> int:
        for counter, limit, budget in zip(self._counters, self._limits, budgets, strict=True):
            if isinstance(counter, Appender):
                more = self.text[self.kept : most]
                most = self.kept + counter._reach(more, min(budget, sys.maxsize))
            else:
                most = self._reach_by_points(counter, limit, most, budget)
        return most

    def _reach_by_points(self, counter: GrowsAtEnd, limit: Framed, most: int, budget: int) -> int:
        """Do it by the first safe split point that is over the budget, whatever is behind it."""
        holds, beside = _safe_points_of(limit.measure)
        for place in range(max(self.kept + 1, beside), most - beside + 1):
            if holds(self.text, place) and not counter.fits(self.text[self.kept : place], budget):
                return min(most, place + beside - 1)
        return most

    def keep(self, length: int) -> None:
        for counter, limit in zip(self._counters, self._limits, strict=True):
            if length < self.kept:
                counter.truncate(len(limit.before) + length)
            else:
                counter.append(self.text[self.kept : length])
        self.kept = length

    def joined(self, marker: str) -> str:
        return self.text[: self.kept] + marker

    def cuts(self, boundary: Boundary) -> Iterator[int]:
        high = self.kept
        lowest = max(0, high - WINDOW)
        while high > lowest:
            low = _safe_before(self.text, high)
            inside = [cut for cut in _cuts_from(self.text, low, boundary, high) if cut > low]
            for cut in reversed(inside):
                if boundary != "word" or not self.text[cut - 1].isspace():
                    yield cut
            high = low


class _End(_Side):
    def __init__(self, limits: Sequence[Framed], text: str, uncut: Spans) -> None:
        super().__init__(limits, text, uncut)
        self._counters = [limit.measure.prepender(limit.after) for limit in limits]
        # Counts slices of the last part of the text, for each limit, if that is known to be of use.
        self._slices: list[SliceCounter] = []
        self._window = 0

    @property
    def span(self) -> tuple[int, int]:
        return len(self.text) - self.kept, len(self.text)

    def longest(self, budgets: Budgets, most: int) -> int:
        window = self.text[-_CHARACTERS_A_TOKEN * min(*budgets, len(self.text)) - _FEW :]
        self._window = len(window)
        measures: list[TokenCounter] = [one.measure for one in self._limits]  # type: ignore[misc]
        self._slices = [measure.intervals(window) for measure in measures]

        def is_over(length: int) -> bool:
            start = len(window) - length
            counts = (one.count(start, len(window)) for one in self._slices)
            return any(map(gt, counts, budgets))

        return bisect_left(range(min(most, len(window)) + 1), 1, 1, key=is_over) - 1

    def reach(self, most: int, budgets: Budgets) -> int:
        for counter, limit, budget in zip(self._slices, self._limits, budgets, strict=False):
            most = self._reach_by_points(counter, limit.measure, most, budget)
        return most

    def _reach_by_points(
        self, counter: SliceCounter, measure: Growing, most: int, budget: int
    ) -> int:
        """Do it by the last safe split point behind which is too much, whatever is before it."""
        holds, beside = _safe_points_of(measure)
        end, first = self._window, len(self.text) - self._window
        for place in range(len(self.text) - max(self.kept, beside), len(self.text) - most, -1):
            before = place - first - beside
            if before < 0:
                break
            if holds(self.text, place) and budget < (
                counter.count(before, end) - counter.count(before, before + beside)
            ):
                return min(most, end - before - 1)
        return most

    def fits(self, length: int, marker: str, budgets: Budgets) -> bool:
        more = marker + self.text[len(self.text) - length : len(self.text) - self.kept]
        for counter, limit, most in zip(self._counters, self._limits, budgets, strict=True):
            if not counter.fits(limit.before + more, most):
                return False
        return True

    def whole(self, length: int) -> int:
        return len(self.text) - self._uncut_at(len(self.text) - length)[0]

    def keep(self, length: int) -> None:
        for counter, limit in zip(self._counters, self._limits, strict=True):
            if length < self.kept:
                counter.truncate(len(limit.after) + length)
            else:
                counter.prepend(self.text[len(self.text) - length : len(self.text) - self.kept])
        self.kept = length

    def joined(self, marker: str) -> str:
        return marker + self.text[len(self.text) - self.kept :]

    def cuts(self, boundary: Boundary) -> Iterator[int]:
        start = len(self.text) - self.kept
        safe = _safe_before(self.text, start + 1) if start else 0
        last = min(start + WINDOW, len(self.text) - 1)
        for cut in _cuts_from(self.text, safe, boundary, last):
            if cut >= start and (boundary != "word" or not self.text[cut].isspace()):
                yield len(self.text) - cut


def _safe_points_of(measure: Growing) -> tuple[Callable[[str, int], bool], int]:
    """Return what tells whether a place of a text is a safe split point, and what it looks at.

    That is so many characters on each side, which the text must have.
    """
    holds: Callable[[str, int], bool] | None = getattr(measure, "_is_safe_point", None)
    return holds or (lambda *_: False), getattr(measure, "_safe_point_reach", 1)


def _grow(
    side: _Side, marker: str, budgets: Budgets, most: int, look_ahead: int = LOOK_AHEAD
) -> None:
    """Keep as much as fits with the marker: none of the next `look_ahead` lengths fits."""
    step, growing = 1, True
    while step:
        length = side.whole(side.kept + step)
        fitting = length <= most and side.fits(length, marker, budgets)
        if fitting:
            side.keep(length)
        growing = growing and fitting
        step = 2 * step if growing else step // 2
    found: int | None = side.kept
    while found is not None:
        side.keep(found)
        reach = side.reach(min(most, side.kept + look_ahead), budgets)
        lengths = side.lengths(side.kept + 1, reach)
        found = next((k for k in lengths if k <= most and side.fits(k, marker, budgets)), None)


def _step_back(side: _Side, marker: str, budgets: Budgets, boundary: Boundary) -> None:
    """Step back to a boundary that leaves some text, or else to a finer one."""
    if boundary == "character" or not side.kept:
        return
    finer: tuple[Boundary, ...] = ("word", "grapheme") if boundary == "word" else ("grapheme",)
    longest = side.kept
    for kind in finer:
        for length in side.cuts(kind):
            if side.whole(length) != length:
                continue
            side.keep(length)
            if side.fits(length, marker, budgets):
                return
        side.keep(longest)


def _cuts_from(text: str, start: int, boundary: Boundary, last: int) -> Iterator[int]:
    """Yield the boundaries from a safe start up to `last`, in order."""
    import regex  # slow to import, and needed for these boundaries only

    pattern = regex.compile(_CLUSTER if boundary == "grapheme" else _WORD_EDGE)
    # Whether `last` is a boundary depends on at most `WINDOW` characters after it.
    for match in pattern.finditer(text, start, last + WINDOW):
        if match.start() > last:
            return
        yield match.start()


def _safe_before(text: str, cut: int) -> int:
    """Find a position near before a cut at which clusters and words certainly end, if any."""
    import regex

    lowest = max(0, cut - WINDOW)
    match = regex.compile(_SAFE).search(text, lowest, cut - 1)
    return lowest if match is None else match.start()
