"""The headers of the tables on an HTML page, found while its tags are read in order."""

from dataclasses import dataclass

__all__ = ["TableHeaders"]


@dataclass(slots=True)
class _Table:
    """An open table.

    Attributes:
        header: of this table once it is known, until then of the one around it; or "".
        head: where its first row or `thead` begins; -1 before.
        row: where its last row begins; -1 before, and after the end of one.
        is_known: whether a row below the header was met.
        has_thead: whether there is a `thead`.
        in_thead: whether it is open.
    """

    header: str
    head: int = -1
    row: int = -1
    is_known: bool = False
    has_thead: bool = False
    in_thead: bool = False


class TableHeaders:
    """Finds the rows that go on below a header: the `thead`, or the first rows of `th` alone.

    Args:
        text: the page.

    Attributes:
        found: (start, end, header), in order: below which header the text from start to end is. In
            a table inside a table it is that of the inner one, if that has one.
    """

    def __init__(self, text: str) -> None:
        self.found: list[tuple[int, int, str]] = []
        self._text = text
        self._open: list[_Table] = []
        self._header, self._since = "", 0

    def start_tag(self, name: str, start: int) -> None:
        """Take the start tag of a table, or of a part of one."""
        if name == "table":
            if self._open:
                self._open[-1].is_known = True  # a table in a header would be in many headers
            self._open.append(_Table(self._open[-1].header if self._open else ""))
        elif self._open and not self._open[-1].is_known:
            self._part(self._open[-1], name, start)

    def _part(self, table: _Table, name: str, start: int) -> None:
        if name in ("thead", "tbody", "tfoot"):
            table.in_thead = name == "thead"
            table.has_thead = table.has_thead or table.in_thead
            table.row = -1
            if table.in_thead and table.head < 0:
                table.head = start
        elif name in ("tr", "td", "th"):
            if name == "tr" or table.row < 0:
                table.row = start
            if table.head < 0:
                table.head = start
            if not table.in_thead and (table.has_thead or name == "td"):
                table.is_known = True
                if table.head < table.row:
                    table.header = self._text[table.head : table.row]
                    self._go_on(table.row, table.header)

    def end_thead(self) -> None:
        """Take the end tag of a `thead`."""
        if self._open:
            self._open[-1].in_thead = False
            self._open[-1].row = -1

    def end_table(self, end: int) -> None:
        """Take the end of the innermost open table."""
        self._open.pop()
        self._go_on(end, self._open[-1].header if self._open else "")

    def _go_on(self, place: int, header: str) -> None:
        """Take another header from a place on."""
        if header == self._header:
            return
        if self._header and place > self._since:
            self.found.append((self._since, place, self._header))
        self._header, self._since = header, place
