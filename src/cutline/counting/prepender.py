"""`Prepender`: the tokens of a text that grows at its beginning."""

from typing import Self, cast

from cutline.checks import changes_texts, checked_length, need_unchanged, utf8_of_part
from cutline.kernels.index.prepend import Prepending
from cutline.text_encoder import TextEncoder

__all__ = ["Prepender"]


class Prepender(Prepending):
    """A text that grows at its beginning, with its token count.

    Made by `Encoding.prepender`, for a context that is filled from its newest message
    backwards. After any sequence of `prepend` and `truncate`, `count` and `tokens()` are
    those of the whole text so far.

    Args:
        encoding: its split pattern must compile to an automaton.
        text: the initial text.

    Raises:
        UnsupportedPatternError: (a ValueError) the split pattern runs on the `regex` module.
        SurrogateError: (a ValueError) the text has a surrogate code point; prepending could
            complete it to a pair.

    An encoding that changes texts before it splits them, or splits them several times, gives its
    own counter instead, with all public methods and other costs. A subclass refuses it.

    Threads may change one prepender at once: calls are atomic, and other threads wait, but
    their order is not defined. Methods that raise leave it unchanged. It can be pickled: the
    pickle contains the text.

    Cost: `count` and `text_length` are O(1). Memory is 5 to 8 bytes per byte of text, and 12 to
    18 more per byte of a giant piece; `truncate` does not release it, and the memory for the
    largest text that `fits` was called with stays in reserve.

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
        if cls is Prepender and changes_texts(encoding, "prepender(text)"):
            return cast("Self", encoding.prepender(text))  # has all public methods
        need_unchanged(encoding, "prepender(text)")
        return cls._of_normalized(encoding, text)

    @classmethod
    def _of_normalized(cls, encoding: TextEncoder, text: str = "") -> Self:
        """Begin with a text that nothing changes any more."""
        prepender = super().__new__(cls, encoding)
        prepender._encoding = encoding
        prepender.prepend(text)
        return prepender

    def truncate(self, length: int) -> None:
        """Keep the last `length` code points of the text.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to text_length.

        Cost: linear in the removed text, and in the piece that is cut.

        >>> import cutline
        >>> prepender = cutline.get_encoding("o200k_base").prepender("hello world")
        >>> prepender.truncate(6)
        >>> prepender.text, prepender.count
        (' world', 1)
        """
        self._keep_last(checked_length(length, self.text_length))

    def tokens(self) -> list[int]:
        """Encode the text. Cost: linear in the whole text; tokens are not stored.

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
