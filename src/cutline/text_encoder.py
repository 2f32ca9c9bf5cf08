"""What slices, cuts and growing texts ask of an encoding."""

from cutline.kernels.encode.encoder import Encoder

__all__ = ["TextEncoder"]


class TextEncoder(Encoder):
    """The kernel's encoder with a name; `Encoding` is the only one.

    Attributes:
        name: what it is called.
    """

    __slots__ = ()

    name: str

    def _most_tokens_of_a_character(self) -> int:
        """Tell what size of a chunk fits any character: a token has a byte at least."""
        return 4

    def _changes(self, text: str) -> bool:
        """Tell whether a text, or a slice of it, is changed before it is split."""
        return self._changes_texts and bool(text)
