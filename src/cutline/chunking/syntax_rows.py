"""A walk through a syntax tree that collects cuts and spans as rows.

Only nodes of several lines are entered, with a cursor, so that neither a deep tree nor a long
line costs more than its nodes. Only row numbers are collected: columns only show whether a node
is the first on its line.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

__all__ = ["SyntaxRows"]

MOST_DEEP: Final = 200
"""Nodes nested deeper than this are ignored."""

_STATEMENT: Final = 2
_UNCUT: Final = 1 << 20
_MOST_TITLE: Final = 80
_LEADING = re.compile(r"[ \t\f\v]*+").match
# A comment of marks alone, as above and below the name of a section.
_RULER = re.compile(r"[^\w\r\n]*+(?=[\r\n]|\Z)(?<=[-=#*/+~]{4})").match
_TITLE_END = re.compile(r"[({=;\r\n]|(?<!:):(?!:)").search
_NAME: Final = (
    r"function|class|method|struct|impl|interface|enum|trait|constructor|protocol|extension"
)


def _test_of(pattern: str) -> Callable[[str], bool]:
    """Make a cached test of nodes' kinds: a grammar has some hundreds of them."""
    search = re.compile(pattern).search
    return cache(lambda kind: search(kind) is not None)


_IS_NAMED = _test_of(_NAME)
_IS_DEFINITION = _test_of(rf"{_NAME}|module|namespace|definition|declaration|export|_item$")
# Kinds with such a word in their name that are only parts or uses of definitions.
_IS_PART = _test_of(
    r"(?:^|_)(?:call|expression|type|literal|body|list|clause|block|name|identifier|parameters?|"
    r"arguments?|signature|specifiers|heritage|invocation|element|reference|variant|forward)$"
    r"|import|package|using|use_|sequence|parameter"
)
_IS_PARAMETERS = _test_of(r"(?:^|_)parameters?(?:_list)?$")
_IS_FUNCTION = _test_of(r"function|method|constructor|procedure|subroutine")
_IS_SEEN_THROUGH = _test_of(r"namespace|module|mod_item|preproc_if|linkage|package|^document$")
# Nodes that belong to the next sibling, or are no element of their own.
_IS_LABEL = _test_of(r"comment|(?:decorator|annotation|modifiers?|access_specifier|selectors)$")
_ATTRIBUTE_MARKS: Final = "@#["
_IS_BODY = _test_of(
    r"(?:^|_)(?:block|body|body_statement|suite|statements|compound_statement|statement_list|declaration_list|"
    r"block_node|block_mapping|block_sequence|start_tag|end_tag)$|opening|closing"
)
_IS_OPAQUE = _test_of(r"string|comment|heredoc")


@dataclass(slots=True)
class _Siblings:
    """The children of a node that were visited so far.

    Attributes:
        depth: the depth of cuts between them.
        is_definition, in_function: whether the node is a definition, or inside a function.
        count: the number of its named children.
    """

    depth: int
    is_definition: bool
    in_function: bool
    count: int
    kind: str = ""  # the last child that begins a line
    field: str | None = None
    first: int = -1  # its rows
    last: int = -1
    is_unit: bool = False
    label: int = -1  # first row of the comments or decorators above the next child
    label_end: int = -1


