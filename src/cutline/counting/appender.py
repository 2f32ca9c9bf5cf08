"""`Appender`: the tokens of a text that grows at its end.

`append`, `count` and `text_length` are methods of the kernel class that it extends, so that
appending a few characters costs no more than one call.
"""

import sys
from typing import Self, cast

from cutline.checks import (
    changes_texts,
    checked_budget,
    checked_length,
    need_unchanged,
    utf8_of_part,
)
from cutline.kernels.index.append import Growing
from cutline.text_encoder import TextEncoder

__all__ = ["Appender"]


class Appender(Growing):
    """A text that grows at its end, with its token count; made by `Encoding.appender`.

    After any sequence of `append` and `truncate`, `count` and `tokens()` are those of the
    whole text so far, although appending can change earlier tokens and pieces.

    Args:
        encoding: its split pattern must compile to an automaton.
        text: the initial text.

    Attributes:
        count: the tokens of the text, `len(tokens())`.
        text_length: the length of the text in code points.

    Raises:
        UnsupportedPatternError: (a ValueError) the split pattern runs on the `regex` module.
        SurrogateError: (a ValueError) the text has a surrogate code point; appending could
            complete it to a pair.

    An encoding that changes texts before it splits them, or splits them several times, gives its
    own counter instead, with all public methods and other costs. A subclass refuses it.

    Any number of threads may change it: each call is done whole and the others wait, in no
    fixed order. Methods that raise leave it unchanged. It can be pickled: the pickle contains
    the text.

    Cost: `count` and `text_length` are O(1). Memory is the text's UTF-8 plus a tenth, with up
    to half of that in reserve, and not released by `truncate`; 12 bytes more for each byte of
    a piece of over 64 bytes that the next character may still change.
    Source: docs/counting.md, "A text that grows at its end".

    >>> import cutline
    >>> appender = cutline.get_encoding("o200k_base").appender("don")
    >>> appender.append("'")
    >>> appender.count
    2
    >>> appender.append("t")
    >>> appender.count, appender.tokens()
    (1, [91418])
    """

    __slots__ = ("__weakref__", "_encoding")

    _encoding: TextEncoder

    def __new__(cls, encoding: TextEncoder, text: str = "") -> Self:
        """Begin with a text; see the class."""
        if cls is Appender and changes_texts(encoding, "appender(text)"):
            return cast("Self", encoding.appender(text))  # has all public methods
        need_unchanged(encoding, "appender(text)")
        return cls._of_normalized(encoding, text)

    @classmethod
    def _of_normalized(cls, encoding: TextEncoder, text: str = "") -> Self:
        """Begin with a text that nothing changes any more."""
        appender = super().__new__(cls, encoding, utf8_of_part)
        appender._encoding = encoding
        appender.append(text)
        return appender

    @property
    def text(self) -> str:
        """The text.

        Cost: linear in it.
        """
        return self._utf8().decode()

    def fits(self, text: str, max_tokens: int) -> bool:
        """Return whether there would be at most `max_tokens` tokens after `append(text)`.

        Nothing is changed. Appending can lower the count: if a text does not fit, a longer one
        that begins with it may.

        Raises:
            ValueError: max_tokens is negative.
            SurrogateError: (a ValueError) the text has a surrogate code point.

        Cost: that of `append(text)`; less if the final tokens exceed the budget before its
        end. The memory for the largest text of such a call stays in reserve.

        >>> import cutline
        >>> appender = cutline.get_encoding("o200k_base").appender("don")
        >>> appender.fits("'", 1), appender.fits("'t", 1)
        (False, True)
        """
        return self._fits(text, min(checked_budget(max_tokens), sys.maxsize))

    def truncate(self, length: int) -> None:
        """Keep the first `length` code points of the text.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to `text_length`.

        Cost: about a kilobyte is read again, independent of the cut. Two cases are not
        amortised if truncating and appending alternate: a cut inside a piece of over 64 bytes
        that ended two or more appends ago counts that piece again, from its start; and with a
        split pattern that has many live scans at once (`a*b|a` on a run of "a"; none in public
        use) there are fewer checkpoints to continue from.

        >>> import cutline
        >>> appender = cutline.get_encoding("o200k_base").appender(" plötzlich")
        >>> appender.count
        1
        >>> appender.truncate(9)
        >>> appender.count, appender.text
        (4, ' plötzlic')
        """
        length = checked_length(length, self.text_length)
        if length < self.text_length:
            self._truncate(length)

    def copy(self) -> Self:
        """Return an independent appender with the same text.

        Cost: linear in the text, for copying memory only.

        >>> import cutline
        >>> appender = cutline.get_encoding("gpt2").appender("hello")
        >>> other = appender.copy()
        >>> other.append(" world")
        >>> appender.count, other.count
        (1, 2)
        """
        twin = type(self)(self._encoding)
        self._copy_to(twin)
        return twin

    __copy__ = copy

    def tokens(self) -> list[int]:
        """Return the token ids of the text.

        Cost: linear in the text, which is encoded from scratch: tokens are not stored.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").appender("hello world").tokens()
        [31373, 995]
        """
        return self._encoding.encode_ordinary(self.text)

    def __reduce__(self) -> tuple[type[Self], tuple[TextEncoder, str]]:
        return type(self), (self._encoding, self.text)

    def __repr__(self) -> str:
        return (
            f"<Appender of {self._encoding.name!r}: {self.text_length} code points, "
            f"{self.count} tokens>"
        )
