"""Encodings by name or by model, and those loaded from files."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from cutline.encoding import Encoding
from cutline.text_encoder import TextEncoder

if TYPE_CHECKING:
    from cutline.protocols import TokenCounter
    from cutline.spec import TokenizerSpec
    from cutline.vocabulary import PackagedEncoding, Vocabulary

__all__ = [
    "encoding_for_model",
    "encoding_of",
    "get_encoding",
    "load",
    "new_encoding",
    "token_counter_of",
]

_encodings: dict[str, Encoding] = {}


def get_encoding(encoding_name: str) -> Encoding:
    """Return a packaged encoding, offline; the same object each time.

    Args:
        encoding_name: one of `list_encoding_names()`.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name; suggests similar ones.
        CorruptDataError: the installed vocabulary is damaged.

    Cost: some 10 milliseconds the first time, then a dictionary lookup.

    >>> get_encoding("o200k_base")
    <Encoding 'o200k_base'>
    """
    encoding = _encodings.get(encoding_name) if isinstance(encoding_name, str) else None
    if encoding is None:
        loaded = new_encoding(encoding_name)
        loaded._pickled_as(get_encoding, (loaded.name,))
        # Threads may race to here, but all return the same object. A lock would have to
        # survive a fork while another thread holds it.
        encoding = _encodings.setdefault(loaded.name, loaded)
    return encoding


def new_encoding(encoding_name: str) -> Encoding:
    """Load a packaged encoding that is not shared, with its own caches; see `get_encoding`."""
    from cutline.tables import prepared
    from cutline.vocabulary import (
        CONTENT_SHA256,
        Vocabulary,
        packaged_encoding,
        packaged_vocabulary,
    )

    packaged = packaged_encoding(encoding_name)
    if not prepared.IS_READABLE:
        return Encoding.from_spec(_spec_of(packaged, packaged_vocabulary(packaged)))
    tables = prepared.load(f"{prepared.DATA_DIRECTORY}/{packaged.rank_file}.tables")
    return Encoding._from_tables(
        packaged.name,
        packaged.special_tokens,
        tables,
        lambda: _spec_of(packaged, Vocabulary.from_tables(tables[0].arrays)),
        CONTENT_SHA256[packaged.name],
    )


def _spec_of(packaged: PackagedEncoding, vocabulary: Vocabulary) -> TokenizerSpec:
    from cutline.spec import AddedToken, TokenizerSpec

    # Without the checks of `TokenizerSpec.plain`: tests do them.
    special = packaged.special_tokens
    added = tuple(map(AddedToken, special, special.values()))
    return TokenizerSpec(packaged.name, vocabulary, packaged.pat_str, added)


def token_counter_of(encoding: TokenCounter | str) -> TokenCounter:
    """Return a token counter, given as one or as the name of a packaged encoding.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name.
        TypeError: it is no token counter; other tokenizers must be wrapped first.
    """
    if isinstance(encoding, str):
        return get_encoding(encoding)
    if isinstance(encoding, Encoding):
        return encoding
    from cutline.protocols import TokenCounter

    if isinstance(encoding, TokenCounter):
        return encoding
    hint = "use cutline.wrap(...)" if hasattr(encoding, "encode") else "use get_encoding(...)"
    raise TypeError(
        "encoding must be an Encoding, its name, or a wrapped tokenizer, got "
        f"{type(encoding).__name__}: {hint}"
    )


TextEncoder._find_counter = staticmethod(token_counter_of)


def encoding_of(encoding: Encoding | str) -> Encoding:
    """Return an encoding, given as one or by its name.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name.
    """
    return get_encoding(encoding) if isinstance(encoding, str) else encoding


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding that a model uses, according to tiktoken's table.

    Raises:
        UnknownModelError: (a KeyError) no encoding is known for this model.

    >>> encoding_for_model("gpt-4o").name
    'o200k_base'
    """
    from cutline.vocabulary import encoding_name_for_model

    return get_encoding(encoding_name_for_model(model_name))


def load(
    path: str | PathLike[str],
    *,
    pat_str: str | EllipsisType | None = ...,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> Encoding:
    """Load an encoding from a file or a folder.

    It reads a `.cutline` file; a Hugging Face `tokenizer.json` of byte-level BPE; Mistral's
    `tekken.json`; `vocab.json` with `merges.txt` next to it; a `.tiktoken` file. The first
    three contain split pattern and special tokens; for the others, pass them.

    Args:
        path: the file, or a folder with a `tokenizer.json`, `vocab.json` or `tekken.json`.
        pat_str: the split pattern, if the file does not contain it; None: do not split.
        special_tokens: ids by text, if the file does not contain them.
        name: the encoding's name; by default the stored name, or else the file's.

    Raises:
        FileNotFoundError: there is no such file.
        VocabularyError: (a ValueError) the file is damaged or not supported; names the
            file and the place.
        PatternError: (a ValueError) the pattern is no valid regular expression, or, in a
            tokenizer.json, not known to mean the same here.
        TypeError: pat_str or special_tokens is missing, or given although the file has it.

    Source: docs/formats.md, docs/tokenizers.md.
    """
    from pathlib import Path

    from cutline.formats import reading  # rarely needed

    path = Path(path)
    with reading.naming(str(path)):
        encoding = Encoding.from_spec(reading.read(path, pat_str, special_tokens, name))
    source: dict[str, Any] = {"path": str(path.absolute())}
    if not isinstance(pat_str, EllipsisType):
        source |= {"pat_str": pat_str, "special_tokens": encoding._special_tokens}
    return encoding._from(source)
