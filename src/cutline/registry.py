"""Encodings by name or by model, and those loaded from files."""

from __future__ import annotations

from collections.abc import Mapping
from errno import ENOENT
from os import PathLike
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from cutline.encoding import Encoding
from cutline.errors import shown_type
from cutline.text_encoder import TextEncoder

if TYPE_CHECKING:
    from pathlib import Path

    from cutline.pretrained.side_files import ModelFacts
    from cutline.protocols import TokenCounter
    from cutline.spec import TokenizerSpec
    from cutline.vocabulary import PackagedEncoding, Vocabulary

__all__ = [
    "encoding_for_model",
    "encoding_named",
    "encoding_of",
    "from_pretrained",
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
    from cutline.vocabulary import CONTENT_SHA256, Vocabulary, packaged_encoding

    packaged = packaged_encoding(encoding_name)
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


def encoding_named(name: str) -> Encoding:
    """Return the encoding of a name; the same object each time, unless it is a folder.

    Args:
        name: that of a packaged encoding; or, with a slash, that of a model on the Hugging Face
            Hub, or of a folder.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name.
        HubError, VocabularyError: as `from_pretrained`.
    """
    if not isinstance(name, str) or "/" not in name:
        return get_encoding(name)
    if (encoding := _encodings.get(name)) is None:
        encoding = from_pretrained(name)
        if "hub" in encoding._source:  # a folder may change
            encoding = _encodings.setdefault(name, encoding)
    return encoding


def name_standing_for(measure: Any) -> str | None:
    """Return the name by which an encoding, or a unit, can be given; None: by none."""
    from cutline.counting.units import UNITS
    from cutline.vocabulary import list_encoding_names

    name: str = measure.name
    if measure is UNITS.get(name) or measure is _encodings.get(name):
        return name
    is_packaged = type(measure) is Encoding and name in list_encoding_names()
    same = is_packaged and get_encoding(name).content_hash == measure.content_hash
    return name if same else None


def token_counter_of(encoding: TokenCounter | str) -> TokenCounter:
    """Return a token counter, given as one or by its name.

    Raises:
        UnknownEncodingError, HubError, VocabularyError: as `encoding_named`.
        TypeError: it is no token counter; other tokenizers must be wrapped first.
    """
    if isinstance(encoding, str):
        return encoding_named(encoding)
    if isinstance(encoding, Encoding):
        return encoding
    from cutline.protocols import TokenCounter

    if isinstance(encoding, TokenCounter):
        return encoding
    raise TypeError(
        "encoding must be an Encoding, its name, or a wrapped tokenizer, got "
        f"{shown_type(encoding)}: use {_maker_for(encoding, 'cutline.wrap(...)')}"
    )


def _maker_for(encoding: object, of_tokenizers: str) -> str:
    """Return what makes an encoding of what is none, for errors."""
    if isinstance(encoding, PathLike):
        return f"cutline.load({str(encoding)!r})"
    if hasattr(encoding, "_mergeable_ranks"):
        return "cutline.Encoding.from_tiktoken(...)"
    return of_tokenizers if hasattr(encoding, "encode") else "get_encoding(...)"


TextEncoder._find_counter = staticmethod(token_counter_of)


def encoding_of(encoding: Encoding | str) -> Encoding:
    """Return an encoding, given as one or by its name.

    Raises:
        UnknownEncodingError, HubError, VocabularyError: as `encoding_named`.
        TypeError: it is neither; what wraps a tokenizer is none.
    """
    if isinstance(encoding, str):
        return encoding_named(encoding)
    if isinstance(encoding, Encoding):
        return encoding
    raise TypeError(
        f"encoding must be an Encoding or its name, got {shown_type(encoding)}: use "
        f"{_maker_for(encoding, 'cutline.Encoding.from_tokenizers(...)')}"
    )


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

    It reads a `.cutline` file; a Hugging Face `tokenizer.json`; BERT's `vocab.txt`;
    sentencepiece's `tokenizer.model`; llama.cpp's `.gguf`; Mistral's `tekken.json`; `vocab.json`
    with `merges.txt` next to it; a `.tiktoken` file. The last two do not contain split pattern
    and special tokens: pass them.

    A folder is taken for a model's: its limit and its prompts are read, too, from the files that
    docs/models.md names, for `Encoding.max_tokens` and `Encoding.prompts`.

    Args:
        path: the file, or a folder with one.
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

    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must be a str or a path, got {type(path).__name__}")
    path = Path(path)
    source = {"path": str(path.absolute())}
    if path.is_dir():
        return _load_folder(path, source, pat_str, special_tokens, name)
    if not path.exists():
        raise FileNotFoundError(ENOENT, _missing(str(path)), str(path))
    return _load(path, source, None, pat_str, special_tokens, name)


def _load_folder(
    folder: Path,
    source: dict[str, Any],
    pat_str: str | EllipsisType | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> Encoding:
    """Load the tokenizer of a model, from its folder or from that of its first module."""
    from cutline.formats.reading import TOKENIZER_FILES
    from cutline.pretrained.side_files import module_of_tokenizer, read_facts

    module = module_of_tokenizer(folder, [first for first, *_ in TOKENIZER_FILES])
    facts = read_facts(folder, module)
    name = folder.absolute().name if name is None else name
    return _load(folder / module, source, facts, pat_str, special_tokens, name)


def _missing(path: str) -> str:
    """Return what the error of a missing file says; a name was probably meant for another call."""
    from cutline.vocabulary import PACKAGED_ENCODINGS
    from cutline.vocabulary.names import is_like_path, kind_of_name, near_model, near_names

    problem = "No such file or directory"
    if path.startswith("~"):
        return f"{problem}; for a home folder pass Path(...).expanduser()"
    if is_like_path(path):
        return problem
    hint = kind_of_name(path) or near_model(path) or near_names(path, PACKAGED_ENCODINGS)
    return problem if hint is None else f"{problem}; {hint}"


def _load(
    path: Path,
    source: dict[str, Any],
    facts: ModelFacts | None,
    pat_str: str | EllipsisType | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> Encoding:
    """Load an encoding, which keeps where it came from; facts are put into its spec."""
    from cutline.formats import reading  # rarely needed

    with reading.naming(str(path)):
        spec = reading.read(path, pat_str, special_tokens, name)
        if facts is not None:
            spec = spec._replace(max_tokens=facts.max_tokens, prompts=facts.prompts)
        encoding = Encoding.from_spec(spec)
    if not isinstance(pat_str, EllipsisType):
        source |= {"pat_str": pat_str, "special_tokens": encoding._special_tokens}
    return encoding._from(source)


def from_pretrained(
    name: str | PathLike[str],
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    local_files_only: bool = False,
    pat_str: str | EllipsisType | None = ...,
    special_tokens: Mapping[str, int] | None = None,
) -> Encoding:
    """Load the tokenizer of a model on the Hugging Face Hub, with the model's limit and prompts.

    Fetched are the tokenizer, in one of the files that `load` reads, and the small files that
    docs/models.md names; none of the weights. They stay in the cache of `huggingface_hub`, whose
    environment variables apply: HF_HOME, HF_HUB_OFFLINE, HF_ENDPOINT, HF_TOKEN and others.

    Args:
        name: that of the model, such as "BAAI/bge-m3"; or a folder or file, which is loaded as
            by `load`: the next three arguments then have no effect.
        revision: a branch, a tag or a commit's hash; by default the newest commit.
        token: an access token; True: the one that `hf auth login` stored; False: none. By
            default the stored one, if there is one.
        local_files_only: use the cache only.
        pat_str: as for `load`.
        special_tokens: as for `load`.

    Raises:
        UnknownEncodingError: (a ValueError) there is no such model or revision, or it has no
            tokenizer.
        HubError: (an OSError) access must be granted first; or the files are not in the cache,
            and there is no connection, or it must not be used.
        VocabularyError, PatternError, TypeError: as `load`.
        ImportError: huggingface_hub is not installed: pip install 'cutline[hub]'.

    Cost: that of `load`, and of one request to the Hub if the files are in the cache; of none if
    `revision` is a commit's hash.
    Source: docs/models.md, whose examples are run by the tests.
    """
    from cutline.formats.reading import TOKENIZER_FILES
    from cutline.pretrained.hub import fetch, local_path
    from cutline.vocabulary.names import need_hub_name

    if (path := local_path(name)) is not None:
        return load(path, pat_str=pat_str, special_tokens=special_tokens)
    name = str(name)
    need_hub_name(name)
    found = fetch(
        name, TOKENIZER_FILES, revision=revision, token=token, local_files_only=local_files_only
    )
    source = {"hub": name, "revision": found.commit}
    return _load(found.folder, source, found.facts, pat_str, special_tokens, name)
