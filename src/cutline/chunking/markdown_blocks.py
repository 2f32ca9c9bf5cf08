"""The blocks of a Markdown text: CommonMark and GitHub's tables, in one pass over the lines.

A line first continues the containers (quotes, list items) that are open, then may open new
ones, then goes to a leaf: the method of the CommonMark specification's appendix. It needs no
look ahead, so its time is linear in the text for every input; a general parser's is not (one
that first collects the lines of a quote rereads `> # a` and `b` in turn quadratically) and
spends most of it on what cuts do not ask for: the cells, the text inside the blocks.

Left out: a link reference definition counts when it is on one line; longer ones are paragraphs.
Containers nested deeper than `MOST_OPEN` are text.
"""

import re
from dataclasses import dataclass
from typing import Final

from cutline.chunking.markdown_patterns import (
    ALIGNMENT,
    BLANK_LINES,
    BREAK,
    DEFINITION,
    DELIMITER_ROW,
    FENCE,
    HEADING,
    HTML,
    HTML_ENDS,
    ITEM,
    LINE,
    LINE_BREAK,
    LONE_TAG,
    PIPE,
    PLAIN_LINES,
    STARTS,
    UNDERLINE,
    WHITE,
)

__all__ = ["MOST_OPEN", "Block", "BlockParser"]

MOST_OPEN: Final = 64
"""The most containers open at a time; a list and its item are two."""


@dataclass(slots=True)
class Block:
    """A block of a Markdown text, or a container of blocks.

    Attributes:
        kind: "heading", "paragraph", "definition", "break", "table", "code", "html",
            "front matter", "quote", "list" or "item".
        start: where its first line begins, white space and markers of containers too.
        end: where its last line ends, with its line end and without blank lines behind.
        depth: how many containers it is in; a list and its item are two.
        previous: the kind of the block before it in the same container, "" for the first.
        level: of a heading, 1 to 6.
        title: of a heading: the span of the title's source.
        is_hashed: of a heading: it begins with # and may end so.
    """

    kind: str
    start: int
    end: int
    depth: int
    previous: str
    level: int = 0
    title: tuple[int, int] = (0, 0)
    is_hashed: bool = False
    last: str = ""  # a container: the kind of its last block so far
    marker: str = ""  # a list: its bullet or delimiter; a fence: its characters
    width: int = 0  # an item: the columns that its lines are indented by
    closing: re.Pattern[str] | None = None  # HTML: what ends it, None for a blank line
    lines: int = 0  # a table: its lines; code and HTML: 1 or more when a line may be cut before


