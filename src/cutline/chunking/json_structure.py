"""The structure of JSON and JSON Lines: cuts between records, members and elements."""

import re
from typing import Final, NamedTuple

from cutline.chunking.structure import Structure, nested_bitmaps, tidy_units

__all__ = ["json_structure"]

_NAMES: Final = ("record", "element", *(f"inner {depth}" for depth in range(1, 7)))
_DEEPEST: Final = len(_NAMES) - 1
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]++', re.S)
_BLANKS: Final = re.compile(r"[^\S\n]*+\n?+")
_MOST_PATH: Final = 32  # deeper values have the path of this depth
_MOST_KEY: Final = 200


class _Open(NamedTuple):
    """A container that is being read."""

    start: int
    path: tuple[str, ...]
    is_object: bool


def json_structure(text: str) -> Structure:
    r"""Find where JSON, or a sequence of JSON values such as JSON Lines, may be cut.

    The levels, best first: "record" between values that stand side by side, such as the lines of
    JSON Lines; "element" between the members of an object, or the elements of an array, that are
    values of their own; "inner 1" to "inner 6" the same at each depth below. Every cut is after a
    comma, its line end included, or before a value on the outermost level. Units are records and
    elements; regions are objects and arrays of several elements.

    The headings of a place are the keys of the containers around it, from the outermost; an
    element of an array is "[3]", counted from 0. A key is cut at 200 characters, and a path at 32.

    Text that is no JSON is read as far as its brackets and strings go.

    Cost: linear, some MB/s.

    >>> structure = json_structure('{"a": [1, {"b": 2, "c": 3}], "d": 4}')
    >>> [list(bits.search(1)) for bits in structure.bitmaps[1:4]]
    [[29], [10, 29], [10, 19, 29]]
    >>> structure.headings_at(19)
    ('a', '[1]')
    """
    reader = _Reader(text)
    reader.read()
    return Structure(
        _NAMES,
        nested_bitmaps(len(text), reader.levels),
        tidy_units(reader.units),
        tuple(reader.paths()),
        tuple(sorted(reader.regions, key=lambda region: (region[0], -region[1]))),
    )


class _Reader:
    """Reads values, and notes where their elements begin and end.

    Attributes:
        levels: the cuts of each level.
        units: the elements' spans.
        regions: the containers of several elements.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[_Open] = []
        self._starts = [0]  # where the current element of each open container begins
        self._places = [0]  # and its number
        self._keys = [""]
        self._paths: dict[int, tuple[str, ...]] = {}
        self.levels: list[list[int]] = [[] for _ in _NAMES]
        self.units: list[tuple[int, int]] = []
        self.regions: list[tuple[int, int, str]] = []

    def read(self) -> None:
        """Read the text. Cost: linear."""
        text, opened, string = self._text, self._open, None
        levels, starts, places, add_unit = (
            self.levels,
            self._starts,
            self._places,
            self.units.append,
        )
        for token in _TOKEN.finditer(text):
            start = token.start()
            mark = text[start]
            if mark == ",":
                # Most marks are commas: this is not worth a call.
                if opened:
                    at = _after_blanks(text, start + 1)
                    levels[min(len(opened), _DEEPEST)].append(at)
                    add_unit((starts[-1], at))
                    starts[-1] = at
                    places[-1] += 1
                continue
            if mark == ":":
                # The last string, a key.
                self._keys[-1] = string[0][1:-1][:_MOST_KEY] if string else ""
                continue
            if mark in "}]":
                self._end(start + 1)
                continue
            if not opened:
                self._begin_record(start)
            if mark == '"':
                string = token
            elif mark in "{[":
                self._begin(start, is_object=mark == "{")

    def _begin_record(self, start: int) -> None:
        at = self._line_start(start)
        if at:
            self.levels[0].append(at)
            self.units.append((self._starts[0], at))
            self._starts[0] = at

    def _line_start(self, start: int) -> int:
        """Return where a record begins: with the blanks before it in its line."""
        line = self._text.rfind("\n", self._starts[0], start) + 1
        return line if line and not self._text[line:start].strip() else start

    def _begin(self, start: int, *, is_object: bool) -> None:
        path = self._open[-1].path if self._open else ()
        if self._open and len(path) < _MOST_PATH:
            step = self._keys[-1] if self._open[-1].is_object else f"[{self._places[-1]}]"
            path = (*path, step)
        self._open.append(_Open(start, path, is_object))
        # What follows the bracket in its line is blank, mostly, and stays with it.
        self._starts.append(_after_blanks(self._text, start + 1))
        self._places.append(0)
        self._keys.append("")
        self._paths[start + 1] = path

    def _end(self, end: int) -> None:
        if not self._open:
            return
        container, n_before = self._open.pop(), self._places.pop()
        start = self._starts.pop()
        self._keys.pop()
        if n_before:
            self.units.append((start, end - 1))
            kind = "object" if container.is_object else "array"
            self.regions.append((container.start, end, kind))
        self._paths[end] = self._open[-1].path if self._open else ()

    def paths(self) -> list[tuple[int, tuple[str, ...]]]:
        """Return each offset at which the path changes, with that path."""
        return sorted(self._paths.items())


def _after_blanks(text: str, at: int) -> int:
    """Return where a line goes on after blanks; after its end, if there is nothing else."""
    if not text[at : at + 1].isspace():
        return at
    found = _BLANKS.match(text, at)
    return found.end() if found else at
