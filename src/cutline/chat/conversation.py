"""`Conversation`: a chat request that grows message by message, with its token count."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, Protocol, Self

from cutline.chat.messages import plain, plain_messages, plain_tools
from cutline.chat.protocols import ChatFormat, Message, Tool, need_chat_format
from cutline.checks import checked_budget, checked_integer
from cutline.errors import OffsetError, shown

__all__ = ["Conversation", "Growing", "Recounted"]

_process = object()
"""Stands for this process: another one after a fork."""


def _begin_process() -> None:
    global _process
    _process = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_process)


class Growing(Protocol):
    """A request that grows; what a format's `growing(tools)` returns."""

    def extend(self, messages: Iterable[dict[str, Any]]) -> None:
        """Add checked messages, which nobody changes."""

    def truncate(self, n_messages: int) -> None:
        """Keep the first messages."""

    def count(self) -> int:
        """Count the tokens of the request, with what begins the answer."""

    def copy(self) -> Self:
        """Return an independent one with the same messages."""


class Recounted:
    """A request of a format that can only count whole ones."""

    def __init__(self, chat_format: ChatFormat, tools: Sequence[Tool]) -> None:
        self._format, self._tools = chat_format, tools
        self._messages: list[dict[str, Any]] = []

    def extend(self, messages: Iterable[dict[str, Any]]) -> None:
        """Add checked messages."""
        self._messages += messages

    def truncate(self, n_messages: int) -> None:
        """Keep the first messages."""
        del self._messages[n_messages:]

    def count(self) -> int:
        """Count the tokens of the request."""
        return self._format.count(self._messages, tools=self._tools)

    def copy(self) -> Self:
        """Return an independent one with the same messages."""
        twin = type(self)(self._format, self._tools)
        twin._messages = self._messages.copy()
        return twin


