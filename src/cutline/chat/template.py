"""`ChatTemplate`: requests written by a Hugging Face chat template, counted exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from cutline.chat.compiling import compiled, planned, render_whole
from cutline.chat.growing import count_with_special
from cutline.chat.messages import (
    need_json,
    plain,
    plain_messages,
    plain_tools,
    reasoned,
)
from cutline.chat.protocols import Message, Tool
from cutline.checks import checked_flag
from cutline.errors import ChatError, shown
from cutline.extras import need
from cutline.registry import encoding_of

if TYPE_CHECKING:
    from cutline.chat.contents import Contents
    from cutline.chat.rendering import GrowingRequest
    from cutline.encoding import Encoding
    from cutline.pretrained.chat_files import ChatFiles

__all__ = ["ChatTemplate"]

_TAG = "CONTINUE_FINAL_MESSAGE_TAG "


class ChatTemplate:
    """A model's chat template with its encoding: writes requests as transformers does.

    `encode` equals `apply_chat_template(..., tokenize=True)` of transformers 5.23, and `count` is
    its length. Special tokens in the text are encoded as such, also those that a message's own
    content spells.

    Args:
        template: a template of jinja2; or several by name, of which "tool_use" is for requests
            with tools, and "default" for all others.
        encoding: the model's, or its name.
        special_tokens: what the template calls "bos_token", "eos_token" and so on.
        variables: what else it is given, such as {"enable_thinking": False}.
        contents_as_text: text of special tokens in messages, tools and documents is ordinary text,
            so that no message can end itself or begin another one. transformers makes special
            tokens of it, and so does this by default.

    Raises:
        ChatError: (a ValueError) the template is no valid one; or contents cannot be taken as
            text with this encoding.
        TypeError: the template is no text, and no mapping of names to texts.
        ImportError: jinja2 is not installed: pip install 'cutline[chat]'.

    A template is a program of strangers. It runs in jinja2's sandbox and within the limits of
    docs/chat.md, "Limits".

    Cost: linear in the rendered text; a `Conversation` counts one more message at its own length.
    Source: docs/chat.md.

    >>> import cutline
    >>> template = "{% for m in messages %}{{ m.role }}: {{ m.content }}<|endoftext|>{% endfor %}"
    >>> chat = cutline.ChatTemplate(template, "gpt2")
    >>> chat.render([{"role": "user", "content": "Hi"}])
    'user: Hi<|endoftext|>'
    >>> chat.count([{"role": "user", "content": "Hi"}])
    4
    """

    def __init__(
        self,
        template: str | Mapping[str, str],
        encoding: Encoding | str,
        *,
        special_tokens: Mapping[str, str] | None = None,
        variables: Mapping[str, Any] | None = None,
        contents_as_text: bool = False,
    ) -> None:
        need("jinja2", "a chat template", "chat")
        self._sources = _sources_of(template)
        self.encoding = encoding_of(encoding)
        self._given = {**(special_tokens or {}), **_plain_options(variables or {})}
        self._contents: Contents | None = None
        if checked_flag(contents_as_text, "contents_as_text"):
            from cutline.chat.contents import Contents

            self._contents = Contents.of(self.encoding)
        for source in self._sources.values():
            compiled(source)

    @classmethod
    def load(
        cls,
        folder: str | PathLike[str],
        encoding: Encoding | str | None = None,
        *,
        contents_as_text: bool = False,
    ) -> Self:
        """Read a model's template and special tokens from its folder.

        Args:
            folder: has chat_template.jinja, additional_chat_templates, chat_template.json or
                tokenizer_config.json; or one of these files itself.
            encoding: by default the tokenizer in the folder, as `cutline.load` reads it.
            contents_as_text: as of the constructor.

        Raises:
            ChatError: (a ValueError) there is no template, or it is no valid one.
            VocabularyError: (a ValueError) a file is damaged.
            OSError: a file cannot be read.
        """
        from pathlib import Path

        from cutline.pretrained.chat_files import read_chat_files
        from cutline.registry import load

        path = Path(folder)
        found = read_chat_files(path)
        if encoding is None:
            encoding = load(path if path.is_dir() else path.parent)
        return cls._of(found, encoding, contents_as_text)

    @classmethod
    def _of(cls, found: ChatFiles, encoding: Encoding | str, contents_as_text: bool) -> Self:
        return cls(
            found.templates,
            encoding,
            special_tokens=found.special_tokens,
            contents_as_text=contents_as_text,
        )

    @classmethod
    def from_pretrained(
        cls,
        name: str | PathLike[str],
        *,
        revision: str | None = None,
        token: str | bool | None = None,
        local_files_only: bool = False,
        contents_as_text: bool = False,
    ) -> Self:
        """Load a model's template and encoding from the Hugging Face Hub, or from a folder.

        Args:
            name: as for `cutline.from_pretrained`, as are the others.
            revision: a branch, a tag or a commit's hash.
            token: an access token.
            local_files_only: use the cache only.
            contents_as_text: as of the constructor.

        Raises:
            ChatError: (a ValueError) the model has no chat template.
            UnknownEncodingError, HubError, VocabularyError: as `cutline.from_pretrained`.
        """
        from cutline.pretrained.chat_files import CHAT_FILES, read_chat_files
        from cutline.pretrained.hub import fetch_files, local_path
        from cutline.registry import from_pretrained

        if (path := local_path(name)) is not None:
            return cls.load(path, contents_as_text=contents_as_text)
        options: dict[str, Any] = {"token": token, "local_files_only": local_files_only}
        encoding = from_pretrained(name, revision=revision, **options)
        commit = encoding._source["revision"]
        folder = fetch_files(str(name), CHAT_FILES, revision=commit, **options)
        return cls._of(read_chat_files(folder), encoding, contents_as_text)

    def __repr__(self) -> str:
        return f"<ChatTemplate of {self.encoding.name!r}>"

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = (),
        add_generation_prompt: bool = True,
        documents: Sequence[Mapping[str, Any]] | None = None,
        continue_final_message: bool | str = False,
        **variables: Any,
    ) -> str:
        """Write a request as the model's template does.

        Args:
            messages: the messages, the oldest first.
            tools: the schemas of the tools that the model may call.
            add_generation_prompt: end with what begins the model's answer; not the default of
                transformers.
            documents: for templates that take them.
            continue_final_message: end within the last message, whose content, or field of this
                name, the model is to continue; then there is no generation prompt.
            variables: what else the template takes.

        Raises:
            ChatError: (a ValueError) the template refuses the messages, lacks a field, or was
                stopped; names the message where that is known.
        """
        options = {"documents": documents, "continue_final_message": continue_final_message}
        options = {**variables, **options, "add_generation_prompt": add_generation_prompt}
        return self._written(_Request.of(messages, tools, options))

    def _written(self, request: _Request) -> str:
        chat, tools, options = request.messages, request.tools, {**request.options}
        if not chat:
            raise ChatError("a request needs at least one message, got none")
        chat = [reasoned(message) for message in chat]
        prompt = checked_flag(options.pop("add_generation_prompt", True), "add_generation_prompt")
        source, field = self._source_for(tools), ""
        if continues := options.pop("continue_final_message", False):
            field = continues if isinstance(continues, str) else "content"
            chat[-1] = plain(chat[-1])
            continued, prompt = _mark_end(chat, field, source), False
        given = self._variables(tools, options)
        given["add_generation_prompt"] = prompt
        text = render_whole(compiled(source), chat, given)
        return _cut_at_mark(text, continued) if field else text

    def encode(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] | None = (), **options: Any
    ) -> list[int]:
        """Encode a request.

        Args:
            messages: as for `render`.
            tools: as for `render`.
            options: the other arguments of `render`.

        Returns:
            Token ids; nothing is added to those of the rendered text.

        Raises:
            ChatError: as `render`.
        """
        request = _Request.of(messages, tools, options)
        text = self._written(request)
        if self._has_special(request):
            return self._encode_as_text(text, request)
        return self.encoding.encode(text, allowed_special="all", disallowed_special=())

    def _has_special(self, request: _Request) -> bool:
        """Return whether there are texts of special tokens that are to be ordinary text."""
        contents = self._contents
        return contents is not None and contents.has_special(request.contents)

    def _encode_as_text(self, text: str, request: _Request) -> list[int]:
        """Encode a request, rendered as `text`, with its contents as ordinary text."""
        contents = self._contents
        assert contents is not None
        mark = contents.mark_for([request.contents, text])
        written = self._written(request.with_contents(contents.marked(request.contents, mark)))
        if written.replace(mark, "") != text:
            raise ChatError(
                "the chat template changes text of special tokens in the messages, so that it "
                "cannot be told what is text"
            )
        return contents.encode(written, mark)

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = (),
        add_generation_prompt: bool = True,
        **options: Any,
    ) -> int:
        """Count the tokens of a request.

        Args:
            messages: as for `render`.
            tools: as for `render`.
            add_generation_prompt: as for `render`.
            options: the other arguments of `render`.

        Raises:
            ChatError: as `render`.
        """
        options["add_generation_prompt"] = add_generation_prompt
        request = _Request.of(messages, tools, options)
        text = self._written(request)
        if self._has_special(request):
            return len(self._encode_as_text(text, request))
        return count_with_special(self.encoding, text)

    def growing(self, tools: Sequence[Tool] | None = ()) -> GrowingRequest:
        """Begin a request that grows, for a `Conversation`."""
        from cutline.chat.contents import GrowingAsText
        from cutline.chat.rendering import GrowingRequest

        tools = plain_tools(tools)
        source = self._source_for(tools)
        given = self._variables(tools, {})
        given["add_generation_prompt"] = True
        parts = self.encoding, compiled(source), planned(source), given
        if self._contents is None:
            return GrowingRequest(*parts)
        count = partial(self.count, tools=tools)
        return GrowingAsText(*parts).begin(self._contents, count, self._contents.has_special(tools))

    def _source_for(self, tools: Sequence[Tool]) -> str:
        """Choose a template."""
        for name in ("tool_use", "default") if tools else ("default",):
            if name in self._sources:
                return self._sources[name]
        raise ChatError(
            f"there are chat templates named {', '.join(map(repr, self._sources))}, and none is "
            "the default: pass one of them to ChatTemplate"
        )

    def _variables(self, tools: list[dict[str, Any]], options: Mapping[str, Any]) -> dict[str, Any]:
        documents = options.get("documents")
        return {**self._given, **options, "tools": tools or None, "documents": documents}


class _Request(NamedTuple):
    """A checked copy of a request.

    Attributes:
        messages: as of `ChatTemplate.render`.
        tools: likewise.
        options: its other arguments, by name.
    """

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    options: dict[str, Any]

    @classmethod
    def of(
        cls, messages: Any, tools: Sequence[Tool] | None, options: Mapping[str, Any]
    ) -> _Request:
        """Check and copy a request, whose messages and tools may be read only once."""
        return cls(plain_messages(messages), plain_tools(tools), _plain_options(options))

    @property
    def contents(self) -> list[Any]:
        """What others have written: messages, tools and documents."""
        return [self.messages, self.tools, self.options.get("documents")]

    def with_contents(self, contents: list[Any]) -> _Request:
        """Return the same request with other contents."""
        messages, tools, documents = contents
        return self._replace(
            messages=messages, tools=tools, options={**self.options, "documents": documents}
        )


def _plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Copy what else a template is given.

    Raises:
        ChatError: one has a value that JSON lacks; names it.
    """
    for name, value in options.items():
        need_json(value, repr(name))
    copied: dict[str, Any] = plain(dict(options))
    return copied


