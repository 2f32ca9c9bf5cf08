"""What a document's syntax says about where to cut: the same answer for every syntax."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from bitarray import bitarray

__all__ = ["Structure", "line_starts", "nested_marks", "source_bytes", "tidy_units"]

_LINE_END = re.compile(r"\r\n?|\n")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_OFFSET = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Structure:
    """Where a text may be cut, what should stay whole, and what each place belongs to.

    All offsets are code points of the source text, all spans half-open.

    Attributes:
        names: of the levels, best first.
        marks: for each level `len(text) + 1` bits; bit p set: the text may be cut before
            character p. A level has the marks of all better ones too. The two ends of the
            text are no cuts and have no mark.
        units: spans to keep whole when they fit a budget, sorted by (start, -end); any two
            nest or are disjoint.
        headings: from which offset on (sorted) which path of headings stands. No path stands
            before the first.
        regions: (start, end, kind) of tables, code, lists, definitions..., sorted by
            (start, -end); any two nest or are disjoint.
        problem: why the text was not parsed, so that there are lines alone; "" if it was.
    """

    names: tuple[str, ...]
    marks: tuple[bitarray, ...]
    units: tuple[tuple[int, int], ...] = ()
    headings: tuple[tuple[int, tuple[str, ...]], ...] = ()
    regions: tuple[tuple[int, int, str], ...] = ()
    problem: str = ""
    _outer: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Index of the enclosing region of each, or -1.
        outer: list[int] = []
        for start, _, _ in self.regions:
            around = len(outer) - 1
            while around >= 0 and self.regions[around][1] <= start:
                around = outer[around]
            outer.append(around)
        object.__setattr__(self, "_outer", tuple(outer))

    def headings_at(self, offset: int) -> tuple[str, ...]:
        """Return the path of headings that the character at an offset stands under.

        Cost: O(log headings).
        """
        place = bisect_right(self.headings, offset, key=_OFFSET)
        return self.headings[place - 1][1] if place else ()

    def metadata(self, start: int, end: int) -> dict[str, Any]:
        """Tell what a chunk begins or ends in the middle of.

        A chunk that begins strictly inside a region gets "continues", the kind of the region,
        and "continues_from", the offset where it begins: what a reader lacks (the head of the
        table, the opening fence) is `text[continues_from:start]`. One that ends strictly inside
        a region gets "continued" and "continued_to", the offset where the region ends. Of nested
        regions it is the innermost: code in a list is code to whoever shows it.

        Each chunk of a text that was not parsed gets "unparsed", and why.

        Returns:
            Those of the keys that hold; nothing for a chunk that divides no region.

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

    def _around(self, offset: int) -> tuple[int, int, str] | None:
        """Return the innermost region that the offset divides."""
        # Every region that the offset divides encloses the last one that begins before it.
        place = bisect_left(self.regions, offset, key=_OFFSET) - 1
        while place >= 0 and self.regions[place][1] <= offset:
            place = self._outer[place]
        return self.regions[place] if place >= 0 else None


def line_starts(text: str) -> list[int]:
    r"""Return where the lines of a text begin; they end with \n, \r\n or \r.

    After a line end at the end of the text an empty line begins.
    """
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def source_bytes(text: str) -> bytes:
    r"""Return a text for a parser: UTF-8 with the same lines.

    Lone \r, which parsers know badly, become \n; lone surrogates, which are no Unicode, "?".
    """
    return _LONE_RETURN.sub(b"\n", text.encode(errors="replace"))


def nested_marks(length: int, levels: Sequence[Iterable[int]]) -> tuple[bitarray, ...]:
    """Return the bits of the levels' offsets, each level with those of all better ones.

    Args:
        length: of the text; the offsets 0 and `length` are left out.
        levels: the offsets of each level's own marks, best level first, in any order.
    """
    bits = bitarray(length + 1)
    every: list[bitarray] = []
    for offsets in levels:
        bits = bits.copy()
        bits[list(offsets)] = 1
        bits[0] = bits[length] = 0
        every.append(bits)
    return tuple(every)


def tidy_units(units: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the spans without repetition, outer before inner."""
    return tuple(sorted(set(units), key=lambda unit: (unit[0], -unit[1])))
