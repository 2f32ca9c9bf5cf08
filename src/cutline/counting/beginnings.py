"""How much of a text decides how its start is truncated, whatever text follows.

Counts before and after a safe split point add up: if the text before one has more tokens than the
budget, no longer text fits. Nor does one of more bytes than so many tokens can have.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from cutline.counting.limits import Limit
from cutline.counting.truncating import LOOK_AHEAD, WINDOW

__all__ = ["BeginningRead", "is_decided"]

_AHEAD: Final = WINDOW + LOOK_AHEAD  # characters after the longest start that are looked at
_GROWTH: Final = 2  # so that all that is counted is linear in the text


class _HasPoints(Protocol):
    """What has safe split points: an `Encoding`."""

    @property
    def _safe_point_reach(self) -> int: ...

    def _safe_points(self, text: str, begin: int) -> list[int]: ...

    def count_till_limit(self, text: str, limit: int, /) -> int | None: ...


class BeginningRead:
    r"""A text that is read from its beginning until its truncated start is decided.

    Args:
        limits: the budget, and further ones.

    >>> from cutline import get_encoding
    >>> read = BeginningRead([Limit(get_encoding("o200k_base"), 5)])
    >>> read.add("y\n" * 1000), read.add("y\n" * 9000)
    (False, True)
    """

    def __init__(self, limits: Iterable[Limit]) -> None:
        self._limits = tuple(limits)
        self._parts: list[str] = []
        self._length = 0
        self._enough = _AHEAD + 1  # characters: before, nothing is counted

    def add(self, part: str) -> bool:
        """Add the next part; return whether all that is needed has come.

        Cost: linear in all parts together.
        """
        self._parts.append(part)
        self._length += len(part)
        if self._length < self._enough:
            return False
        self._enough = _GROWTH * self._length
        return is_decided(self.text, self._limits)

    @property
    def text(self) -> str:
        """What has come."""
        self._parts = ["".join(self._parts)]
        return self._parts[0]


def is_decided(text: str, limits: Iterable[Limit]) -> bool:
    """Return whether each text that begins so is truncated at its end as this one is.

    That holds when one limit is exceeded for good some characters before the end: no text as long
    fits it, with a marker or without, and no boundary is looked for after these characters.
    """
    end = len(text) - _AHEAD
    return any(_is_over(text, end, limit) for limit in limits)


def _is_over(text: str, end: int, limit: Limit) -> bool:
    """Return whether no text with the first `end` characters of this one fits a limit."""
    if end <= 0:
        return False
    bound = limit.measure._max_bytes_of(limit.most)
    if bound is not None and end > bound:
        return True
    if not hasattr(limit.measure, "_safe_points"):
        return False
    measure: _HasPoints = limit.measure  # type: ignore[assignment]
    reach = measure._safe_point_reach
    # Each is decided by the characters around it, which are before `end`.
    points = [at for at in measure._safe_points(text[:end], 0) if reach <= at <= end - reach]
    return bool(points) and measure.count_till_limit(text[: points[-1]], limit.most) is None
