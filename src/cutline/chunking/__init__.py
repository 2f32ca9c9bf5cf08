"""Chunkers: cut texts at natural boundaries within a token budget. Source: docs/chunking.md."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cutline.chunking.by_name import chunker_for
from cutline.chunking.chunker import Chunker
from cutline.chunking.chunkers import TextChunker, TokenChunker
from cutline.chunking.document_chunkers import CodeChunker, DataChunker, MarkdownChunker

if TYPE_CHECKING:
    from cutline.chunking.boundary_places import boundaries
    from cutline.chunking.code_structure import code_languages
    from cutline.chunking.hierarchy import HierarchicalChunker, Node
    from cutline.chunking.notebook import notebook_text

__all__ = [
    "Chunker",
    "CodeChunker",
    "DataChunker",
    "HierarchicalChunker",
    "MarkdownChunker",
    "Node",
    "TextChunker",
    "TokenChunker",
    "boundaries",
    "chunker_for",
    "code_languages",
    "notebook_text",
]

# Few programs need these.
_LATE = {
    "HierarchicalChunker": "hierarchy",
    "Node": "hierarchy",
    "boundaries": "boundary_places",
    "code_languages": "code_structure",
    "notebook_text": "notebook",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    globals()[name] = found
    return found
