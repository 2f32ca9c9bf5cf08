"""Long lines, as minified scripts and dumps have them, broken as a formatter breaks them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from cutline.chunking.code_repair import Code
from cutline.chunking.syntax_rows import is_opaque

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

__all__ = ["broken"]

# Bytes of a line that is broken, and of a node whose elements get a line each.
_LONG = re.compile(rb"[^\n]{201,}")
_WIDE: Final = 80
_BLANKS: Final = b" \t"
_SIGNS: Final = frozenset(b";,{}([>")


def broken(code: Code) -> Code:
    """Begin a row before the elements of what is wide, where a line is long.

    Returns:
        The code with a line end before each such element in `source`, and its offset in `lines`;
        the same object if there is none, if most of it is an error, or if it no longer parses
        then: in YAML, what begins at the margin ends a mapping.

    Cost: linear: such code is parsed twice more, other text once. One tree is held at a time.
    """
    if _LONG.search(code.source) is None or (tree := code.parse(code.source)) is None:
        return code
    if tree.root_node.has_error and _is_mostly_wrong(tree.root_node):
        return code
    places, had_error = [*_elements(tree, code.source)], tree.root_node.has_error
    del tree
    if not places:
        return code
    parts = [code.source[start:end] for start, end in pairwise((0, *places, len(code.source)))]
    offsets = accumulate(len(part.decode()) for part in parts[:-1])
    more = replace(code, source=b"\n".join(parts), lines=sorted((*code.lines, *offsets)))
    tree_then = code.parse(more.source)
    is_parsed = tree_then is not None and tree_then.root_node.has_error <= had_error
    return more if is_parsed else code


def _is_mostly_wrong(root: "Node") -> bool:
    """Whether an error takes up more than half of a source, as in text of another language."""
    most = (root.end_byte - root.start_byte) // 2
    return root.is_error or any(
        one.is_error and one.end_byte - one.start_byte > most for one in root.children
    )


def _elements(tree: "Tree", source: bytes) -> Iterator[int]:
    """Yield the offsets in bytes of the elements that begin a row, ascending."""
    spans = _LONG.finditer(source)
    start = end = asked = 0
    cursor = tree.walk()
    while True:
        node = cursor.node
        assert node is not None
        at = node.start_byte
        while end <= at:
            found = next(spans, None)
            if found is None:
                return
            start, end = found.span()
        if asked != at > start and node.is_named and cursor.field_name is None:
            asked = at
            if _begins_element(source, start, at):
                yield at
        is_wide = node.end_byte - at > _WIDE and not is_opaque(node.type)
        if is_wide and node.end_byte > start and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _begins_element(source: bytes, start: int, at: int) -> bool:
    """Whether a place comes after a sign that parts elements, and blanks, in a line."""
    before = at - 1
    while before > start and source[before] in _BLANKS:
        before -= 1
    return source[before] in _SIGNS
