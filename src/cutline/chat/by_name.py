"""Chat formats by name, as the command line takes them."""

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from cutline.chat.additive import AdditiveFormat
from cutline.chat.harmony import Harmony
from cutline.chat.messages import calls_of, plain_messages
from cutline.chat.models import openai_estimate
from cutline.chat.protocols import ChatFormat, Message, Tool
from cutline.chat.template import ChatTemplate
from cutline.encoding import Encoding
from cutline.errors import ChatError, shown
from cutline.protocols import TokenCounter
from cutline.registry import encoding_of, token_counter_of
from cutline.vocabulary.models import encoding_of_model

__all__ = ["CHAT_FORMAT_NAMES", "chat_format_of"]


def chat_format_of(
    name: str | PathLike[str], encoding: TokenCounter | str = "o200k_base"
) -> ChatFormat:
    """Return the chat format of a name.

    Args:
        name: "chatml"; "plain", which counts the contents, calls and tools, and nothing around;
            "harmony" for gpt-oss; "openai:" and a model's name for an estimate of requests to
            OpenAI's API; or the path of a model's folder or chat template.
        encoding: an `Encoding`, its name, or a wrapped tokenizer, for "chatml", "plain" and the
            path of a template; the others have one of their own.

    Raises:
        ValueError: no format has this name.
        TypeError: the name is no text or path.
        UnknownModelError: (a KeyError) no encoding is known for this model.
        ChatError, VocabularyError, ImportError: as `ChatTemplate.load`.

    >>> chat_format_of("chatml").count([{"role": "user", "content": "hello world"}])
    10
    """
    if isinstance(name, PathLike):
        name = str(name)
    if not isinstance(name, str):
        raise TypeError(f"the name of a chat format must be a str or a path, got {shown(name)}")
    if name in _FORMATS:
        return _FORMATS[name](token_counter_of(encoding))
    if name == "harmony":
        return Harmony()
    if name.startswith(_ESTIMATE):
        return openai_estimate(name.removeprefix(_ESTIMATE))
    if Path(name).is_dir():
        return ChatTemplate.load(name)
    if Path(name).is_file():
        if isinstance(encoding, str):
            encoding = encoding_of(encoding)
        if not isinstance(encoding, Encoding):
            raise ValueError(f"a chat template needs an Encoding, got {shown(encoding)}")
        return ChatTemplate.load(name, encoding)
    hint = f"did you mean {_ESTIMATE}{name}? " if encoding_of_model(name) is not None else ""
    raise ValueError(
        f"no chat format {name!r}: {hint}there are {', '.join(CHAT_FORMAT_NAMES)}, and a model's "
        "folder or chat template by its path"
    )


class _Plain(AdditiveFormat):
    """The contents, calls and tools, and nothing around."""

    def __init__(self, encoding: TokenCounter) -> None:
        self._count = encoding.count

    def message_counts(self, messages: Sequence[Message]) -> list[int]:
        """Count the tokens of each message.

        Raises:
            ChatError: (a ValueError) as `count`.
        """
        return [*map(self._count_message, plain_messages(messages), range(len(messages)))]

    def _count_message(self, message: dict[str, Any], index: int) -> int:
        return self._count(_content(message, index))

    def _count_around(self, tools: Sequence[Tool], add_generation_prompt: bool) -> int:
        return self._count(json.dumps([*tools], ensure_ascii=False)) if tools else 0


class _ChatML(_Plain):
    """ChatML: role and content between <|im_start|> and <|im_end|>, one token each."""

    def _count_message(self, message: dict[str, Any], index: int) -> int:
        written = f"{message['role']}\n{_content(message, index)}"
        return 2 + self._count(written) + self._count("\n")

    def _count_around(self, tools: Sequence[Tool], add_generation_prompt: bool) -> int:
        begun = 1 + self._count("assistant\n") if add_generation_prompt else 0
        return super()._count_around(tools, add_generation_prompt) + begun


_FORMATS: Final[Mapping[str, Callable[[TokenCounter], ChatFormat]]] = {
    "chatml": _ChatML,
    "plain": _Plain,
}
_ESTIMATE: Final = "openai:"
CHAT_FORMAT_NAMES: Final = (*_FORMATS, "harmony", f"{_ESTIMATE}MODEL")


def _content(message: dict[str, Any], place: int) -> str:
    """Return the text of a message, with its calls as JSON.

    Raises:
        ChatError: (a ValueError) its content, or a part of it, is no text, or its calls no list.
    """
    content: Any = message.get("content") or ""
    if not isinstance(content, str | list | tuple):
        raise ChatError(f"message {place} has a 'content' that is no text: {content!r:.200}")
    parts = [content] if isinstance(content, str) else [*map(_text, content)]
    if None in parts:
        raise ChatError(f"message {place} has a part that is no text: {content!r:.200}")
    calls = [json.dumps(call, ensure_ascii=False) for call in calls_of(message, place)]
    return "\n".join([*parts, *calls])


def _text(part: Any) -> str | None:
    """Return the text of a part of a content; None: it has none."""
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else None
