"""`Harmony`: requests to gpt-oss, counted as openai-harmony 0.0.8 renders them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from json import dumps
from typing import Any, Final, Literal, NamedTuple, Self

from cutline.chat.checked import CheckedFormat
from cutline.chat.messages import calls_of, plain_messages, plain_tools
from cutline.chat.protocols import Message, Tool
from cutline.chat.typescript import tools_section
from cutline.checks import checked_flag
from cutline.errors import ChatError, shown
from cutline.registry import get_encoding

__all__ = ["Harmony"]

_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_CONSTRAIN: Final = "<|constrain|>"

Dict = dict[str, Any]

_IDENTITY: Final = "You are ChatGPT, a large language model trained by OpenAI."
_USUAL: Final[Dict] = {
    "type": "system_content",
    "model_identity": _IDENTITY,
    "reasoning_effort": "Medium",
    "conversation_start_date": None,
    "knowledge_cutoff": "2024-06",
    "channel_config": {
        "valid_channels": ["analysis", "commentary", "final"],
        "channel_required": True,
    },
}


class Harmony(CheckedFormat):
    """Requests to gpt-oss, in OpenAI's harmony format.

    `encode` equals openai-harmony's `render_conversation_for_completion` of what `expand` returns,
    and `count` is its length. Analysis before the first final answer is left out once the last
    answer is final, as there. Text of special tokens in contents is ordinary text.

    Args:
        reasoning_effort: what the system message says.
        model_identity: likewise.
        knowledge_cutoff: likewise; None: nothing.
        conversation_start_date: likewise, such as "2025-08-06"; None: nothing.

    Raises:
        ChatError: (a ValueError) there is no such reasoning effort.
        TypeError: another argument is no text.

    Source: docs/chat.md, "Harmony".

    >>> format = Harmony(reasoning_effort="low")
    >>> format.count([{"role": "user", "content": "Hi"}])
    57
    """

    def __init__(
        self,
        *,
        reasoning_effort: Literal["low", "medium", "high"] = "medium",
        model_identity: str = _IDENTITY,
        knowledge_cutoff: str | None = "2024-06",
        conversation_start_date: str | None = None,
    ) -> None:
        if reasoning_effort not in ("low", "medium", "high"):
            raise ChatError(
                f"reasoning_effort must be 'low', 'medium' or 'high', got {shown(reasoning_effort)}"
            )
        texts = {
            "model_identity": model_identity,
            "knowledge_cutoff": knowledge_cutoff,
            "conversation_start_date": conversation_start_date,
        }
        for name, text in texts.items():
            if text is not None and not isinstance(text, str):
                raise TypeError(f"{name} must be a str or None, got {shown(text)}")
        self.encoding = get_encoding("o200k_harmony")
        self._system: Dict = {
            **_USUAL,
            **texts,
            "reasoning_effort": reasoning_effort.capitalize(),
        }

    def __repr__(self) -> str:
        return f"<Harmony, reasoning effort {self._system['reasoning_effort'].lower()}>"

    def expand(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] | None = ()
    ) -> list[Dict]:
        """Write messages as harmony's own, as its `Message.from_dict` reads them.

        A request begins with a system message, unless it brings one of harmony's, and tools are in
        the first developer message. Texts of "system" and "developer" become instructions;
        "reasoning_content" a message in the channel "analysis"; a tool's call, and its result,
        messages in "commentary"; other answers are in the channel "final".

        Args:
            messages: the messages, as for OpenAI's chat API or harmony's own.
            tools: the schemas of functions.

        Raises:
            ChatError: (a ValueError) a message has what harmony lacks, such as an image; names
                its index.
        """
        expander = _Expander(self._system, plain_tools(tools))
        checked = plain_messages(messages)
        head = [*expander.head(checked[0] if checked else None)]
        return head + [part for i, m in enumerate(checked) for part in expander.expand(m, i)]

    def encode(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = (),
        add_generation_prompt: bool = True,
    ) -> list[int]:
        """Encode a request.

        Args:
            messages: as for `expand`.
            tools: as for `expand`.
            add_generation_prompt: end with what begins the model's answer.

        Raises:
            ChatError: (a ValueError) as `expand`.
        """
        is_prompted = checked_flag(add_generation_prompt, "add_generation_prompt")
        expanded = self.expand(messages, tools=tools)
        has_functions = any(map(_has_functions, expanded))
        last = next((m for m in reversed(expanded) if m["role"] == "assistant"), {})
        finals = [place for place, m in enumerate(expanded) if m.get("channel") == "final"]
        dropped_before = finals[0] if finals and last.get("channel") == "final" else 0
        tokens: list[int] = []
        for place, message in enumerate(expanded):
            if place >= dropped_before or message.get("channel") != "analysis":
                for text in _parts(message, has_functions):
                    tokens += self._encode_part(text)
        if is_prompted:
            tokens += self._encode_part(_Token("<|start|>"))
            tokens += self._encode_part("assistant")
        return tokens

    def _encode_part(self, part: str) -> list[int]:
        if isinstance(part, _Token):
            return [self.encoding.encode_single_token(part)]
        return self.encoding.encode_ordinary(part)

    def _count_request(
        self, messages: list[Dict], tools: Sequence[Tool], add_generation_prompt: bool
    ) -> int:
        growing = self.growing(tools)
        growing.extend(messages)
        return growing.count() - (0 if add_generation_prompt else 2)

    def growing(self, tools: Sequence[Tool] | None = ()) -> _GrowingHarmony:
        """Begin a request that grows, for a `Conversation`."""
        return _GrowingHarmony(self, self._system, plain_tools(tools))

    def _count(self, message: Dict, has_functions: bool) -> int:
        """Count a harmony message."""
        count = self.encoding.count
        parts = _parts(message, has_functions)
        return sum(1 if isinstance(part, _Token) else count(part) for part in parts)


class _Token(str):
    """A special token, unlike text that spells one."""

    __slots__ = ()


class _State(NamedTuple):
    """The counts after a message.

    Attributes:
        total: tokens of all messages.
        analysis: tokens of those in "analysis" before the first final one.
        has_final: there is a final one.
        ends_final: the last answer is a final one.
        replaced: what its calls have replaced in the names of functions, by the calls' ids.
        has_functions: a message has brought functions.
    """

    total: int
    analysis: int
    has_final: bool
    ends_final: bool
    replaced: Mapping[str, str | None]
    has_functions: bool = False


class _GrowingHarmony:
    """A request that grows."""

    def __init__(self, harmony: Harmony, system: Dict, tools: list[Dict]) -> None:
        self._format, self._system, self._tools = harmony, system, tools
        self._messages: list[Dict] = []
        self._states: list[_State] = []
        self._calls: dict[str, str] = {}  # the names of functions, by the calls' ids
        self._has_functions = bool(tools)

    def extend(self, messages: Iterable[Dict]) -> None:
        self._messages += messages

    def truncate(self, n_messages: int) -> None:
        del self._messages[n_messages:]
        self._forget(n_messages)

    def _forget(self, n_messages: int) -> None:
        """Forget what is known of the messages from a place on."""
        for state in reversed(self._states[n_messages:]):
            for identity, name in state.replaced.items():
                if name is None:
                    del self._calls[identity]
                else:
                    self._calls[identity] = name
        del self._states[n_messages:]

    def copy(self) -> Self:
        twin = type(self)(self._format, self._system, self._tools)
        twin._messages, twin._states = self._messages.copy(), self._states.copy()
        twin._calls, twin._has_functions = self._calls.copy(), self._has_functions
        return twin

    def count(self) -> int:
        known = self._states
        has = bool(self._tools) or any(map(_has_functions, self._messages[len(known) :]))
        has = has or bool(known and known[-1].has_functions)
        if has != self._has_functions:
            # The system message says whether there are functions.
            self._has_functions = has
            self._forget(0)
        if not self._messages:
            return self._head(None).total + 2
        while len(known) < len(self._messages):
            message, index = self._messages[len(known)], len(known)
            state = known[-1] if index else self._head(message)
            called: dict[str, str] = {}
            expander = _Expander(self._system, self._tools, ChainMap(called, self._calls))
            state = self._after(state, [*expander.expand(message, index)])
            known.append(state._replace(replaced={one: self._calls.get(one) for one in called}))
            self._calls.update(called)
        state = known[-1]
        return state.total - (state.analysis if state.ends_final else 0) + 2

    def _head(self, first: Dict | None) -> _State:
        expander = _Expander(self._system, self._tools)
        return self._after(_State(0, 0, False, False, {}), expander.head(first))

    def _after(self, state: _State, messages: Iterable[Dict]) -> _State:
        total, analysis, has_final, ends_final, _, has_functions = state
        for message in messages:
            count = self._format._count(message, self._has_functions)
            channel = message.get("channel")
            total += count
            has_final = has_final or channel == "final"
            if channel == "analysis" and not has_final:
                analysis += count
            if message["role"] == "assistant":
                ends_final = channel == "final"
            has_functions = has_functions or _has_functions(message)
        return _State(total, analysis, has_final, ends_final, {}, has_functions)


class _Expander:
    """Writes messages of OpenAI's chat API as harmony's."""

    def __init__(
        self, system: Dict, tools: list[Dict], calls: MutableMapping[str, str] | None = None
    ) -> None:
        self._system = system
        self._functions = [_function_of(tool, place) for place, tool in enumerate(tools)]
        self.calls: MutableMapping[str, str] = {} if calls is None else calls

    def head(self, first: Dict | None) -> Iterable[Dict]:
        """Yield what comes before the first message."""
        content = None if first is None else first.get("content")
        if not _has_part(content, "system_content"):
            yield {"role": "system", "content": [self._system]}
            if self._functions and (first is None or not _is_instruction(first)):
                yield self._instructions(None)

    def _instructions(self, text: str | None, with_tools: bool = True) -> Dict:
        content: Dict = {"type": "developer_content", "instructions": text}
        if self._functions and with_tools:
            content["tools"] = {"functions": {"name": "functions", "tools": self._functions}}
        return {"role": "developer", "content": [content]}

    def expand(self, message: Dict, index: int) -> Iterable[Dict]:
        """Yield what one message becomes."""
        role, content = message["role"], message.get("content", "")
        if role not in _ROLES:
            raise ChatError(f"message {index} has the role {role!r}, and harmony has {_ROLES}")
        is_own = _has_part(content, "system_content") or _has_part(content, "developer_content")
        if is_own or "channel" in message or "recipient" in message:
            yield _own(message, index)
            if index == 0 and self._functions and _has_part(content, "system_content"):
                yield self._instructions(None)
        elif _is_instruction(message):
            yield self._instructions(_text_of(content, index), with_tools=index == 0)
        elif role == "user":
            yield {**_named(message), "content": _texts_of(content, index)}
        elif role == "tool":
            yield self._result(message, index)
        else:
            yield from self._answer(message, index)

    def _result(self, message: Dict, index: int) -> Dict:
        name = message.get("name") or self.calls.get(str(message.get("tool_call_id")))
        if not name:
            raise ChatError(
                f"message {index} is a tool's result without 'name', and its 'tool_call_id' is "
                f"that of no call before: {message.get('tool_call_id')!r}"
            )
        return {
            "role": "tool",
            "name": name if "." in name else f"functions.{name}",
            "recipient": "assistant",
            "channel": "commentary",
            "content": _texts_of(message.get("content", ""), index),
        }

    def _answer(self, message: Dict, index: int) -> Iterable[Dict]:
        for key in ("reasoning_content", "thinking", "reasoning"):
            if reasoning := message.get(key):
                text = _text_of(reasoning, index)
                yield {"role": "assistant", "channel": "analysis", "content": [_part(text)]}
                break
        calls = calls_of(message, index)
        content = _texts_of(message.get("content", ""), index)
        if not calls or any(part["text"] for part in content):
            channel = "commentary" if calls else "final"
            yield {**_named(message), "channel": channel, "content": content}
        for place, call in enumerate(calls):
            called = call.get("function") if isinstance(call, dict) else None
            name = called.get("name") if isinstance(called, dict) else None
            if not isinstance(called, dict) or not isinstance(name, str):
                raise ChatError(f"message {index} has no function's name in tool_calls[{place}]")
            arguments = called.get("arguments", "{}")
            if not isinstance(arguments, str):
                arguments = dumps(arguments, ensure_ascii=False)
            if isinstance(identity := call.get("id"), str):
                self.calls[identity] = name
            yield {
                "role": "assistant",
                "channel": "commentary",
                "recipient": f"functions.{name}",
                "content_type": f"{_CONSTRAIN}json",
                "content": [_part(arguments)],
            }


def _part(text: str) -> Dict:
    return {"type": "text", "text": text}


def _has_part(content: Any, kind: str) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") == kind for part in content
    )


def _has_functions(message: Dict) -> bool:
    """Return whether a message of harmony's has functions among its tools."""
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "developer_content":
            space = (part.get("tools") or {}).get("functions") or {}
            if space.get("tools"):
                return True
    return False


