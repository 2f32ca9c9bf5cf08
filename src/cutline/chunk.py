"""`Chunk`: a piece of a text with its place in it and its number of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

__all__ = ["Chunk"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a text that fits a token budget.

    Attributes:
        text: `source[start_index:end_index]`.
        start_index: where it begins in the source, in code points.
        end_index: where it ends.
        token_count: the tokens that `text` encodes to on its own.
        index: 0 for the first chunk of the source.
        headings: the titles that it stands under, the outermost first.
        metadata: what else the chunker knows; "boundary" tells what it was cut at.
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
        """128 bits in hexadecimal digits that tell the text and its headings, wherever they stand.

        >>> Chunk("one", 0, 3, 1, 0).content_hash == Chunk("one", 8, 11, 1, 5).content_hash
        True
        """
        digest = blake2b(digest_size=16)
        for part in (self.text, *self.headings):
            encoded = part.encode()
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return digest.hexdigest()
