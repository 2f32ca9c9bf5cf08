"""`Chunk`: a slice of a text with its offsets and token count; checks of chunk sizes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import index
from typing import Any, SupportsIndex

from cutline.errors import BudgetError

__all__ = ["Chunk", "checked_sizes", "content_hash", "too_large"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a text that fits a token budget.

    Attributes:
        text: `source[start_index:end_index]`.
        start_index: its start in the source, in code points.
        end_index: its end.
        token_count: the number of tokens that `text` encodes to on its own.
        index: 0 for the first chunk of the source.
        headings: the headings above it, the outermost first.
        metadata: further data from the chunker; "boundary" names the kind of boundary at its end.
    """

    text: str
    start_index: int
    end_index: int
    token_count: int
    index: int
    headings: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def content_hash(self) -> str:
        """A 128-bit hash of text and headings in hex, independent of position.

        >>> Chunk("one", 0, 3, 1, 0).content_hash == Chunk("one", 8, 11, 1, 5).content_hash
        True
        """
        return content_hash(self.text.encode(), self.headings)


def content_hash(utf8: bytes, headings: Iterable[str]) -> str:
    """Return the hash of a chunk with this text, as UTF-8, and these headings."""
    digest = blake2b(digest_size=16)
    for part in (utf8, *map(str.encode, headings)):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def checked_sizes(chunk_size: int, chunk_overlap: int) -> tuple[int, int]:
    """Return the sizes as int.

    Raises:
        TypeError: one is no integer.
        ValueError: chunk_size is below 1, or chunk_overlap is not from 0 to below it.
    """
    chunk_size = _integer("chunk_size", chunk_size)
    chunk_overlap = _integer("chunk_overlap", chunk_overlap)
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be 1 or more tokens, got {chunk_size}")
    if not 0 <= chunk_overlap < chunk_size:
        raise ValueError(
            f"chunk_overlap must be 0 or more and less than chunk_size ({chunk_size}), "
            f"got {chunk_overlap}"
        )
    return chunk_size, chunk_overlap


def _integer(name: str, value: SupportsIndex) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None


def too_large(
    character: str, offset: int, tokens: int, chunk_size: int, least: int | None
) -> BudgetError:
    """Build the error for a character that fits no chunk.

    Args:
        character: the character.
        offset: its offset.
        tokens: its number of tokens on its own.
        chunk_size: the requested chunk size.
        least: the smallest size that fits any character; None if that is not known.
    """
    hint = f"a chunk_size of {least} fits any character"
    return BudgetError(
        f"character {character!r} at offset {offset} has {tokens} tokens on its own, more than "
        f"chunk_size={chunk_size}; {hint if least else f'it takes a chunk_size of {tokens}'}"
    )
