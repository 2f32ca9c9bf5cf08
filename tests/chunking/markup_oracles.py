"""Titles: of reStructuredText by docutils, of Org by orgparse, of LaTeX by tree-sitter."""

from typing import Any

import pytest

Titles = list[tuple[int, str]]
LATEX_SECTIONS = (
    "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph",
)  # fmt: skip


def rst_titles(text: str) -> Titles | None:
    """Titles by docutils; None if it leaves out what it finds fault with."""
    pytest.importorskip("docutils")
    from docutils import nodes
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    settings.report_level, settings.halt_level = 5, 6
    document = new_document("text", settings)
    Parser().parse(text, document)
    faults = [one.astext() for one in document.findall(nodes.system_message)]
    if any(
        word in fault for fault in faults for word in ("nconsistent", "line", "marker", "table")
    ):
        return None
    found: Titles = []

    def walk(node: Any, level: int) -> None:
        for child in node.children:
            inner = level + isinstance(child, nodes.section)
            if inner > level:
                found.append((inner, child.children[0].astext()))
            walk(child, inner)

    walk(document, 0)
    return found


def org_titles(text: str) -> Titles:
    orgparse = pytest.importorskip("orgparse")
    return [(node.level, node.get_heading("plain").strip()) for node in orgparse.loads(text)[1:]]


def latex_titles(text: str) -> list[tuple[str, str]] | None:
    """Commands and the sources of their arguments; None if the grammar finds fault with a text."""
    pack = pytest.importorskip("tree_sitter_language_pack")
    root = pack.get_parser("latex").parse(text.encode()).root_node
    if root.has_error:
        return None
    found: list[tuple[str, str]] = []

    def walk(node: Any) -> None:
        if node.type in LATEX_SECTIONS and (title := node.child_by_field_name("text")) is not None:
            found.append((node.type, title.text.decode()[1:-1]))
        for child in node.children:
            walk(child)

    walk(root)
    return found