def _is_instruction(message: Dict) -> bool:
    content = message.get("content", "")
    own = _has_part(content, "system_content") or _has_part(content, "developer_content")
    is_plain = not own and "channel" not in message and "recipient" not in message
    return message["role"] in ("system", "developer") and is_plain


def _named(message: Dict) -> Dict:
    return {key: message[key] for key in ("role", "name") if key in message}


def _own(message: Dict, index: int) -> Dict:
    """Check a message in harmony's own form."""
    role, content = message["role"], message.get("content", "")
    known = {"role", "name", "channel", "recipient", "content_type", "content"}
    if not message.keys() <= known:
        raise ChatError(f"message {index} has fields that harmony lacks: {message.keys() - known}")
    if role == "tool" and "name" not in message:
        raise ChatError(f"message {index} is a tool's result without 'name'")
    parts = [_part(content)] if isinstance(content, str) else content
    for place, part in enumerate(parts):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == f"{role}_content" and role in ("system", "developer"):
            continue
        if kind != "text" or not isinstance(part.get("text"), str):
            raise ChatError(f"message {index} has a part that harmony lacks, content[{place}]")
    # What one of harmony's own system messages leaves out is as usual there.
    parts = [{**_USUAL, **p} if p["type"] == "system_content" else p for p in parts]
    return {**message, "content": parts}


