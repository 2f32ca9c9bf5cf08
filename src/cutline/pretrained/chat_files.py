"""Reads a model's chat templates and special tokens from the files beside its tokenizer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from cutline.errors import ChatError, VocabularyError
from cutline.pretrained.side_files import CONFIG_NAME, ROLES, SideFile

__all__ = ["CHAT_FILES", "ChatFiles", "read_chat_files"]

_TEMPLATE: Final = "chat_template.jinja"
_OF_PROCESSOR: Final = "chat_template.json"
_MORE: Final = "additional_chat_templates"
_TOKENS: Final = "special_tokens_map.json"

CHAT_FILES: Final = (CONFIG_NAME, _TEMPLATE, _OF_PROCESSOR, _TOKENS, f"{_MORE}/*.jinja")


class ChatFiles(NamedTuple):
    """What the files say.

    Attributes:
        templates: the templates by name; the usual one is "default".
        special_tokens: texts of special tokens, by what templates call them.
    """

    templates: Mapping[str, str]
    special_tokens: Mapping[str, str]


def read_chat_files(path: Path) -> ChatFiles:
    """Read the templates of a folder, or of one of its files.

    A file for the templates alone counts before tokenizer_config.json, as for transformers.

    Raises:
        ChatError: there is no template.
        VocabularyError: a file is damaged; names it and the key.
        OSError: one cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    config = SideFile(folder / CONFIG_NAME)
    if path.is_dir():
        templates = _templates_of(config)
        templates = {**_templates_of(SideFile(folder / _OF_PROCESSOR)), **templates}
        more = {file.stem: _text_of(file) for file in sorted((folder / _MORE).glob("*.jinja"))}
        if (folder / _TEMPLATE).is_file():
            templates = {"default": _text_of(folder / _TEMPLATE), **more}
        elif more:
            templates = more
    elif path.suffix == ".json":
        templates = _templates_of(SideFile(path))
    else:
        templates = {"default": _text_of(path)}
    if not templates:
        raise ChatError(
            f"{path} has no chat template: {_TEMPLATE} and {CONFIG_NAME} may contain one; "
            "pass it to ChatTemplate(template, encoding)"
        )
    named = _special_tokens_of(config) or _special_tokens_of(SideFile(folder / _TOKENS))
    return ChatFiles(templates, named)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path} is not UTF-8: {error}") from None


def _templates_of(file: SideFile) -> dict[str, str]:
    """Return a file's templates by name."""
    found: Any = file.values.get("chat_template")
    if found is None:
        return {}
    if isinstance(found, str):
        return {"default": found}
    if isinstance(found, list):
        try:
            found = {template["name"]: template["template"] for template in found}
        except (TypeError, KeyError):
            found = None
    is_named = isinstance(found, dict) and all(isinstance(t, str) for t in found.values())
    if not is_named:
        got = file.values["chat_template"]
        raise file.damaged("chat_template", got, "a text, or texts with their names")
    named: dict[str, str] = found
    return named


def _special_tokens_of(file: SideFile) -> dict[str, str]:
    """Return the special tokens that a file names."""
    tokens: dict[str, str] = {}
    for name in ROLES:
        token = file.values.get(name)
        if isinstance(token, dict):
            token = token.get("content")
        if isinstance(token, str):
            tokens[name] = token
        elif token is not None:
            raise file.damaged(name, file.values[name], "a token's text")
    return tokens
