"""Chunkers: cut texts at natural boundaries within a token budget. Source: docs/chunking.md."""

from cutline.chunking.chunkers import (
    Chunker,
    CodeChunker,
    MarkdownChunker,
    TextChunker,
    TokenChunker,
)
from cutline.chunking.code_structure import code_languages

__all__ = [
    "Chunker",
    "CodeChunker",
    "MarkdownChunker",
    "TextChunker",
    "TokenChunker",
    "code_languages",
]
