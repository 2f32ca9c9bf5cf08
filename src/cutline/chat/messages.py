"""Messages as formats see them: plain copies, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from cutline.errors import ChatError, shown

__all__ = [
    "calls_of",
    "need_iterable",
    "need_json",
    "plain",
    "plain_message",
    "plain_messages",
    "plain_tools",
    "reasoned",
]


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
    opened = _opened(value)
    return f"<{type(value).__name__}>" if opened is _LACKING else plain(opened)


_LACKING: Final = object()


def _opened(value: Any) -> Any:
    """Return what an object of a dataclass, of pydantic or of numpy has, or `_LACKING`."""
    if isinstance(value, type):
        return _LACKING
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic
        return dump()
    is_scalar = hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0
    if is_scalar and callable(item := getattr(value, "item", None)):  # numpy
        return item()
    return _LACKING


def need_json(value: Any, where: str) -> None:
    """Refuse what JSON lacks, such as a date: its text is not known, so neither are its tokens.

    Raises:
        ChatError: (a ValueError) there is such a value; says where.
    """
    if value is None or isinstance(value, str | int | float):
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            need_json(key, where)
            need_json(item, where)
    elif isinstance(value, list | tuple):
        for item in value:
            need_json(item, where)
    elif (opened := _opened(value)) is not _LACKING:
        need_json(opened, where)
    else:
        raise ChatError(
            f"{where} has a value of type {type(value).__name__}, which JSON lacks: pass its text"
        )


_CALLS: Final = ("tool_calls", "function_call")
_LANGCHAIN_TYPES: Final = ("human", "ai", "system", "tool")


def plain_message(message: Any, index: int) -> dict[str, Any]:
    """Copy a message, without the fields that are None.

    Raises:
        ChatError: (a ValueError) it has no role, contains itself, has a content that is neither a
            text nor a list of parts, or calls with values that JSON lacks; names its index.
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
    _need_texts(_field(message, "content"), copied.get("content"), index)
    for key in _CALLS:
        if copied.get(key) is not None:
            need_json(_field(message, key), f"message {index}, {key!r},")
    return {key: item for key, item in copied.items() if item is not None}


def _need_texts(content: Any, copied: Any, index: int) -> None:
    """Refuse a content, or a part's text, of which the copy only names the type, such as bytes."""
    found = [("'content'", content, copied)]
    if isinstance(copied, list | tuple):
        found += [
            (f"content[{place}]['text']", _field(part, "text"), own.get("text"))
            for place, (part, own) in enumerate(zip(content, copied, strict=True))
            if isinstance(own, dict)
        ]
    for name, text, own in found:
        if isinstance(own, str) and not isinstance(text, str):
            hint = "decode it" if isinstance(text, bytes | bytearray | memoryview) else "pass a str"
            raise ChatError(
                f"message {index} has a {name} that is no text, but {type(text).__name__}: {hint}"
            )


def _field(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def plain_messages(messages: Iterable[Any], start: int = 0) -> list[dict[str, Any]]:
    """Copy messages, the first of which has the index `start`; see `plain_message`."""
    need_iterable(messages, "messages", "mappings")
    return [plain_message(message, index) for index, message in enumerate(messages, start)]


def plain_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Copy the schemas of tools; None: there are none.

    Raises:
        ChatError: (a ValueError) one contains itself, or values that JSON lacks; names its index.
        TypeError: one is no mapping.
    """
    if tools is None:
        return []
    need_iterable(tools, "tools", "schemas")
    return [_plain_tool(tool, place) for place, tool in enumerate(tools)]


def _plain_tool(tool: Any, place: int) -> dict[str, Any]:
    try:
        copied = plain(tool)
    except RecursionError:
        raise ChatError(f"tool {place} contains itself, or is nested too deep") from None
    if not isinstance(copied, dict):
        raise TypeError(f"tool {place} must be a schema, a mapping, got {shown(tool)}")
    need_json(tool, f"tool {place}")
    return copied


def need_iterable(several: Any, name: str, of: str) -> None:
    """Refuse one thing where several are taken.

    Raises:
        TypeError: it is a text or a mapping, or cannot be iterated.
    """
    if isinstance(several, str | bytes | Mapping) or not isinstance(several, Iterable):
        hint = ": put it into a list" if isinstance(several, Mapping) else ""
        raise TypeError(f"{name} must be a list of {of}, got {type(several).__name__}{hint}")


def calls_of(message: Mapping[str, Any], index: int) -> list[Any]:
    """Return the calls of tools in a message, and of a function as OpenAI's API had them before.

    Raises:
        ChatError: (a ValueError) they are no list.
    """
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list | tuple):
        raise ChatError(f"message {index} has 'tool_calls' that are no list: {shown(calls)}")
    legacy = message.get("function_call")
    return [*calls] if legacy is None else [*calls, {"type": "function", "function": legacy}]


_REASONING = ("reasoning_content", "thinking", "reasoning")


def reasoned(message: dict[str, Any]) -> dict[str, Any]:
    """Give a message's reasoning by all the names that templates read, as transformers does."""
    for key in _REASONING:
        if (reasoning := message.get(key)) is not None:
            return {"thinking": reasoning, **message, "reasoning_content": reasoning}
    return message
