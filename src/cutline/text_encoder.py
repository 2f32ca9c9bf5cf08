"""`TextEncoder`: the interface of an encoding for slices, cuts and growing texts."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from cutline.kernels.encode.decode import Decoder
from cutline.kernels.encode.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TextEncoder"]


class TextEncoder(Encoder):
    """The kernel's encoder with a name; base class of `Encoding` only.

    Attributes:
        name: its name.
    """

    __slots__ = ()

    name: str
    # Finds a token counter, given as one or by name. The registry of names sets it, which lies
    # above all that may ask for a second tokenizer.
    _find_counter: ClassVar[Callable[[Any], Any]]

    @abstractmethod
    def intervals(self, text: str, *, byte_offsets: bool = False) -> Any:
        """Make a counter for the slices of a text."""

    @abstractmethod
    def split_at(self, text: str, n: int) -> int:
        """Find the longest prefix that fits."""

    @abstractmethod
    def appender(self, text: str = "") -> Any:
        """Make a counter for a text that grows at its end."""

    @abstractmethod
    def prepender(self, text: str = "") -> Any:
        """Make a counter for a text that grows at its beginning."""

    @abstractmethod
    def _settled_start(self) -> Any:
        """Begin a text that grows at its end; None: it is counted from safe split points."""

    @abstractmethod
    def _most_tokens_of_a_character(self) -> int | None:
        """Return a chunk size that fits any character; None if it is not known."""

    @abstractmethod
    def _count_after(self, text: str) -> int:
        """Count the tokens of a text that begins at a safe split point."""

    @property
    @abstractmethod
    def _decoder_of_normalized(self) -> Decoder:
        """The bytes of normalized text that each token has, by id."""

    @abstractmethod
    def _changes(self, text: str) -> bool:
        """Return whether a text, or a slice of it, is changed before it is split."""
