"""`TokenCounter`: what chunkers, budgets and `verify` ask of whatever counts tokens.

`Encoding` answers from tables, `WrappedTokenizer` by encoding again. There is no other list of
what a tokenizer has to be able to do, and no other place that decides what is one.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from cutline.chunks import Chunk

__all__ = ["GrowsAtEnd", "GrowsAtStart", "SliceCounter", "TokenCounter"]


class SliceCounter(Protocol):
    """Counts slices of one text, as an `IntervalCounter` does."""

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice."""

    def count_many(self, spans: Sequence[tuple[int, int]]) -> Iterable[int]:
        """Count the tokens of many slices."""

    def split_at(self, start: int, n: int) -> int:
        """Find the greatest end within n tokens."""


class GrowsAtEnd(Protocol):
    """A text that grows at its end, as an `Appender` does."""

    def append(self, text: str, /) -> None:
        """Put more to its end."""

    def truncate(self, length: int) -> None:
        """Keep its first characters."""

    def fits(self, text: str, max_tokens: int, /) -> bool:
        """Tell whether it would have at most so many tokens with more at its end."""


class GrowsAtStart(Protocol):
    """A text that grows at its beginning, as a `Prepender` does."""

    def prepend(self, text: str, /) -> None:
        """Put more before it."""

    def truncate(self, length: int) -> None:
        """Keep its last characters."""

    def fits(self, text: str, max_tokens: int, /) -> bool:
        """Tell whether it would have at most so many tokens with more before it."""


@runtime_checkable
class TokenCounter(Protocol):
    """Counts and cuts texts by tokens; see `Encoding` for what each method promises.

    >>> import cutline
    >>> isinstance(cutline.get_encoding("o200k_base"), TokenCounter)
    True
    """

    @property
    def name(self) -> str:
        """What it is called."""

    def count(self, text: str, /) -> int:
        """Count the tokens of a text on its own."""

    def count_till_limit(self, text: str, limit: int, /) -> int | None:
        """Count them, or return None if they are more than `limit`."""

    def split_at(self, text: str, n: int, start: int = 0) -> int:
        """Find an end such that `text[start:end]` has at most n tokens, the greatest known."""

    def split(self, text: str, chunk_size: int, chunk_overlap: int = 0) -> list[Chunk]:
        """Cut a text into chunks as long as the budget allows."""

    def intervals(self, text: str) -> SliceCounter:
        """Return what counts slices of a text."""

    def appender(self, text: str = "") -> GrowsAtEnd:
        """Begin a text that grows at its end."""

    def prepender(self, text: str = "") -> GrowsAtStart:
        """Begin a text that grows at its beginning."""

    def _max_bytes_of(self, n: int, /) -> int | None:
        """Tell how far `split_at` may go with n tokens, in bytes or less; None: without end."""
