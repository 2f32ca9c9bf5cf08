"""The structure of a text during chunking: levels, units to keep whole, headings."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

from bitarray import bitarray

from cutline.chunking.levels import BitmapLevel
from cutline.chunking.structure import Structure
from cutline.kernels.breaks.outlined import Places, enclosing
from cutline.protocols import SliceCounter

__all__ = ["PLAIN", "Outline"]

# An overlap inside one of these would be misread: fenced code without its fence is prose.
_CLOSED_KINDS = frozenset({"code", "front matter", "html", "markup", "table"})


class Outline:
    """Queries about the structure of a text, for each chunk.

    Attributes:
        levels: the levels of the structure, the best first, without those that have no cut which
            the level before does not have.
        names: of these levels.
    """

    def __init__(self, structure: Structure) -> None:
        self.levels = tuple(_levels(structure))
        self.names = tuple([level.name for level in self.levels])
        self.headings_at = structure.headings_at
        self.table_header_at = structure.table_header_at
        self.metadata = structure.metadata
        self.cuts = structure.cuts
        self._kind_around = structure.kind_around
        self._lone_region = structure.lone_region
        self._regions = structure.regions
        self._units = structure.units
        self._fitting: tuple[tuple[SliceCounter, int], _Fitting] | None = None

    @cached_property
    def places(self) -> Places:
        """The levels and the units, for a kernel."""
        return Places([level.little_endian() for level in self.levels], self._units)

    @cached_property
    def closed_regions(self) -> tuple[tuple[array[int], array[int], array[int]], bytes] | None:
        """Where no overlap begins, for a kernel: see `Overlap`; None: it may begin anywhere."""
        if not self._has_closed:
            return None
        regions = self._regions
        starts = array("q", (start for start, _, _ in regions))
        ends = array("q", (end for _, end, _ in regions))
        outer = array("q", enclosing(regions))
        return (starts, ends, outer), bytes(kind in _CLOSED_KINDS for _, _, kind in regions)

    @cached_property
    def _has_closed(self) -> bool:
        return any(kind in _CLOSED_KINDS for _, _, kind in self._regions)

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self._units]

    @cached_property
    def _outer(self) -> list[int]:
        return enclosing(self._units)

    def is_closed(self, place: int) -> bool:
        """Return whether an overlap must not begin here: its text would be misread."""
        return self._has_closed and self._kind_around(place) in _CLOSED_KINDS

    def before_closed(self, place: int) -> int:
        """Return where the rest up to a place begins in which no overlap may; or the place."""
        region = self._lone_region(place) if self._has_closed else None
        return place if region is None or region[2] not in _CLOSED_KINDS else region[0]

    @cached_property
    def _jumps(self) -> list[int]:
        """Of each unit one that is around it, so that few jumps lead to any that is."""
        outer, depths = self._outer, [0] * (len(self._outer) + 1)  # the last is that of -1
        jumps = [-1] * len(depths)
        for place, around in enumerate(outer):
            depths[place] = depths[around] + 1
            far, farther = jumps[around], jumps[jumps[around]]
            is_even = depths[around] - depths[far] == depths[far] - depths[farther]
            jumps[place] = farther if is_even else around
        return jumps

    def _around(self, place: int) -> int:
        """Return the innermost unit that begins before a place and ends behind it; -1: none."""
        units, found = self._units, bisect_left(self._starts, place) - 1
        while found >= 0 and units[found][1] <= place:
            jump = self._jumps[found]
            found = jump if jump >= 0 and units[jump][1] <= place else self._outer[found]
        return found

    def limit(self, counter: SliceCounter, first: int, fit_end: int, budget: int) -> int:
        """Find the greatest end that cuts no unit which would fit a chunk of its own.

        Args:
            counter: counts tokens.
            first: units that begin before this place are already cut.
            fit_end: the end of the longest fitting prefix.
            budget: the token budget of a chunk.

        Cost: logarithmic in the units, and a count for each of those around `fit_end` that has not
            been counted.
        """
        place = self._around(fit_end)
        if place < 0:
            return fit_end
        if self._fitting is None or self._fitting[0] != (counter, budget):
            self._fitting = (counter, budget), _Fitting(self._units, self._outer, counter, budget)
        return self._fitting[1].first_around(place, first, fit_end)


class _Fitting:
    """Which units fit a chunk of their own; each is counted once.

    Args:
        units: their starts and ends.
        outer: which one is around each.
        counter: counts tokens.
        budget: of a chunk.
    """

    def __init__(
        self, units: Sequence[tuple[int, int]], outer: list[int], counter: SliceCounter, budget: int
    ) -> None:
        self._units, self._outer = units, outer
        self._counter, self._budget = counter, budget
        self._fits = set[int]()
        # Itself, or one around it if it does not fit: none between the two does. -1 is around all.
        self._next = [*range(len(outer)), -1]

    def first_around(self, place: int, first: int, default: int) -> int:
        """Return the start of the outermost unit that fits, of one and those around it.

        Args:
            place: the innermost one.
            first: where the outermost begins, or later.
            default: the result if none fits.
        """
        found = default
        place = self._candidate(place)
        while place >= 0 and self._units[place][0] >= first:
            start, end = self._units[place]
            if place in self._fits or self._counter.count(start, end) <= self._budget:
                self._fits.add(place)
                found, place = start, self._outer[place]
            else:
                self._next[place] = self._outer[place]
            place = self._candidate(place)
        return found

    def _candidate(self, place: int) -> int:
        """Return the first of a unit and those around it that is not known not to fit."""
        following = self._next
        while following[place] != place:
            following[place] = following[following[place]]
            place = following[place]
        return place


def _levels(structure: Structure) -> Iterator[BitmapLevel]:
    above: bitarray | None = None
    for name, bitmap in zip(structure.names, structure.bitmaps, strict=True):
        # Most levels of a short text share the bitmap of the level above.
        if bitmap is not above and (bitmap.any() if above is None else bitmap != above):
            yield BitmapLevel(name, bitmap)
        above = bitmap


PLAIN = Outline(Structure((), ()))
"""The outline of a plain text, which may be cut anywhere."""
