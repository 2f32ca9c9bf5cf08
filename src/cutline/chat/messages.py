"""Messages as formats see them: plain copies, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from cutline.errors import ChatError

__all__ = ["plain", "plain_message", "plain_messages", "reasoned"]


def plain(value: Any) -> Any:
    """Copy a value as what JSON has; what JSON lacks becomes a text that names its type."""
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is int or kind is float:
        return value
    if kind is dict:
        return {plain(key): plain(item) for key, item in value.items()}
    if kind is list:
        return [plain(item) for item in value]
    return _plain_of_others(value)


def _plain_of_others(value: Any) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic
        return plain(dump())
    if callable(item := getattr(value, "item", None)) and hasattr(value, "dtype"):  # numpy
        return plain(item()) if getattr(value, "ndim", 1) == 0 else f"<{type(value).__name__}>"
    return f"<{type(value).__name__}>"


_LANGCHAIN_TYPES: Final = ("human", "ai", "system", "tool")


def plain_message(message: Any, index: int) -> dict[str, Any]:
    """Copy a message, without the fields that are None.

    Raises:
        ChatError: (a ValueError) it has no role, or contains itself; names its index.
        TypeError: it is no mapping.
    """
    try:
        copied = plain(message)
    except RecursionError:
        raise ChatError(f"message {index} contains itself, or is nested too deep") from None
    if not isinstance(copied, dict):
        raise TypeError(
            f"message {index} must be a mapping such as {{'role': 'user', 'content': 'Hi'}}, got "
            f"{type(message).__name__}"
        )
    role = copied.get("role")
    if not isinstance(role, str):
        said = "has no 'role'" if role is None else f"has a 'role' that is no text: {role!r}"
        hint = "it must say who speaks, such as 'user'"
        if copied.get("type") in _LANGCHAIN_TYPES:
            hint = "LangChain's get one by its convert_to_openai_messages"
        raise ChatError(f"message {index} {said}: {hint}")
    content = message.get("content") if isinstance(message, Mapping) else ""
    if isinstance(content, bytes | bytearray | memoryview):
        kind = type(content).__name__
        raise ChatError(f"message {index} has a 'content' that is no text, but {kind}: decode it")
    return {key: item for key, item in copied.items() if item is not None}


def plain_messages(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Copy messages; see `plain_message`."""
    if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):
        raise TypeError(f"messages must be a list of mappings, got {type(messages).__name__}")
    return [plain_message(message, index) for index, message in enumerate(messages)]


_REASONING = ("reasoning_content", "thinking", "reasoning")


def reasoned(message: dict[str, Any]) -> dict[str, Any]:
    """Give a message's reasoning by all the names that templates read, as transformers does."""
    for key in _REASONING:
        if (reasoning := message.get(key)) is not None:
            return {"thinking": reasoning, **message, "reasoning_content": reasoning}
    return message
