"""What the kinds of nodes of syntax trees are, by their names, and the titles of definitions."""

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from cutline.kernels.breaks.syntax_rows import (
    ATTRIBUTE,
    BODY,
    DEFINITION,
    DOCSTRING,
    FUNCTION,
    HEAD,
    ITEM,
    LABEL,
    NAMED,
    OPAQUE,
    PARAMETERS,
    PERHAPS_NAMED,
    SEEN_THROUGH,
    SyntaxRows,
)

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["SyntaxRows", "is_opaque", "syntax_rows"]

_MOST_TITLE: Final = 80
_KEYED: Final = "block_mapping_pair"
# A comment of marks alone, as above and below the name of a section.
_RULER = re.compile(r"[^\w\r\n]*+(?=[\r\n]|\Z)(?<=[-=#*/+~]{4})").match
_TITLE_END = re.compile(r"[({=;\r\n]|\\[\r\n]|(?<!:):(?!:)").search
_NAME: Final = (  # an instruction of Docker has "struct" in its name, too
    r"function|class|method|struct|impl|interface|enum|trait|constructor|protocol|extension"
)
# Kinds with such a word in their name that are only parts or uses of definitions.
_IS_PART = re.compile(
    r"(?:^|_)(?:call|expression|type|literal|body|list|clause|block|name|identifier|parameters?|"
    r"arguments?|signature|specifiers|declarations|heritage|invocation|(?<!^table_array_)element|"
    r"reference|variant|forward)$"
    r"|import|package|using|use_|sequence|parameter"
).search
# Not of parts.
_WHOLE_KINDS: Final = {
    NAMED: re.compile(_NAME).search,
    DEFINITION: re.compile(
        rf"{_NAME}|module|namespace|definition|declaration|export|_item$"
        rf"|^table(?:_array_element)?$|^{_KEYED}$"  # of TOML; of YAML
        r"|^(?:message|service|rpc)$"  # of protocol buffers
    ).search,
    FUNCTION: re.compile(r"function|method|constructor|procedure|subroutine").search,
}
_ANY_KINDS: Final = {
    PARAMETERS: re.compile(r"(?:^|_)parameters?(?:_list)?$").search,
    SEEN_THROUGH: re.compile(
        r"namespace|module|mod_item|preproc_if|linkage|package|^declarations$"
    ).search,
    ITEM: re.compile(r"^(?:block_sequence_item|element)$").search,  # of YAML; of XML
    DOCSTRING: re.compile(r"^(?:prefixed_)?string_literal$").search,  # of Julia
    PERHAPS_NAMED: re.compile(r"^(?:block|section|binary_operator)$").search,
    HEAD: re.compile(r"^(?:section|signature)$").search,
    LABEL: re.compile(
        r"comment|haddock|(?:decorator|annotation|modifiers?|access_specifier|selectors)$"
    ).search,
    ATTRIBUTE: re.compile(r"attribute|^unary_operator$").search,  # of Elixir: @doc
    BODY: re.compile(
        r"(?:^|_)(?:block|body|body_statement|suite|statements|compound_statement|statement_list|"
        r"declaration_list|block_node|block_mapping|block_sequence|start_tag|end_tag|ETag|section_name)$"
        r"|opening|closing"
    ).search,
    OPAQUE: re.compile(r"string|comment|haddock|heredoc|section_name").search,
}


class _Kinds(dict[str, int]):
    """The bits of each kind that was met: a grammar has some hundreds of them."""

    def __missing__(self, kind: str) -> int:
        tests = _ANY_KINDS if _IS_PART(kind) else _ANY_KINDS | _WHOLE_KINDS
        bits = self[kind] = sum(bit for bit, test in tests.items() if test(kind))
        return bits


_KINDS: Final = _Kinds()


def is_opaque(kind: str) -> bool:
    """Return whether nodes of a kind are strings or comments, whose parts are no elements."""
    return bool(_KINDS[kind] & OPAQUE)


def syntax_rows(text: str, source: bytes, lines: list[int]) -> SyntaxRows:
    """Make what collects the rows of a tree.

    Args:
        text: the source code.
        source: its bytes, as parsed.
        lines: the offset of each row.
    """
    return SyntaxRows(text, lines, _KINDS, partial(_RULER, text), partial(_title, source))


def _title(source: bytes, node: "Node") -> str:
    """Return the beginning of a definition up to its name, without modifiers."""
    name = node.child_by_field_name("key" if node.type == _KEYED else "name")
    while name is None and (inner := _wrapped(node)) is not None:
        node, name = inner, inner.child_by_field_name("name")
    start = node.start_byte
    for place in range(node.child_count):
        child = node.child(place)
        if child is None or not (_KINDS[child.type] & LABEL or child.type.startswith("attribute")):
            start = start if child is None else child.start_byte
            break
    end = start + 4 * _MOST_TITLE
    if name is not None and start < name.end_byte <= end:
        title = source[start : name.end_byte].decode(errors="replace")
    else:
        title = source[start:end].decode(errors="replace")
        title = title[: found.start()] if (found := _TITLE_END(title)) else title
    return " ".join(title.split())[:_MOST_TITLE]


def _wrapped(node: "Node") -> "Node | None":
    """Return the definition that a node only exports, decorates or the like."""
    if not node.named_children:
        return None
    *before, inner = node.named_children
    is_head = all(_KINDS[child.type] & (LABEL | ATTRIBUTE | PARAMETERS) for child in before)
    return inner if is_head and _KINDS[inner.type] & DEFINITION else None
