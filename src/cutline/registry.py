"""Encodings by name: the packaged ones, by model too, and those in files."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from cutline.encoding import Encoding
from cutline.vocabulary import (
    encoding_name_for_model,
    encoding_spec,
    load_spec_vocabulary,
    read_tiktoken,
)

__all__ = ["encoding_for_model", "get_encoding", "is_registered", "load"]

_encodings: dict[str, Encoding] = {}


def get_encoding(encoding_name: str) -> Encoding:
    """Return a packaged encoding: offline, and the same object each time.

    Args:
        encoding_name: one of `list_encoding_names()`.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name; suggests near ones.
        CorruptDataError: the installed vocabulary is damaged.

    Cost: at first some tens of milliseconds, then a dictionary look-up.

    >>> get_encoding("o200k_base")
    <Encoding 'o200k_base'>
    """
    encoding = _encodings.get(encoding_name) if isinstance(encoding_name, str) else None
    if encoding is None:
        spec = encoding_spec(encoding_name)
        loaded = Encoding.from_vocabulary(
            spec.name,
            pat_str=spec.pat_str,
            vocabulary=load_spec_vocabulary(spec),
            special_tokens=spec.special_tokens,
        )
        # Threads may race to here, but all leave with one object. A lock would have to
        # survive a fork while another thread holds it.
        encoding = _encodings.setdefault(spec.name, loaded)
    return encoding


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding that a model uses, by tiktoken's table.

    Raises:
        UnknownModelError: (a KeyError) no encoding is known for this model.

    >>> encoding_for_model("gpt-4o").name
    'o200k_base'
    """
    return get_encoding(encoding_name_for_model(model_name))


def load(
    path: str | PathLike[str],
    *,
    pat_str: str | None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> Encoding:
    """Load an encoding from a `.tiktoken` rank file.

    Args:
        path: the file: on each line a token in base64, a space and its rank.
        pat_str: the split pattern, which the file does not hold; None does not split.
        special_tokens: ids by text.
        name: what to call the encoding; the file's name if not given.

    Raises:
        FileNotFoundError: there is no such file.
        VocabularyError: (a ValueError) names the file and the line that is wrong.
        PatternError: (a ValueError) the pattern is no valid regular expression.
    """
    return Encoding.from_vocabulary(
        name if name is not None else Path(path).stem,
        pat_str=pat_str,
        vocabulary=read_tiktoken(path),
        special_tokens=special_tokens or {},
    )


def is_registered(encoding: Encoding) -> bool:
    """Tell whether `get_encoding` gives this very object."""
    return _encodings.get(encoding.name) is encoding