def _sources_of(template: Any) -> dict[str, str]:
    """Return templates by name.

    Raises:
        TypeError: there is no text, or no mapping of names to texts.
    """
    sources = {"default": template} if isinstance(template, str) else template
    if not isinstance(sources, Mapping) or not all(isinstance(x, str) for x in sources.values()):
        raise TypeError(
            f"template must be a str, or a mapping of names to such, got {shown(template)}: "
            "ChatTemplate.load(...) reads a folder or a file"
        )
    return dict(sources)


def _mark_end(chat: list[dict[str, Any]], field: str, source: str) -> str:
    """Mark where the last message ends; return what is to be continued."""
    final = chat[-1]
    content = final.get(field)
    if content is None:
        raise ChatError(f"the last message has no {field!r} to continue")
    names = [field]
    if field in ("reasoning_content", "thinking", "reasoning"):
        names = [n for n in ("reasoning_content", "thinking", "reasoning") if n in final]
        names = [name for name in names if final[name] == content]
    if not any(name in source for name in names):
        raise ChatError(f"the chat template reads no {field!r}, so that it cannot be continued")
    if isinstance(content, list | tuple):
        for part in reversed(content):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                text: str = part["text"]
                part["text"] += _TAG
                return text
        raise ChatError(f"the {field!r} of the last message has no text to continue")
    if not isinstance(content, str):
        raise ChatError(f"the {field!r} of the last message is no text to continue: {content!r}")
    for name in names:
        final[name] += _TAG
    return content


def _cut_at_mark(text: str, continued: str) -> str:
    """Cut a rendered text where the last message ends."""
    place = text.rfind(_TAG.strip())
    if place < 0 or continued.strip() not in text:
        raise ChatError("the chat template changes the last message, so it cannot be continued")
    cut = text[:place]
    return cut if text.startswith(_TAG, place) else cut.rstrip()