class BlockParser:
    r"""Finds the blocks of one text.

    Args:
        text: the source; its lines end with \n, \r\n or \r.

    Attributes:
        blocks: in order of their beginnings, containers before what they contain.
        rows: the beginnings of lines inside tables, code, HTML and front matter that such a
            block may be cut before.
        gaps: those of them that follow a blank line.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks: list[Block] = []
        self.rows: list[int] = []
        self.gaps: list[int] = []
        self._root = Block("", 0, 0, -1, "")
        self._open: list[Block] = []  # containers, the outermost first
        self._leaf: Block | None = None
        self._header = (0, 0)  # the last line of an open paragraph, without its containers
        self._after_blank = False
        # The line at hand: its span, the next line, how far it is read. `_spare` are the columns
        # of a tab before `_at` that no container took.
        self._start = self._end = self._next = 0
        self._at = self._column = self._spare = 0
        self._first = self._indent = 0  # the first character behind white space, its columns

    def parse(self) -> None:
        """Find all blocks. Cost: linear in the text."""
        text, length = self.text, len(self.text)
        self._next = self._front_matter()
        while (start := self._next) < length:
            if not self._open and (self._leaf is None or self._leaf.kind == "paragraph"):
                plain = PLAIN_LINES(text, start)
                if plain is not None:
                    self._next = plain.end()
                    leaf = self._leaf or self._new_leaf("paragraph", start, 0)
                    leaf.end, self._header = self._next, plain.span(1)
                    continue
            blank = BLANK_LINES(text, start)
            if blank is not None:
                self._next = blank.end()
                self._blank_lines()
                continue
            self._start = self._at = start
            self._end = LINE(text, start).end()  # type: ignore[union-attr]  # matches always
            self._next = LINE_BREAK(text, self._end).end()  # type: ignore[union-attr]
            self._column = self._spare = 0
            if start == 0 and text[0] == "\ufeff":
                self._at = 1
            self._line()
        self._close(0)

    def _front_matter(self) -> int:
        """Return where the lines of metadata at the beginning end, 0 without them."""
        text = self.text
        opening = re.match(r"\ufeff?(---|\+\+\+)[ \t]*+(?:\r\n?|\n)(?=[ \t]*+[^\s])", text)
        if opening is None:
            return 0
        closings = (opening[1], "...") if opening[1] == "---" else (opening[1],)
        starts: list[int] = []
        start = opening.end()
        while start < len(text):
            end = LINE(text, start).end()  # type: ignore[union-attr]
            after = LINE_BREAK(text, end).end()  # type: ignore[union-attr]
            if text[start : min(end, start + 3)] in closings and not text[start + 3 : end].strip():
                leaf = self._new_leaf("front matter", 0, 0)
                leaf.end = after
                self._verbatim_rows(starts)
                self._leaf = None
                return after
            starts.append(start)
            start = after
        return 0

    def _verbatim_rows(self, starts: list[int]) -> None:
        for start in starts:
            self._verbatim_row(start, BLANK_LINES(self.text, start) is not None)

    def _verbatim_row(self, start: int, blank: bool) -> None:
        """Note that the open leaf may be cut before a line, its first and blank ones apart."""
        assert self._leaf is not None
        if not blank:
            if self._leaf.lines:
                self.rows.append(start)
                if self._after_blank:
                    self.gaps.append(start)
            self._leaf.lines += 1
        self._after_blank = blank

    def _blank_lines(self) -> None:
        """Let blank lines end what they end."""
        open_, leaf = self._open, self._leaf
        matched = 0
        for container in open_:
            # Nothing but the marker and then a blank line: the item is over.
            if container.kind == "quote" or (container.kind == "item" and not container.last):
                break
            matched += 1
        if matched < len(open_):
            self._close(matched)
        elif leaf is not None and (
            leaf.kind in ("paragraph", "table") or (leaf.kind == "html" and leaf.closing is None)
        ):
            self._close_leaf()
        self._after_blank = True

    def _line(self) -> None:
        """Take in a line that is not blank as a whole."""
        matched = self._continue_containers()
        whole = matched == len(self._open)
        if whole and self._leaf is not None and self._continue_verbatim(self._leaf):
            return
        if self._first >= self._end:  # blank behind the markers of its quotes
            self._close(matched)
            self._after_blank = True
            return
        paragraph = self._leaf is not None and self._leaf.kind == "paragraph"
        depth = self._open_containers(matched, paragraph, whole)
        if depth < 0:
            return
        if depth == matched:
            leaf = self._leaf
            if leaf is not None and (paragraph or (whole and leaf.kind == "table")):
                leaf.end = self._next  # also when it is lazy: `paragraph` without its containers
                self._header = (self._first, self._end) if whole and self._indent < 4 else (0, 0)
                if leaf.kind == "table":
                    self._table_row(leaf)
                return
        if self._first < self._end:
            self._add_leaf("paragraph", depth)
            self._header = (self._first, self._end)

    def _measure(self) -> None:
        """Look behind the white space that is next in the line."""
        self._first = WHITE(self.text, self._at).end()  # type: ignore[union-attr]
        width = self._first - self._at
        if width and self.text.find("\t", self._at, self._first) >= 0:
            column = self._column
            for character in self.text[self._at : self._first]:
                column += 4 - column % 4 if character == "\t" else 1
            width = column - self._column
        self._indent = self._spare + width

    def _consume(self, columns: int) -> None:
        """Take columns of white space; a tab may be taken in part."""
        while columns:
            if not self._spare:
                self._spare = 4 - self._column % 4 if self.text[self._at] == "\t" else 1
                self._column += self._spare
                self._at += 1
            taken = min(self._spare, columns)
            self._spare -= taken
            columns -= taken

    def _go_to(self, offset: int) -> None:
        """Go behind a marker that follows the white space."""
        self._column += self._indent - self._spare + offset - self._first
        self._at, self._spare = offset, 0

    def _take_quote_mark(self) -> None:
        self._go_to(self._first + 1)
        if self._at < self._end and self.text[self._at] in " \t":
            self._consume(1)

    def _continue_containers(self) -> int:
        """Return how many of the open containers go on in this line."""
        text = self.text
        self._measure()
        matched = 0
        for container in self._open:
            if container.kind == "quote":
                if self._indent > 3 or self._first >= self._end or text[self._first] != ">":
                    break
                self._take_quote_mark()
                self._measure()
            elif container.kind == "item":
                if self._first >= self._end:
                    if not container.last:
                        break
                elif self._indent < container.width:
                    break
                else:
                    self._consume(container.width)
                    self._measure()
            matched += 1
        return matched

    def _continue_verbatim(self, leaf: Block) -> bool:
        """Add the line to open code or HTML. False: it does not belong there."""
        blank = self._first >= self._end
        if leaf.kind == "html":
            if blank and leaf.closing is None:
                return False
            self._verbatim_row(self._start, blank)
            leaf.end = self._next
            if leaf.closing is not None and leaf.closing.search(self.text, self._at, self._end):
                self._close_leaf()
            return True
        if leaf.kind != "code":
            return False
        if leaf.marker:
            if self._closes_fence(leaf):
                leaf.end = self._next
                self._close_leaf()
                return True
            leaf.end = self._next
        elif blank:
            self._after_blank = True
            return True
        elif self._indent < 4:
            return False
        else:
            leaf.end = self._next
        self._verbatim_row(self._start, blank)
        return True

    def _closes_fence(self, leaf: Block) -> bool:
        if self._indent > 3 or not self.text.startswith(leaf.marker, self._first):
            return False
        rest = self.text[self._first + len(leaf.marker) : self._end]
        return not rest.lstrip(leaf.marker[0]).strip(" \t")

    def _open_containers(self, depth: int, paragraph: bool, whole: bool) -> int:
        """Open the containers that begin in the line, and a leaf that says what it is.

        Returns:
            How many containers the line is in then, -1 when its leaf is found.
        """
        text = self.text
        while depth < MOST_OPEN and self._first < self._end:
            if self._indent >= 4:
                if paragraph:
                    return depth
                self._add_leaf("code", depth).lines = 1
                self._after_blank = False
                return -1
            character = text[self._first]
            if character not in STARTS:
                return depth
            if character == ">":
                depth = self._add_container("quote", depth, "")
                self._take_quote_mark()
                self._measure()
            elif self._begins_leaf(character, depth, paragraph, whole):
                return -1
            else:
                item = ITEM(text, self._first)
                if item is None or (paragraph and whole and not self._may_interrupt(item)):
                    return depth
                depth = self._add_item(item, depth)
            paragraph = whole = False
        return depth

    def _may_interrupt(self, item: re.Match[str]) -> bool:
        """Tell whether a list may begin right below a paragraph's line."""
        if item[1] is not None and int(item[1]) != 1:
            return False
        return not self.text[item.end() : self._end].isspace() and item.end() < self._end

    def _begins_leaf(self, character: str, depth: int, paragraph: bool, whole: bool) -> bool:
        """Add the leaf that the line begins, unless a paragraph or an item."""
        text, first = self.text, self._first
        if paragraph and whole and character in "=-:|" and self._begins_under(first):
            return True
        if character == "#" and (heading := HEADING(text, first)):
            leaf = self._add_leaf("heading", depth)
            leaf.level, leaf.is_hashed = len(heading[1]), True
            leaf.title = WHITE(text, heading.end()).end(), self._end  # type: ignore[union-attr]
            self._close_leaf()
        elif character in "`~" and (fence := FENCE(text, first)):
            self._add_leaf("code", depth).marker = fence[1] or fence[2]
            self._after_blank = False
        elif character == "<" and (html := HTML(text, first)):
            kind = html.lastindex or 0
            if kind == LONE_TAG and paragraph:
                return False
            leaf = self._add_leaf("html", depth)
            leaf.lines, leaf.closing = 1, HTML_ENDS[kind - 1]
            self._after_blank = False
            if leaf.closing is not None and leaf.closing.search(text, first, self._end):
                self._close_leaf()
        elif character in "*-_" and BREAK(text, first):
            self._add_leaf("break", depth)
            self._close_leaf()
        elif character == "[" and not paragraph and DEFINITION(text, first):
            self._add_definition(depth)
        else:
            return False
        return True

    def _begins_under(self, first: int) -> bool:
        """Turn the paragraph above into a table or a heading if the line says so."""
        leaf = self._leaf
        assert leaf is not None
        if DELIMITER_ROW(self.text, first) and self._is_table():
            line_start = self._line_start(leaf)
            if line_start > leaf.start:
                leaf.end = line_start
                leaf = self._add_leaf("table", len(self._open), line_start)
            else:
                leaf.kind = "table"
                self._parent(len(self._open)).last = "table"
            leaf.end, leaf.lines = self._next, 2
            return True
        underline = UNDERLINE(self.text, first)
        if underline is None:
            return False
        leaf.kind, leaf.level = "heading", 1 if underline[1][0] == "=" else 2
        leaf.title, leaf.end = (leaf.start, self._start), self._next
        self._parent(len(self._open)).last = "heading"
        self._close_leaf()
        return True

    def _line_start(self, leaf: Block) -> int:
        """Return where the line of a table's head begins, markers of containers too."""
        before = self.text[leaf.start : self._header[0]]
        return leaf.start + max(before.rfind("\n"), before.rfind("\r")) + 1

    def _is_table(self) -> bool:
        """Tell whether the last line has a cell for each of this line's columns."""
        header = self.text[self._header[0] : self._header[1]].strip(" \t")
        if "|" not in header:
            return False
        columns = self.text[self._first : self._end].strip(" \t").split("|")
        aligned = columns[not columns[0].strip() : len(columns) - (not columns[-1].strip())]
        if not aligned or not all(map(ALIGNMENT, aligned)):
            return False
        cells = len(PIPE.findall(header)) + 1
        cells -= header.startswith("|") + (header.endswith("|") and not header.endswith("\\|"))
        return cells == len(aligned)

    def _table_row(self, table: Block) -> None:
        table.lines += 1
        if table.lines > 3:  # head, delimiters and the first row stay together
            self.rows.append(self._start)

    def _add_definition(self, depth: int) -> None:
        """Add a link reference definition, to the one in the line above if there is one."""
        last = self.blocks[-1] if self.blocks else None
        if last is not None and last.kind == "definition" and last.end == self._start:
            last.end = self._next
        else:
            self._add_leaf("definition", depth)
            self._close_leaf()

    def _add_item(self, item: re.Match[str], depth: int) -> int:
        """Open an item, and its list unless it goes on with the one that is open."""
        marker = self.text[item.end() - 1]
        around = self._open[depth - 1] if depth else None
        if around is None or around.kind != "list" or around.marker != marker:
            depth = self._add_container("list", depth, marker)
        depth = self._add_container("item", depth, "")
        width = self._indent + item.end() - self._first
        self._go_to(item.end())
        self._measure()
        if self._first >= self._end or self._indent > 4:
            width += 1
            if self._first < self._end:
                self._consume(1)
                self._measure()
        else:
            width += self._indent
            self._consume(self._indent)
            self._measure()
        self._open[-1].width = width
        return depth

    def _parent(self, depth: int) -> Block:
        return self._open[depth - 1] if depth else self._root

    def _new_leaf(self, kind: str, start: int, depth: int) -> Block:
        parent = self._parent(depth)
        self._leaf = leaf = Block(kind, start, self._next, depth, parent.last)
        parent.last = kind
        self.blocks.append(leaf)
        return leaf

    def _add_leaf(self, kind: str, depth: int, start: int | None = None) -> Block:
        if depth and self._open[depth - 1].kind == "list":
            depth -= 1  # a list has items only: this ends it
        self._close(depth)
        return self._new_leaf(kind, self._start if start is None else start, depth)

    def _add_container(self, kind: str, depth: int, marker: str) -> int:
        if kind != "item" and depth and self._open[depth - 1].kind == "list":
            depth -= 1
        self._close(depth)
        parent = self._parent(depth)
        container = Block(kind, self._start, self._next, depth, parent.last, marker=marker)
        parent.last = kind
        self._open.append(container)
        self.blocks.append(container)
        return depth + 1

    def _close_leaf(self) -> None:
        if self._leaf is not None:
            parent = self._parent(len(self._open))
            parent.end = max(parent.end, self._leaf.end)
            self._leaf = None

    def _close(self, depth: int) -> None:
        """End the leaf and all containers but the outermost."""
        self._close_leaf()
        while len(self._open) > depth:
            container = self._open.pop()
            parent = self._parent(len(self._open))
            parent.end = max(parent.end, container.end)
