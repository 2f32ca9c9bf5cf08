"""`Chunk`: a piece of a text with its place in it and its number of tokens."""

from dataclasses import dataclass

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
    """

    text: str
    start_index: int
    end_index: int
    token_count: int
    index: int
