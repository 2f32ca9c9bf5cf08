"""Chunkers: cut texts at natural boundaries within a token budget. Source: docs/chunking.md."""

from typing import TYPE_CHECKING, Any

from cutline.chunking.by_name import chunker_for
from cutline.chunking.chunkers import (
    Chunker,
    CodeChunker,
    MarkdownChunker,
    TextChunker,
    TokenChunker,
)

if TYPE_CHECKING:
    from cutline.chunking.code_structure import code_languages

__all__ = [
    "Chunker",
    "CodeChunker",
    "MarkdownChunker",
    "TextChunker",
    "TokenChunker",
    "chunker_for",
    "code_languages",
]


def __getattr__(name: str) -> Any:
    if name != "code_languages":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Most programs chunk no code.
    from cutline.chunking.code_structure import code_languages

    globals()[name] = code_languages
    return code_languages
