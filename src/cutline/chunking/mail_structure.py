"""The structure of mail: cuts between messages, the parts of one, and the fields of headers.

Source: RFC 5322, RFC 2046, and RFC 4155 for mbox.
"""

import re
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import Final

from cutline.chunking.nested_parts import Part, parts_structure
from cutline.chunking.structure import Structure, line_starts

__all__ = ["mail_structure"]

_NAMES: Final = ("message", "part", "inner part", "field")
_MESSAGE, _PART, _INNER = range(1, 4)
# What mbox has above a message: who sent it, and when.
_POSTMARK: Final = re.compile(r"From \S.*\d\d:\d\d").match
_FIELD: Final = re.compile(r"([!-9;-~]{1,80})[ \t]*:").match
_FOLD: Final = re.compile(r"(?:\r\n?|\n)(?=[ \t])")
_BOUNDARY: Final = re.compile(
    r';\s*boundary\s*=\s*(?:"([^"]{1,200})"|([^\s;"]{1,200}))', re.I
).search
_FILE_NAME: Final = re.compile(r';\s*(?:file)?name\s*=\s*"?([^";\r\n]{1,200})', re.I).search
_NAMING: Final = ("content-disposition", "content-type")
_IS_FOLDED: Final = re.compile(r"[ \t]+[^\s]").match
_MOST_FIELD: Final = 2000  # characters of a field that are read


def mail_structure(text: str) -> Structure:
    r"""Find where a message (.eml) or a mailbox (mbox) may be cut.

    The levels, best first: "message", before one of several; "part", between the parts of a
    message, such as attachments, and "inner part", between those of a part; "field", between the
    fields of its header. A header stays with what follows, a field with its folded lines. Units are
    messages, parts and headers.

    The heading of a place is the subject of its message.

    Cost: linear.

    >>> mail = "From a@b Mon Mar  3 09:10:40 2025\nSubject: {}\n\nText.\n\n"
    >>> structure = mail_structure(mail.format("Saws") + mail.format("Glue"))
    >>> structure.cuts("message"), structure.headings_at(70)
    ([56], ('Glue',))
    """
    starts = line_starts(text)
    found = _Mail(text, [*starts, len(text)])
    found.read()
    return parts_structure(len(text), _NAMES, found.parts, found.fields, found.units)


class _Mail:
    """The messages of a text.

    Args:
        text: the text.
        starts: where each row begins, and where the last one ends.

    Attributes:
        parts: messages and their parts.
        fields: where fields of headers begin, but for the first of each.
        units: fields.
    """

    def __init__(self, text: str, starts: list[int]) -> None:
        self.parts: list[Part] = []
        self.fields: list[int] = []
        self.units: list[tuple[int, int]] = []
        self._text = text
        self._starts = starts
        self._n_rows = len(starts) - 1
        self._depths: dict[str, int] = {}  # of the parts that are open, by the line before each

    def read(self) -> None:
        """Read all rows."""
        row, is_blank_above = 0, True
        while row < self._n_rows:
            line = self._line(row)
            if is_blank_above and self._begins_message(row):
                row = self._message(row)
                is_blank_above = not self._line(row - 1).strip()
            elif line[:2] == "--" and (depth := self._depths.get(line.rstrip())):
                row = self._part(row, depth)
                is_blank_above = not self._line(row - 1).strip()
            else:
                if line[:2] == "--" and line.rstrip()[-2:] == "--":
                    self._close(self._depths.get(line.rstrip()[:-2], 0))
                is_blank_above = not line.strip()
                row += 1

    def _line(self, row: int) -> str:
        start, end = self._starts[row : row + 2]
        return self._text[start : min(end, start + _MOST_FIELD)]

    def _begins_message(self, row: int) -> bool:
        if not self.parts and _FIELD(self._line(row).removeprefix("\ufeff")):
            return True
        is_named = row + 1 < self._n_rows and _FIELD(self._line(row + 1)) is not None
        return is_named and _POSTMARK(self._line(row)) is not None

    def _message(self, row: int) -> int:
        """Read the header of a message; return the row after it."""
        self._depths = {}
        fields, body = self._header(row, row + (_POSTMARK(self._line(row)) is not None))
        title = _decoded(fields.get("subject", ""))
        self._add(Part(_MESSAGE, self._starts[row], title), fields, body, 1)
        return body

    def _part(self, row: int, depth: int) -> int:
        """Read the header of a part; return the row after it."""
        self._close(depth + 1)
        fields, body = self._header(row, row + 1)
        named = map(_FILE_NAME, (fields.get(name, "") for name in _NAMING))
        title = next((_decoded(name[1]) for name in named if name), "")
        level = _PART if depth == 1 else _INNER
        self._add(Part(level, self._starts[row], title), fields, body, depth + 1)
        return body

    def _add(self, part: Part, fields: dict[str, str], body: int, depth: int) -> None:
        """Add a message or part, whose text begins at a row, with what its header announces."""
        is_head = self._open(fields, depth)
        self.parts.append(part._replace(is_head=is_head, body=self._starts[body]))

    def _open(self, fields: dict[str, str], depth: int) -> bool:
        """Note the line before the parts that a header announces; return whether it does."""
        found = _BOUNDARY(fields.get("content-type", ""))
        if found is None:
            return False
        self._depths[f"--{found[1] or found[2]}".rstrip()] = depth
        return True

    def _close(self, depth: int) -> None:
        """Close the parts that are as deep, or deeper."""
        while depth and self._depths and next(reversed(self._depths.values())) >= depth:
            self._depths.popitem()

    def _header(self, first: int, row: int) -> tuple[dict[str, str], int]:
        """Return the fields from a row on, by their names in lower case, and the row after them.

        Args:
            first: the row that the message or part begins with.
            row: that of the first field.
        """
        fields: dict[str, str] = {}
        while row < self._n_rows and (name := _FIELD(self._line(row).removeprefix("\ufeff"))):
            start = self._starts[row]
            row += 1
            while row < self._n_rows and _IS_FOLDED(self._line(row)):
                row += 1
            value = self._text[start : min(self._starts[row], start + _MOST_FIELD)]
            fields.setdefault(name[1].lower(), value.partition(":")[2])
            if start > self._starts[first]:
                self.fields.append(start)
            self.units.append((start, self._starts[row]))
        while row < self._n_rows and not self._line(row).strip():
            row += 1
        return fields, row


def _decoded(value: str) -> str:
    """Return the value of a field as plain text, without the codes that stand for other letters."""
    value = " ".join(_FOLD.sub("", value).split())
    if "=?" not in value:
        return value
    try:
        return " ".join(str(make_header(decode_header(value))).split())
    except (HeaderParseError, LookupError, ValueError):
        return value
