"""`Message` and `ChatFormat`: what a chat request is made of, and what counts one."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from cutline.text_encoder import TextEncoder

__all__ = ["ChatFormat", "Message", "Tool", "need_chat_format"]

# As OpenAI's chat API and Hugging Face's templates have them: "role", "content" (a text, a list of
# parts, or None), and where they belong "name", "tool_calls", "tool_call_id".
Message: TypeAlias = Mapping[str, Any]

# A tool's schema, as in the "tools" of a request.
Tool: TypeAlias = Mapping[str, Any]


@runtime_checkable
class ChatFormat(Protocol):
    """How a model's requests are written: counts the tokens of a list of messages."""

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        add_generation_prompt: bool = True,
    ) -> int:
        """Count the tokens of a whole request.

        Args:
            messages: the messages, the oldest first.
            tools: the schemas of the tools that the model may call.
            add_generation_prompt: count what begins the model's answer, too.
        """
        ...


def need_chat_format(value: Any, argument: str) -> None:
    """Refuse what is no chat format.

    Raises:
        TypeError: it is none; texts, lists and encodings have a `count`, too, and are none.
    """
    if isinstance(value, Sequence | TextEncoder | type) or not isinstance(value, ChatFormat):
        got = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise TypeError(
            f"{argument} must be a chat format such as a ChatTemplate, got {got}: "
            "cutline.chat.format_for_model(...) makes one by name"
        )
