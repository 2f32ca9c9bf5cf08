"""Growing texts without a kernel of their own.

What is settled of a text, whatever comes after it (or before, if it grows there), is counted once;
the rest is counted each time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol, Self

from cutline.checks import checked_budget, checked_length, plain_text, utf8_of_part
from cutline.counting.till_limit import is_sure_to_exceed

__all__ = ["PartsAtEnd", "RecountedAppender", "RecountedPrepender", "Settled", "SettledParts"]

_LOOK: Final = 48  # characters that are not settled, before more are tried to settle
_WINDOW: Final = 1024  # characters that are settled at once
_GAP: Final = 512  # characters from one beginning that is kept to the next


class Settled(Protocol):
    """All of a text but the end that grows: what is known of its tokens. It never changes.

    Attributes:
        reach: it holds where so many characters that were known stay between it and that end.
        gap: characters for which one takes as much memory as they do, roughly.
        least: tokens that the text has, whatever the rest is.
    """

    reach: int
    gap: int
    least: int

    def settle(self, more: str, /) -> "tuple[int, Settled] | None":
        """Settle more of a text.

        Args:
            more: what is next to it in the text, though not all, perhaps.

        Returns:
            How many characters of it are settled, too, and what is settled with them; None: none.
        """

    def count_with(self, rest: str, /) -> int | None:
        """Count the tokens of the text if this is the rest; None: not known for this rest.

        Where nothing is settled yet, it is known for each.
        """


class _Tokenizer(Protocol):
    @property
    def name(self) -> str: ...
    def encode_ordinary(self, text: str, /) -> list[int]: ...
    def count(self, text: str, /) -> int: ...
    def _count_after(self, text: str, /) -> int:
        """Count the tokens of a text that begins at a safe split point."""

    def _safe_points(self, text: str, begin: int, /) -> Iterable[int]:
        """Yield safe split points after `begin`, which is 0 or such a point, in order."""


class SettledParts:
    """The beginning of a text, up to a safe split point; see `Settled`.

    The tokens of a text are those before such a point followed by those after it. If a tokenizer
    has no safe split points, the whole text is counted each time.

    Args:
        tokenizer: counts.
        tokens: those before the point; None: the text begins.
    """

    gap = 1

    def __init__(self, tokenizer: _Tokenizer, tokens: int | None = None) -> None:
        self._tokenizer = tokenizer
        self._tokens = self.least = tokens or 0
        self._count = tokenizer.count if tokens is None else tokenizer._count_after
        self.reach = _reach_of(tokenizer)

    def settle(self, more: str) -> "tuple[int, SettledParts] | None":
        """Settle what is before the last point that is known; see `Settled`."""
        most = len(more) - self.reach
        place = max((at for at in self._tokenizer._safe_points(more, 0) if at <= most), default=0)
        if not place:
            return None
        return place, SettledParts(self._tokenizer, self.count_with(more[:place]))

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        return self._tokens + self._count(rest)


class PartsAtEnd:
    """The same of the end of a text that grows at its beginning.

    Args:
        tokenizer: counts.
        tokens: those of the end.
    """

    gap = 1

    def __init__(self, tokenizer: _Tokenizer, tokens: int = 0) -> None:
        self._tokenizer = tokenizer
        self._tokens = self.least = tokens
        self.reach = _reach_of(tokenizer)

    def settle(self, more: str) -> "tuple[int, PartsAtEnd] | None":
        """Settle what is after the first point that is known; see `Settled`."""
        points = self._tokenizer._safe_points(more, 0)
        place = next((at for at in points if at >= self.reach), 0)
        if not place:
            return None
        tokens = self._tokens + self._tokenizer._count_after(more[place:])
        return len(more) - place, PartsAtEnd(self._tokenizer, tokens)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it begins like this."""
        return self._tokenizer.count(rest) + self._tokens


class _Text:
    """A text that grows at its end, and is cut there, in time that its length has no part in."""

    def __init__(self, text: str) -> None:
        self._units = bytearray(text.encode("utf-32-le"))

    def __len__(self) -> int:
        return len(self._units) >> 2

    def append(self, text: str) -> None:
        self._units += text.encode("utf-32-le")

    def truncate(self, length: int) -> None:
        del self._units[4 * length :]

    def part(self, start: int, end: int | None = None) -> str:
        return self._units[4 * start : None if end is None else 4 * end].decode("utf-32-le")


