"""Formats whose messages are counted one by one: `CustomFormat`, and the base of others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any, Self

from cutline.chat.checked import CheckedFormat
from cutline.chat.messages import plain_tools
from cutline.chat.protocols import Message, Tool
from cutline.checks import checked_budget
from cutline.errors import ChatError, shown

__all__ = ["AdditiveFormat", "CustomFormat"]


class AdditiveFormat(CheckedFormat):
    """A format whose requests are the sum of their messages and of what is sent with each."""

    def _count_request(
        self, messages: list[dict[str, Any]], tools: Sequence[Tool], add_generation_prompt: bool
    ) -> int:
        counts = map(self._count_message, messages, range(len(messages)))
        return sum(counts) + self._count_around(tools, add_generation_prompt)

    @abstractmethod
    def _count_message(self, message: dict[str, Any], index: int) -> int:
        """Count a checked message."""

    @abstractmethod
    def _count_around(self, tools: Sequence[Tool], add_generation_prompt: bool) -> int:
        """Count what is sent with every request."""

    def growing(self, tools: Sequence[Tool] | None = ()) -> GrowingSum:
        """Begin a request that grows, for a `Conversation`."""
        return GrowingSum(self._count_message, self._count_around(plain_tools(tools), True))


class GrowingSum:
    """The tokens of messages that are counted one by one."""

    def __init__(self, count_message: Callable[[dict[str, Any], int], int], around: int) -> None:
        self._count_message = count_message
        self._totals = [around]
        self._waiting: list[dict[str, Any]] = []

    def extend(self, messages: Iterable[dict[str, Any]]) -> None:
        """Add checked messages."""
        self._waiting += messages

    def truncate(self, n_messages: int) -> None:
        """Keep the first messages."""
        del self._waiting[max(n_messages - len(self._totals) + 1, 0) :]
        del self._totals[n_messages + 1 :]

    def count(self) -> int:
        """Count the tokens of the request."""
        known = len(self._totals)
        try:
            for message in self._waiting:
                more = self._count_message(message, len(self._totals) - 1)
                self._totals.append(self._totals[-1] + more)
        finally:  # the format may refuse one
            del self._waiting[: len(self._totals) - known]
        return self._totals[-1]

    def copy(self) -> Self:
        """Return an independent one with the same messages."""
        twin = type(self)(self._count_message, 0)
        twin._totals, twin._waiting = self._totals.copy(), self._waiting.copy()
        return twin


class CustomFormat(AdditiveFormat):
    """A format that is counted by your own function, for models that cannot be counted here.

    Args:
        count: takes the messages and the tools, and returns the tokens of the request.
        count_message: instead, takes one message and returns its tokens.
        around: with `count_message`, the tokens of what is sent with every request.

    Raises:
        TypeError: not just one function is given, or `around` with `count`.
        ValueError: `around` is negative.

    >>> import cutline
    >>> format = CustomFormat(count_message=lambda message: 4 + len(message["content"]) // 4)
    >>> cutline.Conversation(format, [{"role": "user", "content": "hello world"}]).count
    6
    """

    def __init__(
        self,
        count: Callable[[Sequence[Message], Sequence[Tool]], int] | None = None,
        *,
        count_message: Callable[[Message], int] | None = None,
        around: int = 0,
    ) -> None:
        if (count is None) == (count_message is None):
            raise TypeError("CustomFormat takes either count or count_message")
        for name, function in (("count", count), ("count_message", count_message)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be a function, got {shown(function)}")
        if count is not None and around:
            raise TypeError("around belongs to count_message: count counts the whole request")
        self._count_whole, self._count_one = count, count_message
        self._around = checked_budget(around, "around")

    def _count_request(
        self, messages: list[dict[str, Any]], tools: Sequence[Tool], add_generation_prompt: bool
    ) -> int:
        if self._count_whole is not None:
            return _checked(self._count_whole(messages, tools))
        return super()._count_request(messages, tools, add_generation_prompt)

    def _count_message(self, message: dict[str, Any], index: int) -> int:
        assert self._count_one is not None
        return _checked(self._count_one(message))

    def _count_around(self, tools: Sequence[Tool], add_generation_prompt: bool) -> int:
        return self._around

    def growing(self, tools: Sequence[Tool] | None = ()) -> Any:
        """Begin a request that grows, for a `Conversation`."""
        if self._count_whole is not None:
            from cutline.chat.conversation import Recounted

            return Recounted(self, plain_tools(tools))
        return super().growing(tools)


def _checked(count: Any) -> int:
    try:
        number = index(count)
    except TypeError:
        number = -1
    if number < 0:
        raise ChatError(f"the function that counts must return a count, got {shown(count)}")
    return number
