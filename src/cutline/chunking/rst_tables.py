"""The rows of tables in reStructuredText: list-table, csv-table, grids and simple tables."""

import re
from typing import Final

__all__ = ["TABLE_LINE", "TableRows", "rows_of_directive", "rows_of_grid", "rows_of_simple"]

TABLE_LINE: Final = re.compile(r"\.\. (csv-|flat-|list-)?table::").match
_OPTION: Final = re.compile(r"\s+:([\w-]+):\s*(.*)").match
_BULLET: Final = re.compile(r"(\s*)[-*+]\s+[-*+](?:\s|\Z)").match
_BORDER: Final = re.compile(r"\+[-+]+\+\Z").match
_HEADER_BORDER: Final = re.compile(r"\+[=+]+\+\Z").match
_SIMPLE_BORDER: Final = re.compile(r"=[= ]*\Z").match

TableRows = tuple[tuple[int, ...], bool]
"""The lines at which rows below the header begin; and whether there is a header above them."""

_NONE: Final[TableRows] = ((), False)


def rows_of_directive(lines: list[str], start: int, end: int) -> TableRows:
    """Return the rows of a table that a directive has at some lines."""
    found = TABLE_LINE(lines[start])
    options, row = {}, start + 1
    while row < end and (option := _OPTION(lines[row])):
        options[option[1]] = option[2]
        row += 1
    while row < end and not lines[row]:
        row += 1
    if found is None or row == end:
        return _NONE
    n_header = _number(options.get("header-rows", ""))
    if found[1] == "csv-":
        rows, is_headed = _records(lines, row, end), "header" in options
    elif found[1] == "list-":
        rows, is_headed = _items(lines, row, end), False
    else:
        return _NONE
    return tuple(rows[n_header:]), is_headed or n_header > 0


def rows_of_grid(lines: list[str], start: int, end: int) -> TableRows:
    """Return the rows of a table whose borders are drawn; each ends with its border."""
    header = next((row for row in range(start, end) if _HEADER_BORDER(lines[row])), None)
    first = start if header is None else header
    width = len(lines[start])
    borders = [
        row for row in range(first, end - 1) if len(lines[row]) == width and _BORDER(lines[row])
    ]
    if header is not None:
        borders.insert(0, header)
    return tuple(border + 1 for border in borders), header is not None


def rows_of_simple(lines: list[str], start: int, end: int) -> TableRows:
    """Return the rows of a table whose columns have borders above and below."""
    borders = [row for row in range(start, end) if _SIMPLE_BORDER(lines[row])]
    if len(borders) < 2:
        return _NONE
    first = borders[-2] + 1  # of two, there is no header
    # What goes on below has nothing in the first column.
    rows = [row for row in range(first, borders[-1]) if lines[row] and lines[row][0] != " "]
    return tuple(rows), len(borders) > 2


def _items(lines: list[str], start: int, end: int) -> list[int]:
    """Return the outer items of a list, each of which is a list, too."""
    outer = _BULLET(lines[start])
    if outer is None:
        return []
    found = ((row, _BULLET(lines[row])) for row in range(start, end))
    return [row for row, item in found if item is not None and item[1] == outer[1]]


def _records(lines: list[str], start: int, end: int) -> list[int]:
    """Return the lines that are not inside of quotes."""
    rows, n_quotes = [], 0
    for row in range(start, end):
        if lines[row] and n_quotes % 2 == 0:
            rows.append(row)
        n_quotes += lines[row].count('"')
    return rows


def _number(value: str) -> int:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 9 else 0