class _OneThread:
    """What a block of one thread at a time is in; a fork does not leave it locked in the child."""

    __slots__ = ("_busy", "_locks")

    def __init__(self) -> None:
        self._locks: dict[object, RLock] = {}
        self._busy: object = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for other threads, then be the only one.

        Raises:
            RuntimeError: a thread was inside when the process was forked; it is not there now, and
                what it worked on is half done.
        """
        process = _process
        # In a child not the one of its parent; the same one in all threads that ask first.
        with self._locks.get(process) or self._locks.setdefault(process, RLock()):
            before = self._busy
            if before is not None and before is not process:
                raise RuntimeError(
                    "this process was forked while a thread used the conversation: fork before, "
                    "or work on a copy"
                )
            self._busy = process
            try:
                yield
            finally:
                self._busy = before


class Conversation:
    """A chat request that grows message by message, with its token count.

    Args:
        format: how the model's requests are written, such as a `ChatTemplate`.
        messages: the first messages, the oldest first.
        tools: the schemas of the tools that the model may call; None: there are none.

    Raises:
        ChatError: (a ValueError) a message has no role; names its index.
        TypeError: a message is no mapping, or the format is none.

    Messages are copied: a later change of one has no effect here. Any number of threads may use
    a conversation; each call is done whole. Where a thread used it at the moment of a fork, every
    call in the child raises `RuntimeError`.

    Cost: that of a message's own length, however long the history, where the format allows it;
    docs/chat.md, "How a message costs its own length", says which templates do. Otherwise the
    request is written whole for each count, and its tokens are counted from the first change on.
    Source: docs/chat.md, "Conversations".

    >>> import cutline
    >>> template = "{% for m in messages %}<|endoftext|>{{ m.role }}: {{ m.content }}{% endfor %}"
    >>> format = cutline.ChatTemplate(template, "gpt2")
    >>> chat = cutline.Conversation(format, [{"role": "user", "content": "Hi"}])
    >>> chat.count
    4
    >>> chat.append({"role": "assistant", "content": "Hello!"})
    >>> chat.count, format.count(chat.messages)
    (10, 10)
    """

    __slots__ = ("__weakref__", "_count", "_growing", "_messages", "_threads", "format", "tools")

    format: ChatFormat
    tools: tuple[Tool, ...]

    def __init__(
        self,
        format: ChatFormat,  # noqa: A002 (what it is)
        messages: Iterable[Message] = (),
        tools: Iterable[Tool] | None = (),
    ) -> None:
        need_chat_format(format, "format")
        self.format = format
        self.tools = tuple(plain_tools(tools))
        self._growing = _begin(format, self.tools)
        self._messages: list[dict[str, Any]] = []
        self._count: int | None = None
        self._threads = _OneThread()
        self.extend(messages)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Copies of the messages; fields that were None are left out.

        Cost: linear in the number of their values; texts are not copied.
        """
        with self._threads.alone():
            messages = [*self._messages]
        return [plain(message) for message in messages]

    def __len__(self) -> int:
        with self._threads.alone():
            return len(self._messages)

    @property
    def count(self) -> int:
        """The tokens of the request as it is sent, with what begins the model's answer.

        Raises:
            ChatError: (a ValueError) the format refuses the messages.
        """
        with self._threads.alone():
            if self._count is None:
                self._count = self._growing.count()
            return self._count

    def append(self, message: Message) -> None:
        """Add a message.

        Raises:
            ChatError, TypeError: as the constructor; then nothing is added.
        """
        self.extend((message,))

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages.

        Raises:
            ChatError, TypeError: as the constructor; then none is added.
        """
        with self._threads.alone():
            start = len(self._messages)
            copied = plain_messages(messages, start)
            if copied:
                self._growing.extend(copied)
                self._messages += copied
                self._count = None

    def fits(self, message: Message, max_tokens: int) -> bool:
        """Return whether the request would have at most `max_tokens` tokens with one message more.

        Nothing is changed.

        Raises:
            ValueError: max_tokens is negative.
            ChatError, TypeError: as `append` and `count`.

        Cost: that of `append` and `count`.

        >>> import cutline
        >>> template = "{% for m in messages %}{{ m.content }}{% endfor %}"
        >>> chat = cutline.Conversation(cutline.ChatTemplate(template, "gpt2"))
        >>> chat.fits({"role": "user", "content": "hello world"}, 1)
        False
        """
        budget = checked_budget(max_tokens)
        with self._threads.alone():
            n_messages, count = len(self._messages), self._count
            self.append(message)
            try:
                return self.count <= budget
            finally:
                self.truncate(n_messages)
                self._count = count

    def truncate(self, n_messages: int) -> None:
        """Keep the first messages.

        Raises:
            OffsetError: (a ValueError) there are not so many, or the number is negative.
            TypeError: it is no integer.
        """
        n_messages = checked_integer(n_messages, "n_messages")
        with self._threads.alone():
            if not 0 <= n_messages <= len(self._messages):
                raise OffsetError(
                    f"n_messages must be from 0 to {len(self._messages)}, got {shown(n_messages)}"
                )
            if n_messages < len(self._messages):
                del self._messages[n_messages:]
                self._growing.truncate(n_messages)
                self._count = None

    def message_counts(self) -> list[int]:
        """Count the tokens that each message adds to the request that ended before it.

        The first one adds what is sent with every request, too. Their sum is `count`.

        Raises:
            ChatError: (a ValueError) the format refuses the messages up to one of them.

        Cost: that of as many `append` and `count`.
        """
        growing, counts, before = _begin(self.format, self.tools), [], 0
        with self._threads.alone():
            messages = [*self._messages]
        for message in messages:
            growing.extend((message,))
            count = growing.count()
            counts.append(count - before)
            before = count
        return counts

    def copy(self) -> Self:
        """Return an independent conversation with the same messages.

        Cost: linear in the number of messages, for copying references.
        """
        twin = type(self).__new__(type(self))
        with self._threads.alone():
            twin.format, twin.tools = self.format, self.tools
            twin._messages, twin._count = self._messages.copy(), self._count
            twin._growing = self._growing.copy()
        twin._threads = _OneThread()
        return twin

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.format, self.messages, self.tools)

    def __repr__(self) -> str:
        return f"<Conversation of {self.format!r}: {len(self._messages)} messages>"


def _begin(chat_format: ChatFormat, tools: Sequence[Tool]) -> Growing:
    begin = getattr(chat_format, "growing", None)
    growing: Growing = Recounted(chat_format, tools) if begin is None else begin(tools)
    return growing
