"""Cut texts into chunks that fit a token budget, where they pause. Source: docs/chunking.md."""

from cutline.chunking.chunkers import (
    Chunker,
    CodeChunker,
    MarkdownChunker,
    TextChunker,
    TokenChunker,
)

__all__ = ["Chunker", "CodeChunker", "MarkdownChunker", "TextChunker", "TokenChunker"]
