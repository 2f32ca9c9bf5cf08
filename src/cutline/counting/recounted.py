"""Growing texts without a kernel: text up to a safe split point is counted only once.

The tokens of a text are those before such a point followed by those after it. If a tokenizer
has no safe split points, the whole text is counted each time.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Protocol, Self

from cutline.checks import checked_budget, checked_length, plain_text, utf8_of_part

__all__ = ["RecountedAppender", "RecountedPrepender"]


class _Tokenizer(Protocol):
    @property
    def name(self) -> str: ...
    def encode_ordinary(self, text: str, /) -> list[int]: ...
    def count(self, text: str, /) -> int: ...
    def _count_after(self, text: str, /) -> int:
        """Count the tokens of a text that begins at a safe split point."""

    def _safe_points(self, text: str, begin: int, /) -> Iterable[int]:
        """Yield safe split points after `begin`, which is 0 or such a point, in order."""


class _Recounted(ABC):
    """A text and its counter.

    Attributes:
        text: the text.
    """

    def __init__(self, tokenizer: _Tokenizer, text: str = "") -> None:
        self._tokenizer = tokenizer
        # A point needs this many characters on each side, of those that are there to stay.
        self._reach: int = getattr(tokenizer, "_safe_point_reach", 1)
        self.text = _checked(text)
        # (characters, tokens) up to each safe split point, counted from the end that stays.
        self._counted = [(0, 0)]

    @property
    def text_length(self) -> int:
        """The length of the text in code points."""
        return len(self.text)

    @property
    def count(self) -> int:
        """The tokens of the text."""
        return self._count_with("")

    def fits(self, text: str, max_tokens: int) -> bool:
        """Return whether the text would have at most `max_tokens` tokens if it grew by this one.

        Raises:
            ValueError: max_tokens is negative.
            SurrogateError: (a ValueError) the text has a surrogate code point.
        """
        return self._count_with(_checked(text)) <= checked_budget(max_tokens)

    @abstractmethod
    def _count_with(self, more: str) -> int:
        """Count the tokens of the text with more at the end that grows."""

    def tokens(self) -> list[int]:
        """Return the token ids of the text. Cost: linear in it."""
        return self._tokenizer.encode_ordinary(self.text)

    def copy(self) -> Self:
        """Return an independent one with the same text."""
        return type(self)(self._tokenizer, self.text)

    __copy__ = copy

    def __reduce__(self) -> tuple[type[Self], tuple[_Tokenizer, str]]:
        return type(self), (self._tokenizer, self.text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._tokenizer.name!r}: {len(self.text)} code points>"

    def _forget(self, length: int) -> None:
        """Drop the points that a shorter text lacks."""
        while len(self._counted) > 1 and self._counted[-1][0] > length - self._reach:
            self._counted.pop()


class RecountedAppender(_Recounted):
    """A text that grows at its end, like an `Appender`.

    Cost: `count` is linear in the text after the last safe split point that was counted.
    """

    def append(self, text: str) -> None:
        """Add text at the end."""
        self.text += _checked(text)

    def truncate(self, length: int) -> None:
        """Keep the first `length` code points.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to `text_length`.
        """
        self.text = self.text[: checked_length(length, len(self.text))]
        self._forget(len(self.text))

    def _count_with(self, more: str) -> int:
        place, tokens = self._counted[-1]
        for point in self._tokenizer._safe_points(self.text, place):
            if point > len(self.text) - self._reach:
                break
            tokens += self._count_from(place, self.text[place:point])
            place = point
            self._counted.append((place, tokens))
        return tokens + self._count_from(place, self.text[place:] + more)

    def _count_from(self, place: int, text: str) -> int:
        return self._tokenizer._count_after(text) if place else self._tokenizer.count(text)


class RecountedPrepender(_Recounted):
    """A text that grows at its beginning, like a `Prepender`.

    Cost: `count` is linear in the text before the first safe split point that was counted.
    """

    def prepend(self, text: str) -> None:
        """Add text at the beginning."""
        self.text = _checked(text) + self.text

    def truncate(self, length: int) -> None:
        """Keep the last `length` code points.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to `text_length`.
        """
        length = checked_length(length, len(self.text))
        self.text = self.text[len(self.text) - length :]
        self._forget(length)

    def _count_with(self, more: str) -> int:
        after, tokens = self._counted[-1]
        end = len(self.text) - after
        for point in reversed([*self._tokenizer._safe_points(self.text[:end], 0)]):
            if point < self._reach:
                break
            tokens += self._tokenizer._count_after(self.text[point:end])
            end = point
            self._counted.append((len(self.text) - end, tokens))
        return tokens + self._tokenizer.count(more + self.text[:end])


def _checked(text: str) -> str:
    text = plain_text(text)
    utf8_of_part(text)
    return text
