"""`TokenCounter`: what chunkers, budgets and `verify` ask of whatever counts tokens.

`Encoding` answers from tables, `WrappedTokenizer` by encoding again. There is no other list of
what a tokenizer has to be able to do, and no other place that decides what is one.
"""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cutline.encoding import Encoding
from cutline.registry import get_encoding

if TYPE_CHECKING:
    from cutline.chunking.cutter import Counter
    from cutline.chunks import Chunk

__all__ = ["GrowsAtEnd", "GrowsAtStart", "TokenCounter", "token_counter_of"]


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

    def split(self, text: str, chunk_size: int, chunk_overlap: int = 0) -> "list[Chunk]":
        """Cut a text into chunks as long as the budget allows."""

    def intervals(self, text: str) -> "Counter":
        """Return what counts slices of a text."""

    def appender(self, text: str = "") -> GrowsAtEnd:
        """Begin a text that grows at its end."""

    def prepender(self, text: str = "") -> GrowsAtStart:
        """Begin a text that grows at its beginning."""

    def _max_bytes_of(self, n: int, /) -> int | None:
        """Tell how far `split_at` may go with n tokens, in bytes or less; None: without end."""


def token_counter_of(encoding: TokenCounter | str) -> TokenCounter:
    """Return what counts, given itself or as the name of a packaged encoding.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name.
        TypeError: it cannot count; a tokenizer of another make must be wrapped first.
    """
    if isinstance(encoding, str):
        return get_encoding(encoding)
    if isinstance(encoding, Encoding | TokenCounter):  # to ask the protocol takes a while
        return encoding
    way_out = "use cutline.wrap(...)" if hasattr(encoding, "encode") else "use get_encoding(...)"
    raise TypeError(
        "encoding must be an Encoding, its name, or a wrapped tokenizer, got "
        f"{type(encoding).__name__}: {way_out}"
    )
