"""The blocks of reStructuredText: titles, code, tables, and what is indented below its first line.

Source: https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html
"""

import re
from collections.abc import Callable, Iterator
from typing import Final
from unicodedata import combining, east_asian_width

from cutline.chunking.markup_blocks import CODE, HEADING, LABEL, MOST_TITLE, TABLE, Block
from cutline.chunking.rst_tables import (
    TABLE_LINE,
    TableRows,
    rows_of_directive,
    rows_of_grid,
    rows_of_simple,
)

__all__ = ["read_blocks"]

_INDENTS: Final = " \t\v\f"
_RULER: Final = re.compile(r"([!-/:-@\[-`{-~])\1*\Z").match
_SURE_RULER: Final = 4  # characters, with which a shorter ruler than the title's is taken
_SIMPLE_TABLE: Final = re.compile(r"=+(?: +=+)+\Z").match
_TABLE_BORDER: Final = re.compile(r"=+[ =]*\Z").match
_GRID_TABLE: Final = re.compile(r"\+-[-+]+-\+\Z").match
_DOCTEST: Final = re.compile(r">>>(?: |\Z)").match
# Each of these ends with its line, but for what is indented below.
_LINE: Final = re.compile(
    r"(?:[-+*\u2022\u2023\u2043]|\||\.\.|__)(?: |\Z)"
    r"|:(?![: ])(?:[^:\\]|\\.|:(?!(?:[ `]|\Z)))*(?<! ):(?: |\Z)"
).match
_LABEL: Final = re.compile(
    r"\.\. (?:_[^_ ].*:\Z|(?:(?:py:)?(?:current)?module|highlight|index)::)"
).match
_CODE: Final = re.compile(
    r"\.\. (?:code(?:-block)?|doctest|parsed-literal|prompt|raw|sourcecode|testcode|testoutput)::"
).match
_LITERAL: Final = re.compile(r"(?<!\\)(?:\\\\)*::\Z").search
# Roles, references, literals, emphasis; and escapes.
_INLINE: Final = re.compile(
    r"``(?P<literal>.+?)``(?!\w)"
    r"|(?::[\w:.+-]+:)?(?<![`\\])`(?![\s`])[~!]?(?P<text>[^`]+?)(?:\s*<[^`<>]*>)?`(?::[\w:.+-]+:|__?)?(?!\w)"
    r"|(?<![\w*\\])(?P<stars>\*\*?)(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)(?P=stars)(?![\w*])"
    r"|\b(?P<name>[^\W_]+(?:[-._+:][^\W_]+)*+)__?(?!\w)"
    r"|\\(?P<escaped>.)"
)


def read_blocks(lines: list[str]) -> Iterator[Block]:
    """Yield the blocks of a document, given its lines without line ends. Cost: linear."""
    return _Rows(lines).blocks()


class _Rows:
    """The lines of a document, and the styles of its titles so far."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = [*map(str.rstrip, lines)]
        self._styles: dict[str, int] = {}

    def blocks(self) -> Iterator[Block]:
        row, n_rows = 0, len(self._lines)
        while row < n_rows:
            if not self._lines[row]:
                row += 1
                continue
            block = self._block(row)
            yield block
            row = block.end

    def _block(self, row: int) -> Block:
        """Return the block that begins at a row."""
        line = self._lines[row]
        if line[0] in _INDENTS:  # at the beginning of the document, or below a title
            return self._with_indented(row, row)
        if _RULER(line):
            found = self._overlined(row)
            if found is not None:
                return found
        if _GRID_TABLE(line):
            return self._table(row, self._while(row, "+", "|"), rows_of_grid)
        if _SIMPLE_TABLE(line):
            return self._table(row, self._after_simple_table(row), rows_of_simple)
        if _DOCTEST(line):
            return Block(row, self._paragraph_end(row), CODE)
        if _LINE(line):
            kind = LABEL if _LABEL(line) else CODE if _CODE(line) else ""
            block = self._with_indented(row, row + 1, kind)
            return self._table(row, block.end, rows_of_directive) if TABLE_LINE(line) else block
        underline = self._line(row + 1)
        if _RULER(underline) and _holds(underline, line):
            return self._heading(row, row + 2, underline[0], line)
        return self._paragraph(row)

    def _overlined(self, row: int) -> Block | None:
        """Return the title below a ruler, or the ruler itself; None: it is text."""
        overline, title, underline = (self._line(row + place) for place in range(3))
        is_sure = len(overline) >= _SURE_RULER
        if title and underline == overline and not _RULER(title) and _holds(overline, title):
            return self._heading(row, row + 3, 2 * overline[0], title)
        return Block(row, row + 1) if is_sure else None

    def _heading(self, start: int, end: int, style: str, title: str) -> Block:
        level = self._styles.setdefault(style, len(self._styles) + 1)
        return Block(start, end, HEADING, level=level, title=_plain(title))

    def _table(
        self, start: int, end: int, rows_of: Callable[[list[str], int, int], TableRows]
    ) -> Block:
        rows, is_headed = rows_of(self._lines, start, end)
        return Block(start, end, TABLE, rows=rows, is_headed=is_headed)

    def _line(self, row: int) -> str:
        return self._lines[row] if row < len(self._lines) else ""

    def _paragraph(self, row: int) -> Block:
        end = self._paragraph_end(row, _INDENTS)
        block = self._with_indented(row, end)
        if not _LITERAL(self._lines[end - 1]):
            return block
        inner = self._first(end, str.strip)
        if block.end > end:
            return block._replace(kind=CODE, n_before=inner - row)
        # Or each line of the code begins with the same sign.
        sign = self._line(inner)[:1]
        if inner == end or not sign or not _RULER(sign):
            return block
        return Block(row, self._while(inner, sign), CODE, inner - row)

    def _paragraph_end(self, row: int, indents: str = "") -> int:
        """Return the row after the last before a blank line, or one with an indent."""
        return self._first(row + 1, lambda line: not line or line[0] in indents)

    def _first(self, row: int, test: Callable[[str], object]) -> int:
        """Return the first row, from one on, whose line passes a test."""
        lines = self._lines
        return next((place for place in range(row, len(lines)) if test(lines[place])), len(lines))

    def _with_indented(self, start: int, row: int, kind: str = "") -> Block:
        """Return a block with all lines that are indented from a row on, and those between."""
        end, lines = row, self._lines
        for place in range(row, len(lines)):
            if lines[place] and lines[place][0] not in _INDENTS:
                break
            if lines[place]:
                end = place + 1
        return Block(start, end, kind, is_whole=end > row)

    def _while(self, row: int, *signs: str) -> int:
        """Return the row after the last of those that begin with a sign."""
        return self._first(row, lambda line: not line.startswith(signs))

    def _after_simple_table(self, row: int) -> int:
        """Return the row after the second border below the top, or after one above a blank line."""
        n_found, n_rows = 0, len(self._lines)
        for place in range(row + 1, n_rows):
            if _TABLE_BORDER(self._lines[place]):
                n_found += 1
                if n_found == 2 or not self._line(place + 1):
                    return place + 1
        return row + 1  # no table


def _holds(ruler: str, title: str) -> bool:
    """Return whether a ruler is long enough for its title."""
    return len(ruler) >= _SURE_RULER or _width(title) <= len(ruler)


def _width(text: str) -> int:
    return sum(
        0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text
    )


def _plain(title: str) -> str:
    """Return a title without inline markup."""
    return _INLINE.sub(_inner, title[:MOST_TITLE].strip())


def _inner(found: re.Match[str]) -> str:
    return next(filter(None, found.group("literal", "text", "emphasis", "name", "escaped")), "")
