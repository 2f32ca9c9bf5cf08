"""Packaged encodings by their names and by models'; and what a name is that is neither."""

from collections.abc import Iterable
from os import PathLike
from typing import Any, Final

from cutline.errors import UnknownEncodingError, UnknownModelError, shown
from cutline.pretrained import FILE_ENDINGS
from cutline.vocabulary.models import MODEL_TO_ENCODING, encoding_of_model
from cutline.vocabulary.openai import PACKAGED_ENCODINGS, PackagedEncoding, list_encoding_names

__all__ = [
    "encoding_name_for_model",
    "is_like_path",
    "kind_of_name",
    "near_model",
    "near_names",
    "need_hub_name",
    "packaged_encoding",
]

_LONGEST: Final = 100  # characters of a name that others are compared with
_OF_HUB: Final = "cutline.from_pretrained loads models of the Hugging Face Hub"
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
        hint = f": for a file use cutline.load({shown(str(name))})" if is_like_path(name) else ""
        raise UnknownEncodingError(f"an encoding name is a str, got {shown(name)}{hint}")
    names = list_encoding_names()
    hint = kind_of_name(name) or near_model(name) or near_names(name, names)
    if hint is None:
        hint = (
            f"packaged are {', '.join(names)}; {_OF_HUB}; tiktoken's plugins are not searched, "
            "Encoding.from_tiktoken takes their encodings"
        )
    raise UnknownEncodingError(f"no encoding is named {shown(name)}; {hint}")


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
        raise UnknownModelError(f"a model name is a str, got {shown(model_name)}")
    if (found := encoding_of_model(model_name)) is not None:
        return found
    otherwise = "an encoding can also be chosen by its name, as 'o200k_base'"
    hint = kind_of_name(model_name)
    if hint is None:
        near = near_names(model_name, MODEL_TO_ENCODING)
        hint = f"{otherwise}; {_OF_HUB}" if near is None else f"{near} otherwise {otherwise}"
    raise UnknownModelError(f"no encoding is known for model {shown(model_name)}; {hint}")


def is_like_path(name: Any) -> bool:
    """Return whether a name can only be that of a file or a folder."""
    if isinstance(name, str):
        return name.endswith(FILE_ENDINGS) or name.startswith(_PATH_STARTS)
    return isinstance(name, PathLike)


def kind_of_name(name: str) -> str | None:
    """Return a hint with the call that takes a name of this kind; None: of no known kind."""
    if name in PACKAGED_ENCODINGS:
        return f"that is a packaged encoding: cutline.get_encoding({name!r}) returns it"
    if encoding_of_model(name) is not None:
        return f"that is a model: cutline.encoding_for_model({name!r}) finds its encoding"
    if is_like_path(name):
        return f"for a file use cutline.load({shown(name)})"
    if "/" in name:
        return (
            f"a model of the Hugging Face Hub is loaded by cutline.from_pretrained({shown(name)})"
        )
    return None


def need_hub_name(name: str) -> None:
    """Refuse what is no name of a model on the Hugging Face Hub, before it is asked.

    Raises:
        UnknownEncodingError: (a ValueError) it is that of a packaged encoding, or of a model of
            OpenAI's; "gpt2" is on the Hub, too.
    """
    if "/" not in name and name != "gpt2" and (hint := kind_of_name(name)) is not None:
        raise UnknownEncodingError(f"the Hugging Face Hub has no model {shown(name)}; {hint}")


def near_model(name: str) -> str | None:
    """Return a hint with the model of the name spelled most alike; None: an encoding has that."""
    for near in _nearest(name, [*PACKAGED_ENCODINGS, *MODEL_TO_ENCODING], 1):
        if near not in PACKAGED_ENCODINGS:
            return f"did you mean the model {near!r}? Its encoding is {MODEL_TO_ENCODING[near]!r}"
    return None


def near_names(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the known names that are spelled most alike; None: there are none."""
    near = _nearest(name, list(known), 3)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else None


def _nearest(name: str, known: list[str], n: int) -> list[str]:
    from difflib import get_close_matches  # rarely needed

    # Not for a text in place of a name, since that takes time.
    return get_close_matches(name.lower(), known, n) if len(name) <= _LONGEST else []