class SyntaxRows:
    """Collects rows.

    Args:
        text: the source code.
        source: its bytes, as parsed.
        lines: the offset of each row.

    Attributes:
        cuts: (row, depth): the text may be cut before that row.
        units: the first and last rows of definitions, with the comments above.
        titles: the same with their short first lines, outer before inner.
        regions: the first and last rows of definitions, comments and strings, with their kinds.
    """

    def __init__(self, text: str, source: bytes, lines: list[int]) -> None:
        self._text = text
        self._source = source
        self._lines = lines
        self.cuts: list[tuple[int, int]] = []
        self.units: list[tuple[int, int]] = []
        self.titles: list[tuple[int, int, str]] = []
        self.regions: list[tuple[int, int, str]] = []
        self._joined: set[int] = set()  # rows that belong to the row above
        self._label_rows: set[int] = set()
        self._span_ends: list[int] = []  # the last rows of the spans that are open, outer first
        self._row, self._indent = -1, 0  # the current line

    def collect(self, tree: "Tree") -> None:
        """Walk the tree. Cost: linear in the nodes whose parent has several lines."""
        cursor = tree.walk()
        root = tree.root_node
        levels = [_Siblings(0, False, False, root.named_child_count)]
        if not cursor.goto_first_child():
            return
        while levels:
            node = cursor.node
            assert node is not None
            inner = self._child(levels[-1], node, cursor.field_name) if node.is_named else None
            if inner is not None and len(levels) < MOST_DEEP and cursor.goto_first_child():
                levels.append(inner)
                continue
            while not cursor.goto_next_sibling():
                self._cut_before_label(levels.pop())
                if not levels:
                    return
                cursor.goto_parent()

    def plain_lines(self) -> Iterator[int]:
        """Yield the beginnings of the other lines at which a text may be cut."""
        text, length = self._text, len(self._text)
        for row, start in enumerate(self._lines):
            first = _LEADING(text, start).end()  # type: ignore[union-attr]  # matches always
            if first < length and row not in self._joined and text[first] not in "\r\n)]}":
                yield start

    def _child(self, level: _Siblings, node: "Node", field: str | None) -> _Siblings | None:
        """Process a child of a node. Returns the level of its own children if they matter."""
        (first, column), (last, end_column) = node.start_point, node.end_point
        if end_column == 0 and last > first:
            last -= 1
        # On broken code, some grammars report rows past the last line.
        first, last = min(first, len(self._lines) - 1), min(last, len(self._lines) - 1)
        kind = node.type
        begins = self._begins_line(first, column)
        if self._is_label(kind, begins):
            if begins:
                self._take_label(level, first, last)
            if last > first:
                self._take_opaque(first, last, kind)
            return None
        is_element = begins and not _IS_BODY(kind)
        is_definition = is_element and self._take_element(level, node, field, first, last)
        if begins and not is_element:
            self._joined.add(first)
        if last == first:
            return None
        if _IS_OPAQUE(kind):
            self._take_opaque(first, last, kind)
            return None
        return self._inside(level, node, is_definition, is_element)

    def _inside(
        self, level: _Siblings, node: "Node", is_definition: bool, is_element: bool
    ) -> _Siblings:
        kind, depth = node.type, level.depth
        in_function = level.in_function or (_IS_FUNCTION(kind) and not _IS_PART(kind))
        is_one_of_many = is_element and level.count > 1 and not level.is_definition
        if (is_definition or is_one_of_many) and not _IS_SEEN_THROUGH(kind):
            depth += 1
        if in_function:
            depth = max(depth, _STATEMENT)
        if in_function and _IS_PARAMETERS(kind):
            depth = _UNCUT  # never prefer a cut inside a signature
        wraps = is_definition or (level.is_definition and not _IS_BODY(kind))
        return _Siblings(depth, wraps, in_function, node.named_child_count)

    def _begins_line(self, row: int, column: int) -> bool:
        if row != self._row:
            start = self._lines[row]
            self._row = row
            self._indent = _LEADING(self._text, start).end() - start  # type: ignore[union-attr]
        return column == self._indent

    def _is_label(self, kind: str, begins: bool) -> bool:
        if _IS_LABEL(kind):
            return True
        if not begins or "attribute" not in kind:
            return False
        # In some grammars, "attribute" is the target of an assignment.
        return self._text[self._lines[self._row] + self._indent] in _ATTRIBUTE_MARKS

    def _take_label(self, level: _Siblings, first: int, last: int) -> None:
        if self._is_apart(level, first):
            self._cut_before_label(level)
        if level.label < 0:
            level.label = first
        level.label_end = last
        self._label_rows.update(range(first, last + 1))
        self._joined.update(range(first + 1, last + 2))

    def _is_apart(self, level: _Siblings, first: int) -> bool:
        """Tell whether blank lines part comments from what follows; a ruler heads a section."""
        if level.label < 0 or level.label_end + 1 >= first:
            return False
        return _RULER(self._text, self._lines[level.label_end]) is None

    def _cut_before_label(self, level: _Siblings) -> None:
        """Treat a comment as an element of its own: nothing follows it directly."""
        if level.label >= 0:
            if level.first >= 0:
                self._cut(level, level.label, level.label_end)
            level.first, level.last = level.label, level.label_end
            level.kind, level.field, level.is_unit, level.label = "comment", None, False, -1

    def _cut(self, level: _Siblings, first: int, last: int) -> None:
        """Record a cut between the last child and the rows of the next."""
        if level.depth >= _UNCUT:
            return
        is_group = first <= level.last + 1 and first == last and level.first == level.last
        self.cuts.append((first, max(level.depth, _STATEMENT) if is_group else level.depth))

    def _take_element(
        self, level: _Siblings, node: "Node", field: str | None, first: int, last: int
    ) -> bool:
        """Process a child that begins a line. Returns whether it is a multi-line definition."""
        kind = node.type
        if self._is_apart(level, first):
            self._cut_before_label(level)
        start = first
        if level.label >= 0:
            start, level.label = level.label, -1
        elif not level.is_unit:  # some grammars attach trailing comments to the node before
            while start - 1 in self._label_rows and start - 1 > level.first >= 0:
                start -= 1
        if level.first < 0:
            self._joined.add(start)  # keep the first row of a body with its header
        is_alike = kind == level.kind or (field is not None and field == level.field)
        if level.first >= 0 and (is_alike or (field is None and not level.is_definition)):
            self._cut(level, start, last)
        level.kind, level.field, level.first, level.last = kind, field, first, last
        level.is_unit = (
            last > first and not level.is_definition and _defines(kind, level.in_function)
        )
        if level.is_unit:
            start = self._claim(start, last)
            self.units.append((start, last))
            self.titles.append((start, last, self._title(node)))
            self.regions.append((start, last, kind))
        return level.is_unit

    def _take_opaque(self, first: int, last: int, kind: str) -> None:
        self._joined.update(range(first + 1, last + 1))
        self.regions.append((self._claim(first, last), last, kind))

    def _claim(self, first: int, last: int) -> int:
        """Open a span. Returns its first row, moved past open spans that end inside it."""
        ends = self._span_ends
        while ends and (ends[-1] < first or ends[-1] < last):
            first = max(first, ends.pop() + 1)
        ends.append(last)
        return first

    def _title(self, node: "Node") -> str:
        """Return the beginning of a definition up to its name, without modifiers."""
        name = node.child_by_field_name("name")
        while name is None and node.named_child_count:
            inner = node.named_child(node.named_child_count - 1)
            if inner is None or not _defines(inner.type, False):
                break
            node, name = inner, inner.child_by_field_name("name")
        start = node.start_byte
        for place in range(node.child_count):
            child = node.child(place)
            if child is None or not (_IS_LABEL(child.type) or child.type.startswith("attribute")):
                start = start if child is None else child.start_byte
                break
        end = start + 4 * _MOST_TITLE
        if name is not None and start < name.end_byte <= end:
            title = self._source[start : name.end_byte].decode(errors="replace")
        else:
            title = self._source[start:end].decode(errors="replace")
            title = title[: found.start()] if (found := _TITLE_END(title)) else title
        return " ".join(title.split())[:_MOST_TITLE]


def _defines(kind: str, in_function: bool) -> bool:
    if _IS_PART(kind):
        return False
    return _IS_NAMED(kind) if in_function else _IS_DEFINITION(kind)
