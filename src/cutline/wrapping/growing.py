"""Texts that grow, counted anew each time they are asked about."""

from operator import index
from typing import Protocol

from cutline.errors import OffsetError
from cutline.text import plain_text

__all__ = ["RecountedEnd", "RecountedStart"]


class _Counts(Protocol):
    def count(self, text: str, /) -> int: ...
    def fits(self, text: str, max_tokens: int, /) -> bool: ...


class _Recounted:
    """A text and its tokenizer.

    Attributes:
        text: the whole text so far.
    """

    def __init__(self, tokenizer: _Counts, text: str = "") -> None:
        self._tokenizer = tokenizer
        self.text = plain_text(text)

    @property
    def count(self) -> int:
        """How many tokens the text has; it is encoded to tell."""
        return self._tokenizer.count(self.text)

    def _checked(self, length: int) -> int:
        length = index(length)
        if not 0 <= length <= len(self.text):
            raise OffsetError(
                f"length must be from 0 to {len(self.text)}, the text's length, got {length}"
            )
        return length


class RecountedEnd(_Recounted):
    """A text that grows at its end: like an `Appender`, but each question encodes all of it."""

    def append(self, text: str) -> None:
        """Put more to the end."""
        self.text += plain_text(text)

    def truncate(self, length: int) -> None:
        """Keep the first characters."""
        self.text = self.text[: self._checked(length)]

    def fits(self, text: str, max_tokens: int) -> bool:
        """Tell whether it would have at most so many tokens with more at its end."""
        return self._tokenizer.fits(self.text + text, max_tokens)


class RecountedStart(_Recounted):
    """A text that grows at its beginning: like a `Prepender`, but each question encodes it."""

    def prepend(self, text: str) -> None:
        """Put more before the beginning."""
        self.text = plain_text(text) + self.text

    def truncate(self, length: int) -> None:
        """Keep the last characters."""
        self.text = self.text[len(self.text) - self._checked(length) :]

    def fits(self, text: str, max_tokens: int) -> bool:
        """Tell whether it would have at most so many tokens with more before it."""
        return self._tokenizer.fits(text + self.text, max_tokens)
