"""What a chunk says of itself, as the metadata that adapters give to its document."""

from typing import Any, Final

from cutline.chunks import Chunk

__all__ = ["chunk_metadata"]

# Offsets of the source: `Structure.metadata`.
_MOVING: Final = frozenset({"continues_from", "continued_to"})


def chunk_metadata(chunk: Chunk, *, with_offsets: bool) -> dict[str, Any]:
    """Return the metadata of a chunk, with its count and content hash, without its headings.

    Args:
        chunk: any chunk.
        with_offsets: include what moves when the text before the chunk is edited. Stores compare
            metadata to find what has changed: with an offset in it, every later chunk has.
    """
    own = {
        key: value for key, value in chunk.metadata.items() if with_offsets or key not in _MOVING
    }
    return {"token_count": chunk.token_count, "content_hash": chunk.content_hash, **own}
