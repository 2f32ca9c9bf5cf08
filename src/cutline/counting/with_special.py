"""Counting with special tokens: the text of some of them is one token, as `encode` allows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from cutline.counting.recounted import RecountedAppender, RecountedPrepender
from cutline.counting.till_limit import count_till_limit

if TYPE_CHECKING:
    from cutline.special import SpecialFinder

__all__ = ["WithSpecial"]


class _Encoding(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def _safe_point_reach(self) -> int: ...
    def _encode_allowed(
        self, text: str, allowed: frozenset[str], *, at_start: bool = True
    ) -> list[int]: ...
    def _count_allowed(
        self, text: str, allowed: frozenset[str], *, at_start: bool = True
    ) -> int: ...
    def _finder(self, texts: frozenset[str]) -> SpecialFinder: ...
    def _safe_points(self, text: str, begin: int) -> Sequence[int]: ...


class WithSpecial:
    """Counts the tokens of `encode(text, allowed_special=allowed, disallowed_special=())`.

    Args:
        encoding: an `Encoding`.
        allowed: special tokens of it, at least one.

    Cost: linear in the text. Growing texts are counted again from the last safe split point.
    """

    def __init__(self, encoding: _Encoding, allowed: frozenset[str]) -> None:
        self._encoding = encoding
        self._allowed = allowed
        self._finder = encoding._finder(allowed)

    @property
    def name(self) -> str:
        """The encoding's name."""
        return self._encoding.name

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return self._encoding._count_allowed(text, self._allowed)

    def count_till_limit(self, text: str, limit: int) -> int | None:
        """Count the tokens, or return None if there are more than `limit`."""
        return count_till_limit(text, limit, self.count, self._safe_points)

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode a text."""
        return self._encoding._encode_allowed(text, self._allowed)

    def special_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of special tokens in a text: no cut may lie inside one."""
        return [(start, start + len(found)) for start, found in self._finder.find_all(text)]

    def appender(self, text: str = "") -> RecountedAppender:
        """Begin a text that grows at its end."""
        return RecountedAppender(self, text)

    def prepender(self, text: str = "") -> RecountedPrepender:
        """Begin a text that grows at its beginning."""
        return RecountedPrepender(self, text)

    def _count_after(self, text: str) -> int:
        return self._encoding._count_allowed(text, self._allowed, at_start=False)

    def _safe_points(self, text: str, begin: int) -> Sequence[int]:
        return self._encoding._safe_points(text, begin)  # special tokens are taken into account

    @property
    def _safe_point_reach(self) -> int:
        return self._encoding._safe_point_reach
