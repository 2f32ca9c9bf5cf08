"""`CheckedFormat`: the base of formats that count plain copies of messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from cutline.chat.messages import plain_messages, plain_tools
from cutline.chat.protocols import Message, Tool
from cutline.checks import checked_flag

__all__ = ["CheckedFormat"]


class CheckedFormat(ABC):
    """A format that counts messages which have been checked and copied."""

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = (),
        add_generation_prompt: bool = True,
    ) -> int:
        """Count the tokens of a request.

        Args:
            messages: the messages, the oldest first.
            tools: the schemas of the tools that the model may call; None: there are none.
            add_generation_prompt: count what begins the model's answer, too; no effect where a
                function of yours counts whole requests.

        Raises:
            ChatError: (a ValueError) a message is not of the kind that the format has; names its
                index.
            TypeError: a message or a tool is no mapping.
        """
        is_prompted = checked_flag(add_generation_prompt, "add_generation_prompt")
        return self._count_request(plain_messages(messages), plain_tools(tools), is_prompted)

    @abstractmethod
    def _count_request(
        self, messages: list[dict[str, Any]], tools: Sequence[Tool], add_generation_prompt: bool
    ) -> int:
        """Count a request of checked messages."""
