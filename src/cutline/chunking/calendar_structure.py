"""The structure of iCalendar and vCard: cuts between events, contacts and properties.

Source: RFC 5545 and RFC 6350.
"""

import re
from collections import Counter
from itertools import pairwise
from typing import Final

from cutline.chunking.nested_parts import Part, parts_structure
from cutline.chunking.structure import Structure, line_starts

__all__ = ["calendar_structure"]

_NAMES: Final = ("calendar", "component", "inner component", "property")
_CALENDAR, _COMPONENT, _INNER = range(1, 4)
_EDGE: Final = re.compile(r"(BEGIN|END):\s*([\w-]+)\s*\Z", re.IGNORECASE).match
_PROPERTY: Final = re.compile(
    r'\ufeff?(?:[\w-]+\.)?([\w-]+)(?:;(?:[^:"]|"[^"]*")*+)?:(.*)', re.DOTALL
).match
_OUTERMOST: Final = "VCALENDAR"
_MOST_LINE: Final = 2000  # characters that are read of one; an image may have thousands
_NO_START: Final = (" ", "\t", "\r", "\n", "")  # of a property: blank, or folded
# What may be a title, the best first.
_TITLES: Final = ("SUMMARY", "FN", "X-WR-CALNAME", "NAME", "ORG", "N", "TZID")
_FOLD: Final = re.compile(r"(?:\r\n?|\n)[ \t]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def calendar_structure(text: str) -> Structure:
    r"""Find where calendars (iCalendar) or contacts (vCard) may be cut.

    The levels, best first: "calendar", before one of several; "component", between the events,
    to-dos, contacts...; "inner component", before those inside of them, such as alarms; "property",
    between lines, of which one that begins with a blank belongs to the one above. The first lines
    of a calendar stay with its first component. Units are all four.

    Headings are the names of the calendar and of the component: its summary, or the name of a
    contact.

    Cost: linear.

    >>> events = "BEGIN:VEVENT\nSUMMARY:Saws\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:Glue\nEND:VEVENT\n"
    >>> structure = calendar_structure(f"BEGIN:VCALENDAR\nVERSION:2.0\n{events}END:VCALENDAR\n")
    >>> structure.cuts("component"), structure.headings_at(90)
    ([65], ('Glue',))
    """
    starts = [at for at in line_starts(text) if text[at : at + 1] not in _NO_START]
    found = _Components()
    for start, end in pairwise([*starts, len(text)]):
        found.add(start, end, text[start : min(end, start + _MOST_LINE)])
    if not found.parts:  # it is none
        return parts_structure(len(text), _NAMES, [])
    return parts_structure(len(text), _NAMES, found.parts, found.properties, found.units)


class _Components:
    """What the lines of a text begin.

    Attributes:
        parts: calendars and components.
        properties: where a property begins.
        units: properties.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.properties: list[int] = []
        self.units: list[tuple[int, int]] = []
        self._open: list[tuple[str, int]] = []  # names, with places in `parts`
        self._n_open = Counter[str]()  # by name
        self._ranks: list[int] = []  # of the titles of parts, the best 0

    def add(self, start: int, end: int, line: str) -> None:
        """Take the next line, with what is folded below it; `line` may be its beginning alone."""
        edge = _EDGE(line)
        if edge is None or edge[1].upper() == "BEGIN":
            self.properties.append(start)
        if edge is None:
            self.units.append((start, end))
            self._add_title(line)
        elif edge[1].upper() == "BEGIN":
            self._begin(edge[2].upper(), start)
        else:
            self._end(edge[2].upper())

    def _begin(self, name: str, start: int) -> None:
        in_calendar = bool(self._open) and self._open[0][0] == _OUTERMOST
        is_calendar = not self._open and name == _OUTERMOST
        level = _CALENDAR if is_calendar else _COMPONENT
        if len(self._open) > in_calendar:
            level = _INNER
        self._open.append((name, len(self.parts)))
        self._n_open[name] += 1
        self.parts.append(Part(level, start, "", is_head=is_calendar))
        self._ranks.append(len(_TITLES))

    def _end(self, name: str) -> None:
        """Close the last component of a name, and all in it; of none, it is of no account."""
        while self._n_open[name]:
            inner, _ = self._open.pop()
            self._n_open[inner] -= 1
            if inner == name:
                return

    def _add_title(self, line: str) -> None:
        found = _PROPERTY(line) if self._open else None
        name = "" if found is None else found[1].upper()
        if found is None or name not in _TITLES:
            return
        place, rank = self._open[-1][1], _TITLES.index(name)
        if rank < self._ranks[place]:
            self._ranks[place] = rank
            self.parts[place] = self.parts[place]._replace(title=_title(found[2], name))


def _title(value: str, name: str) -> str:
    """Return the value of a property as plain text."""
    value = _FOLD.sub("", value)
    if name in ("N", "ORG"):  # of several parts
        value = re.sub(r"(?<!\\);+", " ", value)
    value = _ESCAPED.sub(lambda found: " " if found[1] in "nN" else found[1], value)
    return " ".join(value.split())
