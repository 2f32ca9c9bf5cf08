"""The structure of JSON found by regular expressions: an oracle for the kernel."""

import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]++', re.S)
_BLANKS: Final = re.compile(r"[^\S\n]*+\n?+")
MOST_PATH: Final = 32  # deeper values have the path of this depth
MOST_KEY: Final = 200


class _Open(NamedTuple):
    """A container that is being read."""

    start: int
    path: tuple[str, ...]
    is_object: bool


class JsonReader:
    """Reads values, and notes where their elements begin and end: see `ElementReader`."""

    def __init__(self, text: str, n_levels: int) -> None:
        self._text = text
        self._open: list[_Open] = []
        self._starts = [0]  # where the current element of each open container begins
        self._numbers = [0]  # and its number
        self._keys = [""]
        self.levels: list[list[int]] = [[] for _ in range(n_levels)]
        self.units: list[tuple[int, int]] = []
        self.regions: list[tuple[int, int, str]] = []
        self.paths: list[tuple[int, tuple[str, ...]]] = []

    def read(self) -> None:
        string = ""
        for token in _TOKEN.finditer(self._text):
            start, mark = token.start(), token[0][0]
            if mark == ",":
                self._end_element(start + 1)
            elif mark == ":":
                self._keys[-1] = string[1:-1][:MOST_KEY]
            elif mark in "}]":
                self._end(start + 1)
            else:
                if not self._open:
                    self._begin_record(start)
                if mark == '"':
                    string = token[0]
                elif mark in "{[":
                    self._begin(start, is_object=mark == "{")
        if self.levels[0]:  # the last of several records
            self.units.append((self._starts[0], len(self._text)))

    def _end_element(self, end: int) -> None:
        if self._open:
            at = _after_blanks(self._text, end)
            self.levels[min(len(self._open), len(self.levels) - 1)].append(at)
            self.units.append((self._starts[-1], at))
            self._starts[-1] = at
            self._numbers[-1] += 1

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
        if self._open and len(path) < MOST_PATH:
            step = self._keys[-1] if self._open[-1].is_object else f"[{self._numbers[-1]}]"
            path = (*path, step)
        self._open.append(_Open(start, path, is_object))
        # What follows the bracket in its line is blank, mostly, and stays with it.
        self._starts.append(_after_blanks(self._text, start + 1))
        self._numbers.append(0)
        self._keys.append("")
        self.paths.append((start + 1, path))

    def _end(self, end: int) -> None:
        if not self._open:
            return
        container, n_before = self._open.pop(), self._numbers.pop()
        start = self._starts.pop()
        self._keys.pop()
        if n_before:
            self.units.append((start, end))
            kind = "object" if container.is_object else "array"
            self.regions.append((container.start, end, kind))
        self.paths.append((end, self._open[-1].path if self._open else ()))


def _after_blanks(text: str, at: int) -> int:
    """Return where a line goes on after blanks; after its end, if there is nothing else."""
    if not text[at : at + 1].isspace():
        return at
    found = _BLANKS.match(text, at)
    return found.end() if found else at
