"""`Structure`: cuts, units and headings of a document, in one form for every syntax."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final, TypeVar

from bitarray import bitarray

from cutline.kernels.breaks.outlined import enclosing

__all__ = [
    "LINE_END",
    "Structure",
    "line_starts",
    "nested_bitmaps",
    "outer_first",
    "parsed_source",
    "source_bytes",
    "tidy_units",
]

LINE_END = re.compile(r"\r\n?|\n")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_OFFSET = itemgetter(0)
_END = itemgetter(1)

_Span = TypeVar("_Span", bound=tuple[Any, ...])


class Structure:
    """Where a text may be cut, what should stay whole, and the headings of each place. Immutable.

    All offsets are code points of the source text, all spans half-open.

    Attributes:
        names: the names of the levels, best first.
        bitmaps: for each level `len(text) + 1` bits, little-endian; bit p is set if the text may
            be cut before character p. A level has the bits of all better ones too. The two ends
            of the text are no cuts, and their bits are not set.
        units: spans to keep whole if they fit a budget, sorted by (start, -end); any two
            nest or are disjoint.
        headings: pairs of an offset and the path of headings from there on, sorted. There is no
            path before the first.
        regions: (start, end, kind) of tables, code, lists, definitions..., sorted by
            (start, -end); any two nest or are disjoint.
        table_headers: (start, end, text) of the headers of tables, sorted: the rows from start to
            end go on below this header.
        sections: where a section begins, as `8 * offset + level` of its heading, sorted. Headings
            directly below each other, each of a deeper level than the one before, begin one.
        problem: why the text was not parsed, so that there are only lines; "" if it was.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        bitmaps: tuple[bitarray, ...],
        units: tuple[tuple[int, int], ...] = (),
        headings: tuple[tuple[int, tuple[str, ...]], ...] = (),
        regions: tuple[tuple[int, int, str], ...] = (),
        problem: str = "",
        table_headers: tuple[tuple[int, int, str], ...] = (),
        sections: Iterable[int] = (),
    ) -> None:
        self.names: Final = names
        self.bitmaps: Final = bitmaps
        self.units: Final = units
        self.headings: Final = headings
        self.regions: Final = regions
        self.problem: Final = problem
        self.table_headers: Final = table_headers
        self.sections: Final = array("q", sections)
        # Asked for every chunk: bisect is slow with a key.
        self._heading_starts: Final = [offset for offset, _ in headings]
        self._region_starts: Final = [start for start, _, _ in regions]
        self._outer: Final = enclosing(regions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and vars(self) == vars(other)

    def cuts(self, name: str) -> list[int]:
        """List the cuts of a level, ascending; none if the text has no such level.

        Before "heading 2" all sections of levels 1 and 2 are listed, also an inner one that begins
        directly below an empty section of a deeper level; there, `bitmaps` have no cut.

        Cost: linear in the text.
        """
        kind, _, depth = name.partition(" ")
        if kind == "heading":
            return [mark // 8 for mark in self.sections if mark % 8 <= int(depth)]
        found = (bits for one, bits in zip(self.names, self.bitmaps, strict=True) if one == name)
        return [place for bits in found for place in bits.search(1)]

    def headings_at(self, offset: int) -> tuple[str, ...]:
        """Return the path of headings of the character at an offset.

        Cost: O(log headings).
        """
        place = bisect_right(self._heading_starts, offset)
        return self.headings[place - 1][1] if place else ()

    def table_header_at(self, offset: int) -> str:
        """Return the header of the table whose rows go on at an offset; "" elsewhere.

        Cost: O(log tables).
        """
        place = bisect_right(self.table_headers, offset, key=_OFFSET) - 1
        if place >= 0 and offset < self.table_headers[place][1]:
            return self.table_headers[place][2]
        return ""

    def metadata(self, start: int, end: int) -> dict[str, Any]:
        """Return the regions that a chunk begins or ends inside.

        A chunk that begins strictly inside a region gets "continues", the kind of the region,
        and "continues_from", the offset where it begins: the missing part (the head of the
        table, the opening fence) is in `text[continues_from:start]`. One that ends strictly
        inside a region gets "continued" and "continued_to", the offset where the region ends. Of
        nested regions it is the innermost: code in a list is displayed as code.

        Each chunk of a text that was not parsed gets "unparsed", with the reason.

        Returns:
            The keys that apply; none for a chunk that divides no region.

        Cost: O(log regions + nesting).
        """
        found: dict[str, Any] = {"unparsed": self.problem} if self.problem else {}
        before = self._around(start)
        if before is not None:
            found["continues"], found["continues_from"] = before[2], before[0]
        after = self._around(end)
        if after is not None:
            found["continued"], found["continued_to"] = after[2], after[1]
        return found

    def kind_around(self, offset: int) -> str | None:
        """Return the kind of the innermost region that an offset divides."""
        region = self._around(offset)
        return region[2] if region is not None else None

    def lone_region(self, offset: int) -> tuple[int, int, str] | None:
        """Return the region that an offset divides, if no other begins in it before the offset."""
        place = bisect_left(self._region_starts, offset) - 1
        is_around = place >= 0 and self.regions[place][1] > offset
        return self.regions[place] if is_around else None

    def _around(self, offset: int) -> tuple[int, int, str] | None:
        """Return the innermost region that the offset divides."""
        # Every region that the offset divides encloses the last one that begins before it.
        place = bisect_left(self._region_starts, offset) - 1
        while place >= 0 and self.regions[place][1] <= offset:
            place = self._outer[place]
        return self.regions[place] if place >= 0 else None


def line_starts(text: str) -> list[int]:
    r"""Return where the lines of a text begin; they end with \n, \r\n or \r.

    An empty line begins after a line end at the end of the text.
    """
    if "\r" not in text:  # in half the time
        *lines, _ = text.split("\n")
        return [*accumulate((len(line) + 1 for line in lines), initial=0)]
    return [0, *(match.end() for match in LINE_END.finditer(text))]


def source_bytes(text: str) -> bytes:
    """Return a text for a parser, as UTF-8: see `parsed_source`."""
    return parsed_source(text)[1]


def parsed_source(text: str) -> tuple[str, bytes]:
    r"""Return a text for a parser: with the same lines, as a str and as UTF-8.

    Lone \r, which parsers support badly, become \n; lone surrogates, which are not Unicode, "?".
    """
    if "\r" in text:
        text = _LONE_RETURN.sub("\n", text)
    try:
        return text, text.encode()
    except UnicodeEncodeError:
        source = text.encode(errors="replace")
        return source.decode(), source


def nested_bitmaps(length: int, levels: Sequence[Sequence[int]]) -> tuple[bitarray, ...]:
    """Return the bitmaps of the levels' offsets, each with those of all better levels.

    A level without offsets has the bitmap of the level before: most of a short text have none.

    Args:
        length: the length of the text; the offsets 0 and `length` are left out.
        levels: the offsets of each level, in any order; the best level first.
    """
    bits = bitarray(length + 1, endian="little")  # as kernels take them
    every: list[bitarray] = []
    for offsets in levels:
        if offsets:
            bits = bits.copy()
            bits[offsets] = 1
            bits[0] = bits[length] = 0
        every.append(bits)
    return tuple(every)


def tidy_units(units: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the distinct spans that are not empty, outer before inner."""
    return outer_first({span: None for span in units if span[0] < span[1]})  # nearly in order


def outer_first(spans: Iterable[_Span]) -> tuple[_Span, ...]:
    """Sort spans, which begin with start and end, by (start, -end); others stay in order."""
    found = sorted(spans, key=_END, reverse=True)
    found.sort(key=_OFFSET)
    return tuple(found)
