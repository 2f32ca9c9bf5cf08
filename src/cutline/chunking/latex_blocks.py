r"""The blocks of LaTeX: titles as \section, environments, and the lines that describe them.

Source: https://latexref.xyz/dev/latex2e.html
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from cutline.chunking.latex_titles import argument_of, plain_title
from cutline.chunking.markup_blocks import CODE, HEADING, LABEL, TABLE, Block

__all__ = ["read_blocks"]

_SECTIONS: Final = (
    "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph",
)  # fmt: skip
# Slides have titles, too.
_HEADING: Final = re.compile(
    rf"[ \t]*\\(?:({'|'.join(_SECTIONS)}|frametitle)\*?|begin\{{(frame)\}})"
    r"[ \t]*(?:<[^<>]*>)?[ \t]*(?=[\[{]|\Z)"
).match
_SLIDE: Final = "slide"
_PARAMETER: Final = re.compile(r"#[1-9]").search
# Before these there may be an even number of backslashes, but no comment.
_EDGE: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:(%)|\\(begin|end)[ \t]*\{([^{}\\]*)\})").finditer
_BEGIN: Final = re.compile(r"[ \t]*\\begin[ \t]*\{([^{}\\]*)\}").match
_DISPLAY: Final = re.compile(r"[ \t]*\\\[").match
_DISPLAY_END: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\]").search
_COMMENT: Final = re.compile(r"[ \t]*%").match
_CODE: Final = frozenset({
    "BVerbatim", "LVerbatim", "Verbatim", "alltt", "code", "comment", "filecontents", "listing",
    "lstlisting", "minted", "verbatim",
})  # fmt: skip
_TABLES: Final = frozenset({
    "longtable", "longtblr", "sidewaystable", "supertabular", "tabbing", "table", "tabu", "tabular",
    "tabularx", "tabulary", "talltblr", "tblr", "wraptable", "xltabular",
})  # fmt: skip
_ALL: Final = "document"  # the environment around everything


def read_blocks(lines: list[str]) -> Iterator[Block]:
    """Yield the blocks of a document, given its lines without line ends. Cost: linear."""
    return _Rows([*map(str.rstrip, lines)]).blocks()


class _Rows:
    """The lines of a document, its titles, and where its environments end."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._ends, is_code = _environments(lines)
        self._headings: dict[int, tuple[str, str, int]] = {}  # by row; name, title, end
        for row, line in enumerate(lines):
            if "\\" in line and not is_code[row] and (found := _HEADING(line)):
                argument = argument_of(lines, row, found.end())
                if argument is not None and not _PARAMETER(argument[0]):
                    name = found[1] if found[1] in _SECTIONS else _SLIDE
                    self._headings[row] = name, *argument
        used = {name for name, _, _ in self._headings.values()}
        ranked: list[str] = [name for name in (*_SECTIONS, _SLIDE) if name in used]
        self._levels: dict[str, int] = {name: level for level, name in enumerate(ranked, 1)}
        self._titles = [*self._headings]
        self._blank = [row for row, line in enumerate(lines) if not line]
        self._display_ends = [
            row for row, line in enumerate(lines) if "\\]" in line and _DISPLAY_END(line)
        ]

    def blocks(self) -> Iterator[Block]:
        row, lines = 0, self._lines
        while row < len(lines):
            if not lines[row]:
                row += 1
                continue
            block = self._heading(row) or self._opened(row) or self._comment(row)
            block = block or Block(row, self._paragraph_end(row))
            yield block
            row = block.end

    def _heading(self, row: int) -> Block | None:
        if row not in self._headings:
            return None
        name, title, end = self._headings[row]
        return Block(row, end, HEADING, level=self._levels[name], title=plain_title(title))

    def _opened(self, row: int) -> Block | None:
        """Return the environment that a row opens; None: it is text."""
        if _DISPLAY(self._lines[row]):
            return self._display(row)
        found = _BEGIN(self._lines[row])
        if found is None:
            return None
        name = found[1].removesuffix("*")
        end = self._ends.get(row)
        if end is None or name == _ALL or self._has_title(row, end):
            return Block(row, row + 1, LABEL)
        kind = CODE if name in _CODE else TABLE if name in _TABLES else ""
        return Block(row, end, kind, is_whole=True)

    def _display(self, row: int) -> Block | None:
        """Return a formula on lines of its own; None: it has no end before a blank line."""
        end, blank = _next(self._display_ends, row), _next(self._blank, row)
        return None if end is None or (blank or end) < end else Block(row, end + 1, is_whole=True)

    def _has_title(self, start: int, end: int) -> bool:
        title = _next(self._titles, start)
        return title is not None and title < end

    def _comment(self, row: int) -> Block | None:
        """Return comments, which describe what is right below; None: it is text."""
        end = row
        while end < len(self._lines) and _COMMENT(self._lines[end]):
            end += 1
        if end == row:
            return None
        is_label = end < len(self._lines) and self._lines[end]
        return Block(row, end, LABEL if is_label else "")

    def _paragraph_end(self, row: int) -> int:
        for end in range(row + 1, len(self._lines)):
            line = self._lines[end]
            if not line or end in self._headings or _BEGIN(line) or _DISPLAY(line):
                return end
        return len(self._lines)


def _environments(lines: list[str]) -> tuple[dict[int, int], list[bool]]:
    """Find the environments: the row after the end of each, by its first, and which rows are code.

    One that has no end is none.
    """
    ends: dict[int, int] = {}
    is_code = [False] * len(lines)
    opened: dict[str, list[int]] = {}
    closing = _code_ends(lines)
    row = 0
    while row < len(lines):
        for found in _EDGE(lines[row]) if "\\" in lines[row] else ():
            comment, edge, name = found.groups()
            if comment:
                break
            if edge == "end":
                if rows := opened.get(name):
                    ends[rows.pop()] = row + 1
                continue
            if name.removesuffix("*") not in _CODE:
                opened.setdefault(name, []).append(row)
                continue
            if (end := _next(closing.get(name, []), row + 1)) is not None:
                ends[row] = end + 1
                is_code[row + 1 : end] = [True] * (end - row - 1)
                row = end
                break
        row += 1
    return ends, is_code


def _next(rows: list[int], row: int) -> int | None:
    """Return the first of some rows, in order, from one on; None: there is none."""
    place = bisect_left(rows, row)
    return rows[place] if place < len(rows) else None


def _code_ends(lines: list[str]) -> dict[str, list[int]]:
    """Return the rows that may end an environment of code, by its name."""
    found: dict[str, list[int]] = {}
    for row, line in enumerate(lines):
        if "\\end" in line:
            for name in re.findall(r"\\end\{([^{}\\]*)\}", line):
                found.setdefault(name, []).append(row)
    return found
