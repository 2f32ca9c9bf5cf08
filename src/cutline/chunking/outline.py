"""The structure of a text during chunking: levels, units to keep whole, headings."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
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

    def limit(self, counter: SliceCounter, first: int, fit_end: int, budget: int) -> int:
        """Find the greatest end that cuts no unit which would fit a chunk of its own.

        Args:
            counter: counts tokens.
            first: units that begin before this place are already cut.
            fit_end: the end of the longest fitting prefix.
            budget: the token budget of a chunk.

        Cost: logarithmic in the units, for each unit around `fit_end`.
        """
        units = self._units
        place = bisect_left(self._starts, fit_end) - 1  # all around it enclose the last before it
        found: list[int] = []
        while place >= 0 and units[place][0] >= first:
            if units[place][1] > fit_end:
                found.append(place)
            place = self._outer[place]
        for place in reversed(found):
            start, end = units[place]
            if counter.count(start, end) <= budget:
                return start
        return fit_end


def _levels(structure: Structure) -> Iterator[BitmapLevel]:
    above: bitarray | None = None
    for name, bitmap in zip(structure.names, structure.bitmaps, strict=True):
        # Most levels of a short text share the bitmap of the level above.
        if bitmap is not above and (bitmap.any() if above is None else bitmap != above):
            yield BitmapLevel(name, bitmap)
        above = bitmap


PLAIN = Outline(Structure((), ()))
"""The outline of a plain text, which may be cut anywhere."""
