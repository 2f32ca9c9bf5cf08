"""`TextEncoder`: the interface of an encoding for slices, cuts and growing texts."""

from abc import abstractmethod

from cutline.kernels.encode.encoder import Encoder

__all__ = ["TextEncoder"]


class TextEncoder(Encoder):
    """The kernel's encoder with a name; base class of `Encoding` only.

    Attributes:
        name: its name.
    """

    __slots__ = ()

    name: str

    @abstractmethod
    def _most_tokens_of_a_character(self) -> int:
        """Return a chunk size that fits any character."""

    @abstractmethod
    def _changes(self, text: str) -> bool:
        """Return whether a text, or a slice of it, is changed before it is split."""
