"""The blocks of Org documents: headlines, code, tables, drawers.

Source: https://orgmode.org/worg/org-syntax.html
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from cutline.chunking.markup_blocks import CODE, HEADING, LABEL, MOST_TITLE, QUOTE, TABLE, Block

__all__ = ["read_blocks"]

_HEADLINE: Final = re.compile(r"(\*+) (.*)").match
_TASK_WORDS: Final = re.compile(r"#\+(?:seq_|typ_)?todo:(.*)", re.I).match
_WORD: Final = re.compile(r"[^\s|(]+").search
_TAGS: Final = re.compile(r"(?<![^ \t]):[\w@#%:]+:\Z")
_PRIORITY: Final = re.compile(r"\[#\w+\][ \t]*").match
_OPENED: Final = re.compile(
    r"[ \t]*(?:#\+begin_(?P<block>\S+)|:(?P<drawer>[\w-]+):[ \t]*\Z)", re.I
).match
_CLOSED: Final = re.compile(r"[ \t]*(?:#\+end_(?P<block>\S+)|:end:)[ \t]*\Z", re.I).match
_CODE_BLOCKS: Final = frozenset({"comment", "example", "export", "src"})
# Rows of a table, code of one line, and lines that describe what follows.
_ROWS: Final = {
    TABLE: re.compile(r"[ \t]*\|").match,
    CODE: re.compile(r"[ \t]*:(?: |\Z)").match,
    LABEL: re.compile(r"[ \t]*#(?:\+\S+:| |\Z)").match,
}
_LINK: Final = re.compile(r"\[\[(?:[^\[\]]*\]\[)?([^\[\]]*)\]\]")
_MARKUP: Final = re.compile(r"(?<![^\s('\"{-])([*/_=~+])(\S(?:.*?\S)?)\1(?![^\s.,;:!?'\")}\[-])")


def read_blocks(lines: list[str]) -> Iterator[Block]:
    """Yield the blocks of a document, given its lines without line ends. Cost: linear."""
    ends = _Ends(lines)
    is_task = _task_words(lines)
    row = 0
    while row < len(lines):
        line = lines[row]
        if not line.strip():
            row += 1
            continue
        if found := _HEADLINE(line):
            title = _title(found[2], is_task)
            block = Block(row, row + 1, HEADING, level=len(found[1]), title=title)
        else:
            block = _opened(lines, row, ends) or _paragraph(lines, row, ends)
        yield block
        row = block.end


class _Ends:
    """Where blocks and drawers may end: no headline is in one."""

    def __init__(self, lines: list[str]) -> None:
        self._rows: dict[str | None, list[int]] = {}
        self._headlines: list[int] = []
        for row, line in enumerate(lines):
            if line.startswith("*") and _HEADLINE(line):
                self._headlines.append(row)
            elif ("#+" in line or ":" in line) and (found := _CLOSED(line)):
                name = found["block"]
                self._rows.setdefault(name and name.lower(), []).append(row)

    def after(self, row: int, name: str | None) -> int | None:
        """Return the row after the end of a block with this name, or of a drawer; None: no end."""
        rows, headlines = self._rows.get(name, ()), self._headlines
        place, headline = bisect_right(rows, row), bisect_right(headlines, row)
        if place == len(rows) or (headline < len(headlines) and headlines[headline] < rows[place]):
            return None
        return rows[place] + 1


def _opened(lines: list[str], row: int, ends: _Ends) -> Block | None:
    """Return the block that a row opens; None: it is text."""
    if found := _OPENED(lines[row]):
        name = found["block"] and found["block"].lower()
        if (end := ends.after(row, name)) is not None:
            kind = LABEL if name is None else CODE if name in _CODE_BLOCKS else QUOTE
            return Block(row, end, kind)
    for kind, match in _ROWS.items():
        if match(lines[row]):
            end = row + 1
            while kind != LABEL and end < len(lines) and match(lines[end]):
                end += 1
            return Block(row, end, kind)
    return None


def _paragraph(lines: list[str], row: int, ends: _Ends) -> Block:
    end = row + 1
    while end < len(lines) and lines[end].strip():
        line = lines[end]
        if line[0] == "*" and _HEADLINE(line):
            break
        if line.lstrip()[:1] in ("#", ":", "|") and _opened(lines, end, ends):
            break
        end += 1
    return Block(row, end)


def _task_words(lines: list[str]) -> frozenset[str]:
    """Return the words that say how far a task is: the usual ones, or those that the text names."""
    named = [found[1] for line in lines if line.startswith("#+") and (found := _TASK_WORDS(line))]
    words = " ".join(named or ["TODO DONE"]).split()
    return frozenset(found[0] for word in words if (found := _WORD(word)))


def _title(headline: str, task_words: frozenset[str]) -> str:
    """Return the title of a headline without its keyword, priority, tags and markup."""
    title = headline.strip()
    word, _, rest = title.partition(" ")
    if word in task_words:
        title = rest.lstrip()
    if found := _PRIORITY(title):
        title = title[found.end() :]
    if found := _TAGS.search(title):
        title = title[: found.start()]
    return _MARKUP.sub(r"\2", _LINK.sub(r"\1", title[:MOST_TITLE])).strip()