def _texts_of(content: Any, index: int) -> list[Dict]:
    """Return a content as parts of text."""
    if isinstance(content, str):
        return [_part(content)]
    if not isinstance(content, list):
        raise ChatError(f"message {index} has a 'content' that is no text: {content!r}")
    for place, part in enumerate(content):
        if not (isinstance(part, dict) and isinstance(part.get("text"), str)):
            raise ChatError(
                f"message {index} has a part that is no text, content[{place}]: gpt-oss takes "
                "texts only"
            )
    return [_part(part["text"]) for part in content]


def _text_of(content: Any, index: int) -> str:
    return "".join(part["text"] for part in _texts_of(content, index))


def _function_of(tool: Dict, place: int) -> Dict:
    function = tool.get("function", tool)
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise ChatError(f"tool {place} is no function with a name: {tool!r}")
    found = {"name": function["name"], "description": function.get("description") or ""}
    if function.get("parameters") is not None:
        found["parameters"] = function["parameters"]
    return found


# Writing


def _parts(message: Dict, has_functions: bool) -> Iterable[str]:
    """Yield the texts of a message, each encoded apart, and its special tokens."""
    role = message["role"]
    yield _Token("<|start|>")
    if role == "tool":
        yield message["name"]
    else:
        yield role
        if "name" in message:
            yield f":{message['name']}"
    recipient = message.get("recipient")
    if recipient is not None and recipient != "all":
        yield f" to={recipient}"
    if message.get("channel") is not None:
        yield _Token("<|channel|>")
        yield message["channel"]
    if (content_type := message.get("content_type")) is not None:
        if content_type.startswith(_CONSTRAIN):
            yield " "
            yield _Token(_CONSTRAIN)
            yield content_type.removeprefix(_CONSTRAIN)
        else:
            yield f" {content_type}"
    yield _Token("<|message|>")
    for part in message["content"]:
        if part["type"] == "text":
            yield part["text"]
        elif part["type"] == "system_content":
            yield _system_text(part, has_functions)
        else:
            yield _developer_text(part)
    calls = role == "assistant" and recipient is not None
    yield _Token("<|call|>" if calls else "<|end|>")


