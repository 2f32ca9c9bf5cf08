"""The structure of diffs and patches: cuts between commits, files and hunks."""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final, NamedTuple

from cutline.chunking.structure import (
    Structure,
    line_starts,
    nested_bitmaps,
    tidy_units,
)
from cutline.kernels.breaks.sections import sections_of

__all__ = ["diff_structure"]

_NAMES: Final = ("commit", "file", "hunk")
_COMMIT, _FILE, _HUNK = range(1, 4)
_HUNK_LINE: Final = re.compile(r"@@+ (?:-\d+(?:,(\d+))? )+\+\d+(?:,(\d+))? @@+ ?(.*)").match
_COMMIT_LINE: Final = re.compile(r"(?:From|commit) [0-9a-f]{40,64}\b").match
_FILE_LINE: Final = re.compile(r"diff --(?:git|cc|combined) (.*)|Index: (.*)|diff -\S+ .*").match
_SUBJECT: Final = re.compile(r"Subject: (?:\[[^\]]*\] ?)*(.*)|    (\S.*)").match
_PREFIX: Final = re.compile(r"[abciow]/")
_NOTHING: Final = "/dev/null"


class _Part(NamedTuple):
    """A commit, a file or a hunk: where it begins, and its title."""

    level: int
    start: int
    title: str


def diff_structure(text: str) -> Structure:
    r"""Find where a diff may be cut.

    The levels, best first: "commit", before one of several, as `git log -p` and `git format-patch`
    write them; "file", before the lines that name the next file; "hunk", before `@@`. What comes
    first in a commit or a file stays with the lines above. The numbers of a hunk say where it
    ends: a line that was `-- a` is no name of a file. Units are all three.

    Headings are the subject of the commit, the path of the file, and what follows `@@ ... @@`.

    Cost: linear.

    >>> structure = diff_structure("--- a\n+++ b\n@@ -1 +1 @@ f\n-x\n+y\n@@ -9 +9 @@ g\n-x\n+y\n")
    >>> structure.cuts("hunk"), structure.headings_at(35)
    ([32], ('b', 'g'))
    """
    starts = line_starts(text)
    ends = [*starts[1:], len(text)]
    lines = [text[start:end].rstrip("\r\n") for start, end in zip(starts, ends, strict=True)]
    parts = [part._replace(start=starts[part.start]) for part in _parts(lines)]
    levels: list[list[int]] = [[] for _ in _NAMES]
    units: list[tuple[int, int]] = []
    heads: list[_Part] = []  # of which a part begins, and nothing below it yet
    ends_of = _ends(parts, len(text))
    for part, end in zip(parts, ends_of, strict=True):
        heads = [head for head in heads if head.level < part.level]
        start = heads[0].start if heads else part.start
        if heads:
            units.append((start, part.start + 1))  # never cut right after the lines above
        else:
            levels[part.level - 1].append(start)
        units.append((start, end))
        heads.append(part._replace(start=start))
        if part.level == _HUNK:
            heads = []
    return Structure(
        _NAMES,
        nested_bitmaps(len(text), levels),
        tidy_units(units),
        tuple(sections_of([(part.start, part.level, part.title)] for part in parts).paths),
    )


def _ends(parts: list[_Part], length: int) -> list[int]:
    """Return where each part ends: where the next one begins that is not deeper."""
    ends: list[int] = []
    following = [length] * (_HUNK + 1)  # by level
    for part in reversed(parts):
        ends.append(min(following[: part.level + 1]))
        following[part.level] = part.start
    return ends[::-1]


def _parts(lines: list[str]) -> Iterator[_Part]:
    """Yield the parts of a diff, whose `start` is the row, given its lines."""
    old = new = 0  # lines of the hunk that are missing yet
    is_named = False  # the lines of a file before its hunks began
    for row, line in enumerate(lines):
        if old > 0 or new > 0:
            sign = line[:1]
            if sign in ("", " ", "+", "-", "\\"):
                old -= sign in ("", " ", "-")
                new -= sign in ("", " ", "+")
                continue
            old = new = 0  # it is cut off
        if line.startswith("@@") and (found := _HUNK_LINE(line)):
            old, new = (1 if number is None else int(number[:9]) for number in found.group(1, 2))
            if line.startswith("@@@"):
                old = new = 0  # a merge, whose lines have several signs
            is_named = False
            yield _Part(_HUNK, row, found[3].strip())
        elif _COMMIT_LINE(line):
            is_named = False
            yield _Part(_COMMIT, row, _subject(lines, row))
        elif found := _FILE_LINE(line):
            is_named = True
            yield _Part(_FILE, row, _path(lines, row, found[1] or found[2] or ""))
        elif line.startswith("--- ") and not is_named and _line(lines, row + 1)[:4] == "+++ ":
            yield _Part(_FILE, row, _path(lines, row, ""))


def _subject(lines: list[str], row: int) -> str:
    """Return the first line of a commit's message, which is indented or has a name."""
    for place in range(row + 1, min(row + 20, len(lines))):
        if found := _SUBJECT(lines[place]):
            # A long line of a header goes on below, after a blank.
            more = takewhile(lambda line: line[:1] == " ", lines[place + 1 : place + 5])
            words = [found[1], *more] if found[2] is None else [found[2]]
            return " ".join(" ".join(words).split())
    return ""


def _path(lines: list[str], row: int, named: str) -> str:
    """Return the path of the file whose lines begin at a row, or else what names it there."""
    prefixed = _line(lines, row).startswith("diff --")
    for place in range(row, min(row + 20, len(lines))):
        line = lines[place]
        if line.startswith("@@") or (place > row and _FILE_LINE(line)):
            break
        if line.startswith("--- ") and _line(lines, place + 1).startswith("+++ "):
            before, after = (lines[at][4:].partition("\t")[0] for at in (place, place + 1))
            path = before if after == _NOTHING else after
            return _PREFIX.sub("", path, count=1) if prefixed and _PREFIX.match(path) else path
    return named.rpartition(" b/")[2]


def _line(lines: list[str], row: int) -> str:
    return lines[row] if row < len(lines) else ""
