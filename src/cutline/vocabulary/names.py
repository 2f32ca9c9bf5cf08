"""Packaged encodings by their names and by models'; and what a name is that is neither."""

from collections.abc import Iterable
from os import PathLike
from typing import Any, Final

from cutline.errors import UnknownEncodingError, UnknownModelError
from cutline.vocabulary.models import MODEL_TO_ENCODING, encoding_of_model
from cutline.vocabulary.openai import PACKAGED_ENCODINGS, PackagedEncoding, list_encoding_names

__all__ = [
    "encoding_name_for_model",
    "is_like_path",
    "kind_of_name",
    "near_names",
    "need_hub_name",
    "packaged_encoding",
]

_FILE_ENDINGS: Final = (".cutline", ".gguf", ".json", ".model", ".tiktoken", ".txt")
_PATH_STARTS: Final = ("/", "./", "../", "~", "\\")


def packaged_encoding(name: str) -> PackagedEncoding:
    """Look up the definition of a packaged encoding.

    Raises:
        UnknownEncodingError: none has this name; suggests similar names.

    >>> packaged_encoding("o200k_harmony").rank_file
    'o200k_base'
    """
    if isinstance(name, str) and name in PACKAGED_ENCODINGS:
        return PACKAGED_ENCODINGS[name]
    if not isinstance(name, str):
        hint = f": for a file use cutline.load({str(name)!r})" if is_like_path(name) else ""
        raise UnknownEncodingError(f"an encoding name is a str, got {name!r}{hint}")
    names = list_encoding_names()
    hint = kind_of_name(name) or near_names(name, names)
    if hint is None:
        hint = (
            f"packaged are {', '.join(names)}; tiktoken's plugins are not searched, "
            "Encoding.from_tiktoken takes their encodings"
        )
    raise UnknownEncodingError(f"no encoding is named {name!r}; {hint}")


def encoding_name_for_model(model_name: str) -> str:
    """Name the encoding that a model uses.

    Args:
        model_name: a model's full name, or one with the prefix of a known family
            (`gpt-4o-2024-05-13`, `ft:gpt-4o:...`), so that new dated versions work.

    Raises:
        UnknownModelError: no entry matches; suggests similar names.

    >>> encoding_name_for_model("gpt-4o-mini")
    'o200k_base'
    """
    if not isinstance(model_name, str):
        raise UnknownModelError(f"a model name is a str, got {model_name!r}")
    if (found := encoding_of_model(model_name)) is not None:
        return found
    otherwise = "an encoding can also be chosen by its name, as 'o200k_base'"
    hint = kind_of_name(model_name)
    if hint is None:
        near = near_names(model_name, MODEL_TO_ENCODING)
        hint = otherwise if near is None else f"{near} otherwise {otherwise}"
    raise UnknownModelError(f"no encoding is known for model {model_name!r}; {hint}")


def is_like_path(name: Any) -> bool:
    """Return whether a name can only be that of a file or a folder."""
    if isinstance(name, str):
        return name.endswith(_FILE_ENDINGS) or name.startswith(_PATH_STARTS)
    return isinstance(name, PathLike)


def kind_of_name(name: str) -> str | None:
    """Return a hint with the call that takes a name of this kind; None: of no known kind."""
    if name in PACKAGED_ENCODINGS:
        return f"that is a packaged encoding: cutline.get_encoding({name!r}) returns it"
    if encoding_of_model(name) is not None:
        return f"that is a model: cutline.encoding_for_model({name!r}) finds its encoding"
    if is_like_path(name):
        return f"for a file use cutline.load({name!r})"
    if "/" in name:
        return f"a model of the Hugging Face Hub is loaded by cutline.from_pretrained({name!r})"
    return None


def need_hub_name(name: str) -> None:
    """Refuse what is no name of a model on the Hugging Face Hub, before it is asked.

    Raises:
        UnknownEncodingError: (a ValueError) it is that of a packaged encoding, or of a model of
            OpenAI's; "gpt2" is on the Hub, too.
    """
    if "/" not in name and name != "gpt2" and (hint := kind_of_name(name)) is not None:
        raise UnknownEncodingError(f"the Hugging Face Hub has no model {name!r}; {hint}")


def near_names(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the known names that are spelled most alike; None: there are none."""
    from difflib import get_close_matches  # rarely needed

    near = get_close_matches(name.lower(), list(known), n=3)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else None