def _system_text(content: Mapping[str, Any], has_functions: bool) -> str:
    top = [content.get("model_identity")]
    if content.get("knowledge_cutoff") is not None:
        top.append(f"Knowledge cutoff: {content['knowledge_cutoff']}")
    if content.get("conversation_start_date") is not None:
        top.append(f"Current date: {content['conversation_start_date']}")
    sections = ["\n".join(filter(None, top))] if any(text is not None for text in top) else []
    if content.get("reasoning_effort") is not None:
        sections.append(f"Reasoning: {content['reasoning_effort'].lower()}")
    if content.get("tools"):
        sections.append(tools_section(content["tools"].values()))
    channels = content.get("channel_config")
    if channels and channels["valid_channels"]:
        section = f"# Valid channels: {', '.join(channels['valid_channels'])}."
        if channels["channel_required"]:
            section += " Channel must be included for every message."
        if has_functions:
            section += "\nCalls to these tools must go to the commentary channel: 'functions'."
        sections.append(section)
    return "\n\n".join(sections)


def _developer_text(content: Mapping[str, Any]) -> str:
    sections = []
    if content.get("instructions") is not None:
        sections += ["# Instructions", content["instructions"]]
    if content.get("tools"):
        sections.append(tools_section(content["tools"].values()))
    return "\n\n".join(sections)
