"""Texts that grow, for encodings that change texts: what a border parts is counted once."""

from operator import index
from typing import TYPE_CHECKING, Self

from cutline.errors import OffsetError
from cutline.text import plain_text, utf8_of_part

if TYPE_CHECKING:
    from cutline.pipeline.encoding import ChangingEncoding

__all__ = ["ChangingAppender", "ChangingPrepender"]


class _Growing:
    """A text and what is counted of it."""

    def __init__(self, encoding: "ChangingEncoding", text: str = "") -> None:
        self._encoding = encoding
        self._text = _checked(text)

    @property
    def text(self) -> str:
        """The text."""
        return self._text

    @property
    def text_length(self) -> int:
        """The length of the text in code points."""
        return len(self._text)

    def tokens(self) -> list[int]:
        """Return the token ids of the text. Cost: linear in it."""
        return self._encoding.encode_ordinary(self._text)

    def copy(self) -> Self:
        """Return an independent one with the same text."""
        return type(self)(self._encoding, self._text)

    __copy__ = copy

    def __reduce__(self) -> tuple[type[Self], tuple["ChangingEncoding", str]]:
        return type(self), (self._encoding, self._text)


class ChangingAppender(_Growing):
    """What `Encoding.appender` gives for a tokenizer that changes texts; see `Appender`.

    Cost: of `count`, linear in the text behind the last border that was counted.
    """

    def __init__(self, encoding: "ChangingEncoding", text: str = "") -> None:
        super().__init__(encoding, text)
        self._settled = [(0, 0)]  # borders, and the tokens before each

    def append(self, text: str) -> None:
        """Add a text at the end."""
        self._text += _checked(text)

    def truncate(self, length: int) -> None:
        """Keep the first `length` code points.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to `text_length`.
        """
        self._text = self._text[: _checked_length(length, self._text)]
        # A border is one because of the character behind it, too.
        while len(self._settled) > 1 and self._settled[-1][0] >= len(self._text):
            self._settled.pop()

    @property
    def count(self) -> int:
        """The tokens of the text."""
        self._settle()
        place, tokens = self._settled[-1]
        return tokens + self._count_from(place, self._text[place:])

    def fits(self, text: str, max_tokens: int) -> bool:
        """Tell whether there would be at most `max_tokens` tokens after `append(text)`."""
        max_tokens = _checked_budget(max_tokens)
        self._settle()
        place, tokens = self._settled[-1]
        return tokens + self._count_from(place, self._text[place:] + _checked(text)) <= max_tokens

    def _settle(self) -> None:
        place, tokens = self._settled[-1]
        for border in self._encoding._borders.find(self._text, place):
            tokens += self._count_from(place, self._text[place:border])
            place = border
            self._settled.append((place, tokens))

    def _count_from(self, place: int, text: str) -> int:
        return self._encoding._count_inside(text) if place else self._encoding.count(text)


class ChangingPrepender(_Growing):
    """What `Encoding.prepender` gives for a tokenizer that changes texts; see `Prepender`.

    Cost: of `count`, linear in the text before the first border that was counted.
    """

    def __init__(self, encoding: "ChangingEncoding", text: str = "") -> None:
        super().__init__(encoding, text)
        self._settled = [(0, 0)]  # borders from the end, and the tokens behind each

    def prepend(self, text: str) -> None:
        """Add a text at the beginning."""
        self._text = _checked(text) + self._text

    def truncate(self, length: int) -> None:
        """Keep the last `length` code points.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to `text_length`.
        """
        length = _checked_length(length, self._text)
        self._text = self._text[len(self._text) - length :]
        while len(self._settled) > 1 and self._settled[-1][0] >= length:
            self._settled.pop()

    @property
    def count(self) -> int:
        """The tokens of the text."""
        return self._count_with("")

    def fits(self, text: str, max_tokens: int) -> bool:
        """Tell whether there would be at most `max_tokens` tokens after `prepend(text)`."""
        return self._count_with(_checked(text)) <= _checked_budget(max_tokens)

    def _count_with(self, more: str) -> int:
        behind, tokens = self._settled[-1]
        end = len(self._text) - behind
        for border in reversed(self._encoding._borders.find(self._text[:end])):
            tokens += self._encoding._count_inside(self._text[border:end])
            end = border
            self._settled.append((len(self._text) - end, tokens))
        return tokens + self._encoding.count(more + self._text[:end])


def _checked(text: str) -> str:
    text = plain_text(text)
    utf8_of_part(text)
    return text


def _checked_length(length: int, text: str) -> int:
    length = index(length)
    if not 0 <= length <= len(text):
        raise OffsetError(f"length must be from 0 to {len(text)}, the text's length, got {length}")
    return length


def _checked_budget(max_tokens: int) -> int:
    max_tokens = index(max_tokens)
    if max_tokens < 0:
        raise ValueError(f"max_tokens must be 0 or more, got {max_tokens}")
    return max_tokens
