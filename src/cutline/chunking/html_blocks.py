"""The blocks of an HTML page, from its tags.

The tags are found as the HTML standard's tokenizer finds them. tree-sitter's grammar for HTML needs
quadratic time on elements without end tags, which are legal and common, so that pages with many
have to be refused; this needs linear time on all pages, and gives code points.
Source: https://html.spec.whatwg.org/multipage/parsing.html
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from html import unescape
from typing import Final, NamedTuple

from cutline.chunking.html_tables import TableHeaders

__all__ = ["MOST_DEPTH", "Heading", "HtmlBlocks"]

MOST_DEPTH: Final = 64
"""Blocks in more containers are ignored; a list and its item are two."""

# A comment, or a tag with its "/", name and ">". Everything unclosed goes on to the end.
_MARKUP: Final = re.compile(
    r"""
    <(?:
      !--(?: -?> | (?: [^-]++ | -(?!-!?>) )*+ (?: --!?> | \Z ) )
    | (/?) ([a-zA-Z][^\t\n\f\r />]*+)
      (?: [\t\n\f\r /]++
        | [^\t\n\f\r />] [^\t\n\f\r />=]*+
          (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+
              (?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) | [^\t\n\f\r >"'][^\t\n\f\r >]*+ | (?=>) )
          )?+
      )*+ (>|\Z)
    | (?: [!?] | /(?![a-zA-Z>]) ) [^>]*+ (?: > | \Z )
    )""",
    re.VERBOSE,
)
_INK: Final = re.compile(r"\S")

_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
# What holds other blocks, with the kinds of regions.
_CONTAINERS: Final = {
    **dict.fromkeys(("dir", "dl", "menu", "ol", "ul"), "list"),
    **{"blockquote": "quote", "listing": "code", "pre": "code", "table": "table"},
}
# An item, or a group of rows, ends these before it.
_ENDED_BY: Final = {
    **{"li": ("li",), "dd": ("dd", "dt"), "dt": ("dd", "dt")},
    **{"tr": ("tr",), "td": ("td", "th"), "th": ("td", "th")},
    **dict.fromkeys(("caption", "tbody", "tfoot", "thead"), ("tr",)),
}
_ROW_GROUPS: Final = frozenset({"caption", "tbody", "tfoot", "thead"})
_IN_TABLE: Final = _ROW_GROUPS | {"table", "td", "th", "tr"}
_ITEMS: Final = frozenset({"dd", "dt", "li"})
_TRANSPARENT: Final = frozenset({
    *("address", "article", "aside", "body", "center", "details", "dialog", "div", "fieldset"),
    *("figcaption", "figure", "footer", "form", "head", "header", "hgroup", "html", "main", "nav"),
    *("search", "section", "summary"),
})  # fmt: skip
# Without blocks inside, up to the first end tag; the browser shows none of the texts.
_MARKUP_NAMES: Final = frozenset({"math", "script", "style", "svg", "template"})
_INLINE_MARKUP: Final = frozenset({"math", "svg"})
_UP_TO_END: Final = frozenset({
    *("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"),
})  # fmt: skip
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\t\n\f\r />])[^>]*+(?:>|\Z)", re.ASCII | re.IGNORECASE)
    for name in _UP_TO_END | _MARKUP_NAMES
}
# Contents that are no text.
_PICTURES: Final = frozenset({
    *("audio", "canvas", "embed", "hr", "img", "input", "object", "video"),
})  # fmt: skip
_BLOCK_STARTS: Final = frozenset(_HEADINGS) | _TRANSPARENT | set(_CONTAINERS) | set(_ENDED_BY)
_STARTS: Final = _BLOCK_STARTS | _PICTURES | {"br", "p"}


class Heading(NamedTuple):
    """A heading that opens a section: where its cut lies, 1 to 6, and its plain text."""

    start: int
    level: int
    title: str


@dataclass(slots=True)
class _Element:
    """An open element.

    Attributes:
        name: in lower case.
        start: where its tag begins, or that of the headings right before.
        tag_start: where its tag begins; of a heading at the top, with the tags like `div` before.
        depth: the number of containers and items around it.
        scope: the place among the open elements of the innermost container or cell.
        is_block: whether it is a unit, if it holds no blocks or may hold some.
        has_blocks: whether blocks in it have ended.
    """

    name: str
    start: int
    tag_start: int
    depth: int
    scope: int
    is_block: bool
    has_blocks: bool = False


class HtmlBlocks:
    """Finds the blocks of one page.

    Args:
        text: the source.

    Attributes:
        cuts: where blocks begin: those at the top, those one container down, those below.
        units: spans to keep whole.
        regions: (start, end, kind).
        headings: groups of headings that follow each other directly.
        tables: the headers of tables.
    """

    def __init__(self, text: str) -> None:
        self.cuts: tuple[list[int], list[int], list[int]] = ([], [], [])
        self.units: list[tuple[int, int]] = []
        self.regions: list[tuple[int, int, str]] = []
        self.headings: list[list[Heading]] = []
        self.tables = TableHeaders(text)
        self._text = text
        self._open: list[_Element] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)  # of the open elements
        self._endless: set[str] = set()  # names of elements without an end tag from here on
        self._leaf = -1  # place of the open paragraph or heading
        self._title: list[str] | None = None  # the texts of the open heading
        self._transparent: _Element | None = None  # nothing but its tag was read of this one
        self._lead = -1  # where the tags like `div` begin after which nothing was read
        # Nothing was read since the tag of a container or item, or since headings...
        self._is_first = False
        self._headed = -1  # ... at the top, which begin here

    def read(self) -> None:
        """Find all blocks. Cost: linear in the text."""
        text, end = self._text, 0
        while found := _MARKUP.search(text, end):
            start = found.start()
            if end < start:
                self._read_text(end, start)
            end = found.end()
            name = found[2]
            if name is None or not found[3]:
                continue  # browsers ignore a tag that does not end
            # Only ASCII has case here: no Kelvin sign for a k.
            name = name.lower() if name.isascii() else name
            if found[1]:
                self._end_tag(name, start, end)
            elif name in _RAW:
                end = self._raw(name, start, end)
            elif name in _STARTS:
                self._start_tag(name, start, end)
        self._read_text(end, len(text))
        self._close(0, len(text), len(text))

    def _read_text(self, start: int, end: int) -> None:
        if self._title is not None:
            self._title.append(unescape(self._text[start:end]))
        elif self._is_first or self._transparent:
            ink = _INK.search(self._text, start, end)
            if ink:
                self._content(ink.start(), ink.end())

    def _content(self, start: int, end: int) -> None:
        """Take text or a picture, which makes a block of a `div` that begins with it."""
        element = self._transparent
        if element is not None:
            element.is_block = True
            element.start = self._begin(element.start, end, element.depth)
            self._transparent = None
        elif self._title is None:
            self._join_headings(end)

    def _begin(self, start: int, end: int, depth: int) -> int:
        """Begin a block; `end` is that of its tag. Returns where it or its headings begin."""
        start = self._with_lead(start)
        if not self._is_first and depth <= MOST_DEPTH:
            self.cuts[min(depth, 2)].append(start)
        headed = self._headed
        self._join_headings(end)
        return headed if headed >= 0 else start

    def _with_lead(self, start: int) -> int:
        """Return where a block begins, with the tags like `div` right before its own."""
        lead, self._lead = self._lead, -1
        return lead if lead >= 0 else start

    def _join_headings(self, end: int) -> None:
        """Never cut right after headings, even where what follows is too large."""
        if self._headed >= 0:
            self.units.append((self._headed, end))
        self._is_first, self._headed = False, -1

    def _start_tag(self, name: str, start: int, end: int) -> None:
        if name == "br" or (self._title is not None and name in _TRANSPARENT):
            if self._title is not None:
                self._title.append(" ")
            if name == "br":
                return
        if name in _PICTURES and name != "hr":
            self._content(start, end)
            return
        self._end_implied(name, start)
        if name in _IN_TABLE:
            self.tables.start_tag(name, start)
        self._transparent = None
        depth = self._depth()
        if name in _TRANSPARENT:
            self._push(name, start, start, depth, is_block=False)
            if self._title is None:
                self._transparent = self._open[-1]
                self._lead = self._with_lead(start)
        elif name in _HEADINGS:
            self._start_heading(name, start, end, depth)
        elif name not in _ROW_GROUPS:
            begin = self._begin(start, end, depth)
            if name == "hr":
                return
            self._push(name, begin, start, depth, is_block=True)
            if name == "p":
                self._leaf = len(self._open) - 1
            else:
                self._is_first = True

    def _start_heading(self, name: str, start: int, end: int, depth: int) -> None:
        if depth:
            begin = self._begin(start, end, depth)
        else:
            start = self._with_lead(start)
            begin = self._headed if self._headed >= 0 else start
            if begin == start:
                self.headings.append([])
        self._push(name, begin, start, depth, is_block=False)
        self._leaf, self._title = len(self._open) - 1, []

    def _end_implied(self, name: str, start: int) -> None:
        """Close the elements that a tag closes."""
        if self._leaf >= 0 and not (name in _TRANSPARENT and self._title is not None):
            self._close(self._leaf, start, start)
        for other in _ENDED_BY.get(name, ()):
            places = self._places[other]
            if places and places[-1] > self._barrier(name):
                self._close(places[-1], start, start)

    def _end_tag(self, name: str, start: int, end: int) -> None:
        if name in _HEADINGS:
            if self._title is not None:
                self._close(self._leaf, start, end)
        elif name in _ROW_GROUPS:
            self._end_implied(name, start)
            # The head of a table and its caption stay with the first row.
            self._is_first = self._is_first or name in ("caption", "thead")
            if name == "thead":
                self.tables.end_thead()
        elif (places := self._places.get(name)) and places[-1] > self._barrier(name):
            self._close(places[-1], start, end)

    def _barrier(self, name: str) -> int:
        """Return the place of the open element that a tag cannot close anything around."""
        if name in _IN_TABLE:
            tables = self._places["table"]
            return tables[-1] if tables and name != "table" else -1
        if name in _ITEMS and self._open:
            return self._open[-1].scope
        cells = (*self._places["td"][-1:], *self._places["th"][-1:])
        return max(cells, default=-1)

    def _raw(self, name: str, start: int, end: int) -> int:
        """Take an element without blocks in it. Returns its end."""
        text = self._text
        if name in _UP_TO_END or text[end - 2] != "/":
            found = self._raw_end(name, end)
            if found < 0:
                return end
            end = found
        if name in _MARKUP_NAMES:
            if name in _INLINE_MARKUP:
                self._content(start, end)
            elif self._leaf < 0:
                self._transparent = None
                if not self._is_first:
                    self._begin(start, end, self._depth())
            self.units.append((start, end))
            self.regions.append((start, end, "markup"))
        self._lead = -1
        return end

    def _raw_end(self, name: str, at: int) -> int:
        """Return the end of an element without blocks; -1 if it has none, and it is its tag."""
        if name in self._endless:
            return -1
        found = _RAW[name].search(self._text, at)
        if found:
            return found.end()
        if name in _UP_TO_END:
            return len(self._text)
        self._endless.add(name)
        return -1

    def _depth(self) -> int:
        """Return the number of open containers and items."""
        if not self._open:
            return 0
        last = self._open[-1]
        return last.depth + (last.name in _CONTAINERS or last.name in _ENDED_BY)

    def _push(self, name: str, start: int, tag_start: int, depth: int, *, is_block: bool) -> None:
        place = len(self._open)
        scopes = name in _CONTAINERS or name in ("td", "th")
        scope = place if scopes else self._open[-1].scope if self._open else -1
        self._open.append(_Element(name, start, tag_start, depth, scope, is_block))
        self._places[name].append(place)

    def _close(self, place: int, inner_end: int, end: int) -> None:
        """Close the element at a place, and all that are open in it."""
        while len(self._open) > place:
            element = self._open.pop()
            self._places[element.name].pop()
            if len(self._open) == self._leaf:
                self._leaf = -1
            self._closed(element, end if len(self._open) == place else inner_end)
            if self._open and (element.is_block or element.has_blocks):
                self._open[-1].has_blocks = True

    def _closed(self, element: _Element, end: int) -> None:
        self._transparent, self._lead = None, -1
        name = element.name
        if name in _HEADINGS:
            self._closed_heading(element)
            return
        if name == "table":
            self.tables.end_table(end)
        if name in _CONTAINERS or name in _ENDED_BY:
            self._is_first, self._headed = False, -1
        if element.depth > MOST_DEPTH or not element.is_block:
            return
        if not (name in _TRANSPARENT and element.has_blocks):
            self.units.append((element.start, end))
        if name in _CONTAINERS:
            self.regions.append((element.tag_start, end, _CONTAINERS[name]))

    def _closed_heading(self, element: _Element) -> None:
        assert self._title is not None
        element.has_blocks = True  # no `div` around it is a unit
        if not element.depth:
            title = " ".join("".join(self._title).replace("\0", "\ufffd").split())
            self.headings[-1].append(Heading(element.tag_start, _HEADINGS[element.name], title))
            self._headed = element.start
        self._title, self._is_first = None, True