class _Recounted(ABC):
    """A text, what is settled of it, and its counter."""

    def __init__(self, tokenizer: _Tokenizer, text: str = "") -> None:
        self._tokenizer = tokenizer
        self._text = _Text(self._in_order(_checked(text)))
        # What is settled, and how much: the last one is the longest that is known.
        self._settled = [(0, self._begin())]
        self._look = _LOOK

    @property
    def text(self) -> str:
        """The text.

        Cost: linear in it.
        """
        return self._in_order(self._text.part(0))

    @property
    def text_length(self) -> int:
        """The length of the text in code points."""
        return len(self._text)

    @property
    def count(self) -> int:
        """The tokens of the text."""
        return self._count_with("")

    @property
    def least(self) -> int:
        """Tokens that it has, however it grows; not all of them."""
        return self._settled[-1][1].least

    def fits(self, text: str, max_tokens: int) -> bool:
        """Return whether the text would have at most `max_tokens` tokens if it grew by this one.

        Raises:
            ValueError: max_tokens is negative.
            SurrogateError: (a ValueError) the text has a surrogate code point.
        """
        return self._count_with(_checked(text)) <= checked_budget(max_tokens)

    @staticmethod
    @abstractmethod
    def _in_order(text: str) -> str:
        """Turn a text around, if the end that grows is its beginning."""

    @abstractmethod
    def _begin(self) -> Settled:
        """Return what is settled of any text: nothing."""

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
        return f"<{type(self).__name__} of {self._tokenizer.name!r}: {len(self._text)} code points>"

    def _keep(self, length: int) -> None:
        """Keep so many characters next to the end that does not grow."""
        length = checked_length(length, len(self._text))
        if length == len(self._text):
            return
        self._text.truncate(length)
        while len(self._settled) > 1 and self._settled[-1][0] > length - self._settled[-1][1].reach:
            self._settled.pop()
            self._look = _LOOK

    def _count_with(self, more: str) -> int:
        """Count the tokens of the text with more at the end that grows."""
        if len(self._text) - self._settled[-1][0] >= self._look:
            self._settle()
        more = self._in_order(more)
        for place, settled in reversed(self._settled):
            tokens = settled.count_with(self._in_order(self._text.part(place) + more))
            if tokens is not None:
                return tokens
        raise AssertionError("a text of which nothing is settled is counted")

    def _settle(self) -> None:
        """Settle as much of the text as can be."""
        while (left := len(self._text) - self._settled[-1][0]) >= _LOOK:
            place, settled = self._settled[-1]
            for width in _widths(left):
                found = settled.settle(self._in_order(self._text.part(place, place + width)))
                if found is not None:
                    self._add(place + found[0], found[1])
                    break
            else:
                self._look = 2 * left
                return
        self._look = _LOOK

    def _add(self, place: int, settled: Settled) -> None:
        """Keep what is settled, the last one before, and of the others those far from one another.

        A text that is cut by a few characters goes on from the last one before.
        """
        kept = self._settled
        if len(kept) > 2 and kept[-1][0] - kept[-3][0] < max(_GAP, settled.gap):
            del kept[-2]
        kept.append((place, settled))


class RecountedAppender(_Recounted):
    """A text that grows at its end, like an `Appender`.

    Cost: `count` is linear in the text after what is settled of it, and in what a token can reach.
    That is some 50 characters, and marks on one letter, in long words, too; with other tokenizers
    (docs/counting.md) what follows the last safe split point.
    """

    @staticmethod
    def _in_order(text: str) -> str:
        return text

    def _begin(self) -> Settled:
        begin: Callable[[], Settled | None] = getattr(
            self._tokenizer, "_settled_start", lambda: None
        )
        return begin() or SettledParts(self._tokenizer)

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._text.append(_checked(text))

    def fits(self, text: str, max_tokens: int) -> bool:
        """See `_Recounted.fits`; of a long text no more is counted than decides."""
        points = self._tokenizer._safe_points
        if is_sure_to_exceed(_checked(text), checked_budget(max_tokens), self._count_with, points):
            return False
        return super().fits(text, max_tokens)

    def truncate(self, length: int) -> None:
        """Keep the first `length` code points.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to `text_length`.
        """
        self._keep(length)


class RecountedPrepender(_Recounted):
    """A text that grows at its beginning, like a `Prepender`.

    Cost: as that of `RecountedAppender`, at the other end.
    """

    @staticmethod
    def _in_order(text: str) -> str:
        return text[::-1]

    def _begin(self) -> Settled:
        begin: Callable[[], Settled | None] = getattr(self._tokenizer, "_settled_end", lambda: None)
        return begin() or PartsAtEnd(self._tokenizer)

    def prepend(self, text: str) -> None:
        """Add text at the beginning."""
        self._text.append(_checked(text)[::-1])

    def truncate(self, length: int) -> None:
        """Keep the last `length` code points.

        Raises:
            OffsetError: (a ValueError) length is not from 0 to `text_length`.
        """
        self._keep(length)


def _widths(left: int) -> Iterator[int]:
    """Yield how many characters to settle at once, of so many: first half of a long text.

    A text that is cut off at the end that grows has something settled near to the cut, then.
    """
    if left > 2 * _WINDOW:
        yield left // 2
    yield (width := _WINDOW)
    while width < left:
        yield (width := 2 * width)


def _reach_of(tokenizer: _Tokenizer) -> int:
    """Return how many characters a safe split point needs on each side."""
    return getattr(tokenizer, "_safe_point_reach", 1)


def _checked(text: str) -> str:
    text = plain_text(text)
    utf8_of_part(text)
    return text
