"""Encodings from files: which format, and what the caller must add."""

from collections.abc import Mapping
from errno import ENOENT
from os import PathLike
from pathlib import Path
from types import EllipsisType

from cutline.encoding import Encoding
from cutline.errors import CorruptDataError, PatternError, UnsupportedPatternError, VocabularyError
from cutline.pretokenize import compile_pattern
from cutline.pretokenize.oniguruma import from_oniguruma
from cutline.saving import FileFormat, format_by_name
from cutline.tables import recover_left_lengths
from cutline.vocabulary import R50K_PAT_STR, Vocabulary, read_tiktoken
from cutline.vocabulary.huggingface import (
    GPT2_REGEX,
    SplitRegex,
    parse_tokenizer_json,
    read_json,
    read_vocab_and_merges,
    vocab_path,
)
from cutline.vocabulary.merges import MergeModel, check_merges, read_ranks
from cutline.vocabulary.native_file import NATIVE_MAGIC, read_native

__all__ = ["load"]


def load(
    path: str | PathLike[str],
    pat_str: str | EllipsisType | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> Encoding:
    """Read an encoding; `cutline.load` is the door."""
    path = Path(path)
    file_format = _format_of(path)
    holds_all = file_format in ("cutline", "tokenizer.json")
    if holds_all and not (isinstance(pat_str, EllipsisType) and special_tokens is None):
        raise TypeError(
            f"{path} holds the split pattern and the special tokens: "
            "leave pat_str and special_tokens out"
        )
    if file_format == "cutline":
        return _from_native(path, name)
    if file_format == "tokenizer.json":
        return _from_tokenizer_json(path, name)
    if isinstance(pat_str, EllipsisType):
        raise TypeError(
            f"{path} does not hold the split pattern: pass pat_str=, or pat_str=None for an "
            "encoding that does not split"
        )
    special_tokens = dict(special_tokens or {})
    if file_format == "tiktoken":
        vocabulary = read_tiktoken(path)
    else:
        vocabulary = _merged(read_vocab_and_merges(vocab_path(path)), special_tokens)
    return Encoding.from_vocabulary(
        path.stem if name is None else name,
        pat_str=pat_str,
        vocabulary=vocabulary,
        special_tokens=special_tokens,
    )


def _format_of(path: Path) -> FileFormat:
    """Tell the format by the name, and by the content where the name does not tell."""
    if path.is_dir():
        if (path / "tokenizer.json").is_file():
            return "tokenizer.json"
        if (path / "vocab.json").is_file():
            return "vocab.json"
        raise FileNotFoundError(
            ENOENT, "a folder with neither tokenizer.json nor vocab.json", str(path)
        )
    if (named := format_by_name(path)) is not None:
        return named
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    if start.startswith(NATIVE_MAGIC):
        return "cutline"
    return "tokenizer.json" if start.startswith(b"{") else "tiktoken"


def _from_native(path: Path, name: str | None) -> Encoding:
    stored = read_native(path)
    try:
        return Encoding.from_vocabulary(
            stored.name if name is None else name,
            pat_str=stored.pat_str,
            vocabulary=stored.vocabulary,
            special_tokens=stored.special_tokens,
        )
    except (CorruptDataError, VocabularyError) as error:
        raise VocabularyError(f"{path} holds no encoding: {error}") from error
    except PatternError as error:
        raise type(error)(f"{path}: {error}") from error


def _from_tokenizer_json(path: Path, name: str | None) -> Encoding:
    file = path / "tokenizer.json" if path.is_dir() else path
    parsed = parse_tokenizer_json(read_json(file), str(file))
    vocabulary = _merged(parsed.model, parsed.special_tokens)
    try:
        return Encoding.from_vocabulary(
            path.stem if name is None else name,
            pat_str=_pat_str(parsed.split),
            vocabulary=vocabulary,
            special_tokens=parsed.special_tokens,
        )
    except PatternError as error:
        raise type(error)(f"{file}: {error}") from error


def _merged(model: MergeModel, special_tokens: Mapping[str, int]) -> Vocabulary:
    """Make the vocabulary of a model, if it merges in the order of ids."""
    ranks = read_ranks(model, special_tokens)
    try:
        vocabulary = Vocabulary.from_ranks(ranks)
        vocabulary = vocabulary.with_left_lengths(recover_left_lengths(vocabulary))
    except VocabularyError as error:
        raise VocabularyError(f"{model.source}: {error}") from error
    check_merges(vocabulary, model)
    return vocabulary


def _pat_str(split: SplitRegex | None) -> str | None:
    """Say in our dialect how a pre-tokenizer splits."""
    if split is None:
        return None
    if split.pattern == GPT2_REGEX:
        return R50K_PAT_STR
    pat_str = from_oniguruma(split.pattern)
    if split.keeps_gaps and compile_pattern(pat_str).has_gaps:
        raise UnsupportedPatternError(
            f"split pattern {split.pattern!r} leaves gaps that become pieces of their own "
            "(behavior Isolated), and cutline has no pieces but matches"
        )
    return pat_str
