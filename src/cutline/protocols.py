"""`TokenCounter`: the interface that chunkers, budgets and `verify` need from a tokenizer.

`Encoding` implements it with tables, `WrappedTokenizer` by encoding slices. It is defined
only here, and nothing else decides what a token counter is.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

from cutline.chunks import Chunk

__all__ = ["GrowsAtEnd", "GrowsAtStart", "LimitsFrom", "SliceCounter", "TokenCounter"]

LimitsFrom = Callable[[int], Sequence[tuple[int, int]] | None]
"""From the start of a slice to some limits: the most of each, and from which end on it holds."""


class SliceCounter(Protocol):
    """Counts slices of one text, as an `IntervalCounter` does."""

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice."""

    def count_many(self, spans: Sequence[tuple[int, int]]) -> Iterable[int]:
        """Count the tokens of many slices."""

    def split_at(self, start: int, n: int) -> int:
        """Find the greatest end whose slice has at most n tokens."""


class GrowsAtEnd(Protocol):
    """A text that grows at its end, as an `Appender` does."""

    def append(self, text: str, /) -> None:
        """Add text at the end."""

    def truncate(self, length: int) -> None:
        """Keep the first `length` characters."""

    def fits(self, text: str, max_tokens: int, /) -> bool:
        """Return whether it would have at most `max_tokens` tokens after `append(text)`."""


class GrowsAtStart(Protocol):
    """A text that grows at its beginning, as a `Prepender` does."""

    def prepend(self, text: str, /) -> None:
        """Add text at the beginning."""

    def truncate(self, length: int) -> None:
        """Keep the last `length` characters."""

    def fits(self, text: str, max_tokens: int, /) -> bool:
        """Return whether it would have at most `max_tokens` tokens after `prepend(text)`."""


@runtime_checkable
class TokenCounter(Protocol):
    """Counts and cuts texts by tokens; see `Encoding` for what each method promises.

    >>> import cutline
    >>> isinstance(cutline.get_encoding("o200k_base"), TokenCounter)
    True
    """

    @property
    def name(self) -> str:
        """Its name."""

    def count(self, text: str, /) -> int:
        """Count the tokens of a text on its own."""

    def count_till_limit(self, text: str, limit: int, /) -> int | None:
        """Count the tokens, or return None if there are more than `limit`."""

    def split_at(self, text: str, n: int, start: int = 0) -> int:
        """Find the greatest known end such that `text[start:end]` has at most n tokens."""

    def split(self, text: str, chunk_size: int, chunk_overlap: int = 0) -> list[Chunk]:
        """Cut a text into chunks, each as long as the budget allows."""

    def intervals(self, text: str) -> SliceCounter:
        """Return a counter for the slices of a text."""

    def appender(self, text: str = "") -> GrowsAtEnd:
        """Begin a text that grows at its end."""

    def prepender(self, text: str = "") -> GrowsAtStart:
        """Begin a text that grows at its beginning."""

    def _max_bytes_of(self, n: int, /) -> int | None:
        """Return an upper bound in bytes for `split_at` with n tokens; None: unbounded."""
