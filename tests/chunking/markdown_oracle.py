"""The blocks of a Markdown text from the events of its parser, and their levels: in plain Python.

As `kernels/breaks/markdown.pyx` and `markdown_levels.pyx` find them, which took over from this;
nothing of them is used here but where titles end.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np

from cutline.chunking.markdown_blocks import MOST_DEPTH, _parser, _title_end
from cutline.chunking.structure import LINE_END, source_bytes

DIVIDED = {"CodeBlock": "code", "HtmlBlock": "html", "Table": "table"}
CONTAINERS = {"BlockQuote": "quote", "Item": "item", "List": "list"}


@dataclass(slots=True)
class Block:
    """A block of a Markdown text, or a container of blocks.

    Attributes:
        kind: "heading", "paragraph", "definition", "break", "table", "code", "html",
            "front matter", "quote", "list" or "item".
        start: the beginning of its first line, with white space and container markers.
        end: the end of its last line, with its line end and without blank lines after it; for
            text directly in an item of a tight list, no further than its first part.
        depth: the number of containers around it; a list and its item are two.
        previous: the kind of the block before it in the same container, "" for the first.
        level: for a heading, 1 to 6.
        title: for a heading, its plain text, without attributes.
    """

    kind: str
    start: int
    end: int
    depth: int
    previous: str
    level: int = 0
    title: str = ""


class MarkdownBlocks:
    r"""Finds the blocks of one text.

    Args:
        text: the source; its lines end with \n, \r\n or \r.

    Attributes:
        blocks: sorted by start, containers before their content.
        rows: the beginnings of lines at which tables, code, HTML and front matter may be cut.
        gaps: those of them that follow a blank line.
    """

    def __init__(self, text: str) -> None:
        self.blocks: list[Block] = []
        self.rows: list[int] = []
        self.gaps: list[int] = []
        self._starts = [0, *(found.end() for found in LINE_END.finditer(text))]
        self._ends = [*self._starts[1:], len(text)]
        # With tabs, pulldown-cmark reports spans of items that begin in the line above.
        self._source = source_bytes(text.removeprefix("\ufeff").expandtabs(4))
        self._lines = self._source.splitlines(keepends=True)
        self._offsets = [*accumulate(map(len, self._lines), initial=0)]
        self._full_rows = self._find_full_rows()
        self._path: list[Block] = []  # open containers, then the last block
        self._depth = 0  # how many containers are open
        self._in_text = False  # directly in an item: tight lists have no paragraph events
        self._next_row = 0  # first row after the last top-level block
        self._events: Iterator[tuple[Any, Any]] = iter(())

    def read(self) -> None:
        """Find all blocks. Cost: linear in the text."""
        self._front_matter()
        self._events = _parser().events_with_range(self._source.decode())
        for event, span in self._events:
            if "Start" in event:
                self._begin(event["Start"], span)
            elif "End" in event:
                if _name(event["End"]) in CONTAINERS:
                    self._depth -= 1
                    self._in_text = False
            elif event == "Rule":
                self._add("break", span)
            elif not self._in_text:
                self._begin_text(span)
        self._definitions(len(self._lines))

    def _front_matter(self) -> None:
        """Read front matter, which is only at the beginning of a document."""
        if not self._source.startswith((b"---", b"+++")):
            return
        event, span = next(_parser(metadata=True).events_with_range(self._source.decode()))
        if _name(event) == "Start" and "MetadataBlock" in event["Start"]:
            self._add("front matter", span)
            inner = range(1, self._next_row - 1)
            self._cut_between([row for row in inner if self._full_rows[row] == row])
            self._leave_out(self._next_row)

    def _leave_out(self, n_rows: int) -> None:
        """Begin the text that is parsed, and all offsets in it, after some rows."""
        start = self._offsets[n_rows]
        self._source = self._source[start:]
        self._offsets = [offset - start for offset in self._offsets]

    def _begin(self, tag: Any, span: Any) -> None:
        name = _name(tag)
        if name == "Paragraph":
            self._add("paragraph", span)
            for _ in self._until_end(name):
                pass
        elif container := CONTAINERS.get(name):
            self._add(container, span)
            self._depth += 1
        elif name == "Heading":
            heading = self._add("heading", span)
            level = tag["Heading"]["level"]
            heading.level = int(level[1])
            heading.title = self._title(level, span)
        elif name in DIVIDED:
            self._add(DIVIDED[name], span)
            rows = self._table_rows() if name == "Table" else self._verbatim_rows(name)
            self._cut_between([*rows])
        elif not self._in_text:
            self._begin_text(span)

    def _begin_text(self, span: Any) -> None:
        """Begin text that is directly in an item, outside any leaf."""
        self._add("paragraph", span)
        self._in_text = True

    def _until_end(self, tag: str | dict[str, str]) -> Iterator[tuple[Any, Any]]:
        end = {"End": tag}
        for event, span in self._events:
            if event == end:
                return
            yield event, span

    def _title(self, level: str, span: Any) -> str:
        raw = self._source[span["start"] : span["end"]]
        end = span["start"] + _title_end(raw)
        parts: list[str] = []
        for event, place in self._until_end({"Heading": level}):
            name = _name(event)
            if place["start"] >= end:
                continue
            if name == "Text" and place["end"] > end:
                parts.append(self._source[place["start"] : end].decode())
            elif name in ("Text", "Code"):
                parts.append(event[name])
            elif name in ("SoftBreak", "HardBreak"):
                parts.append(" ")
        return " ".join("".join(parts).replace("\0", "\ufffd").split())

    def _table_rows(self) -> Iterator[int]:
        for event, span in self._until_end("Table"):
            if event == {"Start": "TableRow"}:
                yield self._row(span["start"])

    def _verbatim_rows(self, tag: str) -> Iterator[int]:
        """Yield the rows of code or HTML that are not blank."""
        above = -1
        for _, span in self._until_end(tag):
            start, end = span["start"], span["end"]
            for row in range(self._row(start), self._row(end - 1) + 1):
                # The span leaves out container markers.
                piece = slice(max(start, self._offsets[row]), min(end, self._offsets[row + 1]))
                if row > above and self._source[piece].strip():
                    yield (above := row)

    def _cut_between(self, rows: list[int]) -> None:
        """Record rows at which their block may be cut; the first one stays with its head."""
        for above, row in pairwise(rows):
            self.rows.append(self._starts[row])
            if row > above + 1:
                self.gaps.append(self._starts[row])

    def _definitions(self, row: int) -> None:
        """Add link reference definitions, which have no event, from the lines before a row."""
        if row <= self._next_row or self._full_rows[row - 1] < self._next_row:
            return  # nothing but blank lines, as nearly always
        above_is_blank = True
        for place in range(self._next_row, row):
            is_blank = self._full_rows[place] != place
            if not is_blank:
                if above_is_blank:
                    self._append("definition", place, place)
                self.blocks[-1].end = self._ends[place]
            above_is_blank = is_blank

    def _add(self, kind: str, span: Any) -> Block:
        first = bisect_right(self._offsets, span["start"]) - 1
        last = self._full_rows[bisect_right(self._offsets, span["end"] - 1) - 1]
        if last < first:
            last = first
        self._in_text = False
        if not self._depth:
            self._definitions(first)
            self._next_row = last + 1
        return self._append(kind, first, last)

    def _append(self, kind: str, first: int, last: int) -> Block:
        start, depth, path = self._starts[first], self._depth, self._path
        previous = ""
        if len(path) > depth:
            previous = path[depth].kind
            for block in path[depth:]:  # spans can include part of the marker that ends a container
                if block.end > start:
                    block.end = start
            del path[depth:]
        block = Block(kind, start, self._ends[last], depth, previous)
        path.append(block)
        if depth <= MOST_DEPTH:
            self.blocks.append(block)
        return block

    def _row(self, offset: int) -> int:
        return bisect_right(self._offsets, offset) - 1

    def _find_full_rows(self) -> list[int]:
        """Find for each row the last row up to there that is not blank."""
        is_blank = np.fromiter(map(bytes.isspace, self._lines), dtype=bool, count=len(self._lines))
        rows = np.where(is_blank, -1, np.arange(len(self._lines)))
        full: list[int] = np.maximum.accumulate(rows).tolist()
        return full


def _name(event: Any) -> str:
    """Return the name of an event or a tag: a str, or the key of a dict that holds its data."""
    return event if type(event) is str else next(iter(event))


WHOLE = {"code", "front matter", "html", "item", "list", "quote", "table"}
FIRST = {"", "heading"}


def groups_of(blocks: Sequence[Block]) -> list[list[Block]]:
    """Divide the blocks outside containers into headings that follow each other, and others."""
    top = [block for block in blocks if not block.depth]
    return [[*group] for _, group in groupby(top, key=lambda block: block.kind == "heading")]


def leads(block: Block, text: str) -> bool:
    """Whether a paragraph is a short line that ends with a colon or asks, or is bold."""
    line = text[block.start : block.end]
    if block.kind != "paragraph" or len(line) > 120 or re.search(r"[\r\n]", line.strip()):
        return False
    marks = re.match(r"\s*(\*\*|__).*\1\s*\Z", line)
    is_bold = marks is not None and line.count(marks[1]) == 2
    return is_bold or line.strip()[-1:] in (*":：?？؟",)


def led_by(blocks: Sequence[Block], text: str) -> dict[int, int]:
    """Return from where a block begins to where the line that leads to it does."""
    top = [block for block in blocks if not block.depth]
    return {
        below.start: above.start
        for above, below in pairwise(top)
        if below.kind != "heading" and leads(above, text) and not leads(below, text)
    }


def cuts_of(blocks: Sequence[Block], text: str) -> list[list[int]]:
    """List the cuts before headings of each level, before blocks, items and nested items."""
    levels: list[list[int]] = [[] for _ in range(9)]
    led = led_by(blocks, text)
    for group in groups_of(blocks):
        if group[0].kind == "heading":
            levels[min(heading.level for heading in group) - 1].append(group[0].start)
        else:
            starts = [block.start for block in group if block.previous != "heading"]
            levels[6] += [start for start in starts if start not in led]
    inner = [block for block in blocks if block.depth and block.previous not in FIRST]
    levels[7] = [block.start for block in inner if block.depth == 1]
    levels[8] = [block.start for block in inner if block.depth > 1]
    return levels


def units_of(blocks: Sequence[Block], text: str) -> set[tuple[int, int]]:
    """Return the spans to keep whole; a block after a heading or a lead includes it."""
    headed = {
        following[0].start: group[0].start
        for group, following in pairwise(groups_of(blocks))
        if group[0].kind == "heading"
    }
    for below, above in led_by(blocks, text).items():
        headed[below] = headed.get(above, above)
    units = set()
    for block in blocks:
        start = headed.get(block.start, block.start)
        if not block.depth and block.start in headed:
            units.add((start, block.end))
            if block.kind != "table":
                units.add((start, block.start + 1))
        if block.kind in WHOLE:
            units.add((start, block.end))
    return units
