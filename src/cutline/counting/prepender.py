"""`Prepender`: the tokens of a text that grows at its beginning."""

from typing import Self

from cutline.checks import checked_length, need_unchanged, utf8_of_part
from cutline.kernels.index.prepend import Prepending
from cutline.text_encoder import TextEncoder

__all__ = ["Prepender"]


class Prepender(Prepending):
    """A text that grows at its beginning, and how many tokens it has.

    Made by `Encoding.prepender`, for a context that is filled from its newest message
    backwards. After any sequence of `prepend` and `truncate`, `count` and `tokens()` are
    those of the whole text so far.

    Args:
        encoding: its split pattern must compile to an automaton.
        text: what to begin with.

    Raises:
        UnsupportedPatternError: (a ValueError) the split pattern runs on the `regex` module.
        SurrogateError: (a ValueError) the text has a surrogate code point; a prepended text
            could join it to a pair.

    Threads that change one prepender at once do it no harm, for each call is done whole and
    the others wait; but the order is chance. Whatever raises leaves it as it was. It can be
    pickled: the text is what is kept.

    Cost: `count` and `text_length` are O(1). Memory is 5 to 8 bytes a byte of text, and 12 to
    18 more a byte of a giant piece; `truncate` does not give it back, and the memory of the
    largest text that `fits` was asked about stays in reserve.

    >>> import cutline
    >>> prepender = cutline.get_encoding("o200k_base").prepender()
    >>> for message in reversed(["one two", " three four", " five"]):
    ...     if prepender.fits(message, 3):
    ...         prepender.prepend(message)
    >>> prepender
    <Prepender of 'o200k_base': 16 code points, 3 tokens>
    >>> prepender.tokens(), prepender.text
    ([3407, 4242, 6468], ' three four five')
    """

    __slots__ = ("__weakref__", "_encoding")

    _encoding: TextEncoder

    def __new__(cls, encoding: TextEncoder, text: str = "") -> Self:
        """Begin with a text; see the class."""
        need_unchanged(encoding, "prepender(text)")
        prepender = super().__new__(cls, encoding)
        prepender._encoding = encoding
        prepender.prepend(text)
        return prepender

    def truncate(self, length: int) -> None:
        """Keep the last `length` code points of the text.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to text_length.

        Cost: linear in the text that is dropped, and in the piece that is cut.

        >>> import cutline
        >>> prepender = cutline.get_encoding("o200k_base").prepender("hello world")
        >>> prepender.truncate(6)
        >>> prepender.text, prepender.count
        (' world', 1)
        """
        self._keep_last(checked_length(length, self.text_length))

    def tokens(self) -> list[int]:
        """Encode the text. Cost: linear in the whole text; the tokens are not kept.

        >>> import cutline
        >>> cutline.get_encoding("o200k_base").prepender("hello world").tokens()
        [24912, 2375]
        """
        return self._encoding.encode_ordinary(self.text)

    def copy(self) -> Self:
        """Copy the prepender. Cost: linear in the text, but nothing is scanned again.

        >>> import cutline
        >>> prepender = cutline.get_encoding("o200k_base").prepender(" world")
        >>> twin = prepender.copy()
        >>> twin.prepend("hello")
        >>> prepender.count, twin.count
        (1, 2)
        """
        twin = type(self)(self._encoding)
        twin._take(self)
        return twin

    __copy__ = copy

    def __reduce__(self) -> tuple[type[Self], tuple[TextEncoder, str]]:
        return type(self), (self._encoding, self.text)

    def __repr__(self) -> str:
        return (
            f"<Prepender of {self._encoding.name!r}: {self.text_length} code points, "
            f"{self.count} tokens>"
        )

    _utf8_of = staticmethod(utf8_of_part)
