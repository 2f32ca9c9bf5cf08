"""Characters and bytes as measures of a text, beside tokens, for the limits of `also_fits`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    from cutline.kernels.base.late import numpy as np

__all__ = ["UNITS", "Unit"]


class Unit:
    """A unit that each character has a fixed number of, so that counts add up.

    Args:
        name: "characters" or "bytes".
        count: counts a text.
    """

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self.count = count

    def __repr__(self) -> str:
        return f"<Unit {self.name!r}>"

    def __reduce__(self) -> tuple[Callable[[str], Unit], tuple[str]]:
        return _unit, (self.name,)

    def count_till_limit(self, text: str, limit: int) -> int | None:
        """Count a text, or return None if it has more than `limit`."""
        count = self.count(text)
        return count if count <= limit else None

    def intervals(self, text: str) -> UnitSlices:
        """Return a counter for the slices of a text."""
        return UnitSlices(self, text)

    def appender(self, text: str = "") -> GrowingAtEnd:
        """Begin a text that grows at its end."""
        return GrowingAtEnd(self, text)

    def prepender(self, text: str = "") -> GrowingAtStart:
        """Begin a text that grows at its beginning."""
        return GrowingAtStart(self, text)

    def _max_bytes_of(self, n: int) -> int:
        """Return an upper bound in bytes of a text that fits."""
        return 4 * n


class UnitSlices:
    """Counts the slices of one text.

    Args:
        unit: what is counted.
        text: the text.

    Cost: constant for each slice. In bytes, a text that is not ASCII takes 8 bytes of memory
    for each character.
    """

    def __init__(self, unit: Unit, text: str) -> None:
        self.unit = unit
        self._text = text

    @cached_property
    def _before(self) -> NDArray[np.int64] | None:
        """How many there are before each character; None: one for each."""
        if self.unit is UNITS["characters"] or self._text.isascii():
            return None
        points = np.frombuffer(self._text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        sizes = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
        return np.cumsum(np.concatenate([np.zeros(1, dtype=np.int64), sizes]))

    def count(self, start: int, end: int) -> int:
        """Count a slice."""
        if self._before is None:
            return end - start
        return int(self._before[end] - self._before[start])

    def count_many(self, spans: Sequence[tuple[int, int]]) -> Iterator[int]:
        """Count many slices lazily."""
        return (self.count(start, end) for start, end in spans)

    def split_at(self, start: int, n: int) -> int:
        """Find the greatest end whose slice has at most n."""
        if self._before is None:
            return min(len(self._text), start + n)
        most = self._before[start] + min(n, 4 * len(self._text))
        return int(np.searchsorted(self._before, most, side="right")) - 1


class _Growing:
    """A text that grows; `fits` as of an `Appender`."""

    def __init__(self, unit: Unit, text: str) -> None:
        self._unit = unit
        self._text = text
        self._count = unit.count(text)

    def fits(self, text: str, max_tokens: int) -> bool:
        """Return whether the text would have at most so many if it grew by this one."""
        return self._count + self._unit.count(text) <= max_tokens

    def _become(self, text: str) -> None:
        self._text, self._count = text, self._unit.count(text)


class GrowingAtEnd(_Growing):
    """A text that grows at its end, like an `Appender`."""

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._become(self._text + text)

    def truncate(self, length: int) -> None:
        """Keep the first `length` characters."""
        self._become(self._text[:length])


class GrowingAtStart(_Growing):
    """A text that grows at its beginning, like a `Prepender`."""

    def prepend(self, text: str) -> None:
        """Add text at the beginning."""
        self._become(text + self._text)

    def truncate(self, length: int) -> None:
        """Keep the last `length` characters."""
        self._become(self._text[len(self._text) - length :])


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


UNITS: Final[Mapping[str, Unit]] = MappingProxyType(
    {"characters": Unit("characters", len), "bytes": Unit("bytes", _utf8_bytes)}
)
"""The units by name."""


def _unit(name: str) -> Unit:
    """Return a unit for its pickle."""
    return UNITS[name]
