"""`Block`: what the readers of reStructuredText, Org, AsciiDoc and LaTeX find in lines."""

from typing import Final, NamedTuple

__all__ = ["CODE", "HEADING", "LABEL", "MOST_TITLE", "QUOTE", "TABLE", "Block"]

HEADING: Final = "heading"
LABEL: Final = "label"
"""Lines that name or describe the block or title beside them."""
CODE: Final = "code"
TABLE: Final = "table"
QUOTE: Final = "quote"
MOST_TITLE: Final = 300
"""Characters of a title that are searched for markup, so that none takes long."""


class Block(NamedTuple):
    """Rows of a text that belong together; blank ones are in no block, or end one.

    Attributes:
        start: the first row.
        end: the row after it.
        kind: one of those above; "" for a paragraph and the like.
        n_before: rows that introduce the code below them.
        is_whole: it should stay whole, whatever its kind.
        level: of a heading, from 1.
        title: of a heading, as plain text.
        rows: of a table, where those below its header begin.
        is_headed: the table has a header above them.
    """

    start: int
    end: int
    kind: str = ""
    n_before: int = 0
    is_whole: bool = False
    level: int = 0
    title: str = ""
    rows: tuple[int, ...] = ()
    is_headed: bool = False
