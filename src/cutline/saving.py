"""Encodings into files: which format, and what it takes."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from cutline.errors import UnsupportedPatternError, VocabularyError
from cutline.pretokenize import compile_pattern
from cutline.pretokenize.oniguruma import to_oniguruma
from cutline.tables import recover_left_lengths
from cutline.vocabulary import R50K_PAT_STR, Vocabulary, write_tiktoken
from cutline.vocabulary.huggingface import (
    GPT2_REGEX,
    SplitRegex,
    vocab_path,
    write_tokenizer_json,
    write_vocab_and_merges,
)
from cutline.vocabulary.native_file import StoredEncoding, write_native

if TYPE_CHECKING:
    from cutline.encoding import Encoding

__all__ = ["FileFormat", "format_by_name", "save"]

FileFormat = Literal["cutline", "tiktoken", "tokenizer.json", "vocab.json"]

_BY_SUFFIX: dict[str, FileFormat] = {
    ".cutline": "cutline",
    ".json": "tokenizer.json",
    ".tiktoken": "tiktoken",
}


def save(encoding: "Encoding", path: str | PathLike[str], file_format: FileFormat | None) -> None:
    """Write an encoding; `Encoding.save` is the door."""
    path = Path(path)
    file_format = _checked_format(path, file_format)
    if encoding._has_facts:
        raise VocabularyError(
            f"{encoding.name!r} comes from a tokenizer that does more than split and merge, and "
            "no file that cutline writes says so: keep the tokenizer.json it was loaded from "
            "(tokenizers and transformers write one), and load that"
        )
    if file_format == "tiktoken":
        write_tiktoken(encoding._vocabulary, path)
        return
    vocabulary = _with_left_lengths(encoding._vocabulary)
    special_tokens = encoding._special_tokens
    if file_format == "cutline":
        stored = StoredEncoding(encoding.name, encoding._pat_str, special_tokens, vocabulary)
        write_native(stored, path)
    elif file_format == "tokenizer.json":
        split = _split_regex(encoding._pat_str)
        file = path / "tokenizer.json" if path.is_dir() else path
        write_tokenizer_json(vocabulary, special_tokens, split, file)
    else:
        write_vocab_and_merges(vocabulary, special_tokens, vocab_path(path))


def format_by_name(path: Path) -> FileFormat | None:
    """Tell the format of a file by its name; None where that does not tell."""
    if path.name.endswith(("vocab.json", "merges.txt")):
        return "vocab.json"
    return _BY_SUFFIX.get(path.suffix)


def _checked_format(path: Path, file_format: FileFormat | None) -> FileFormat:
    known = get_args(FileFormat)
    if file_format is None:
        file_format = "vocab.json" if path.is_dir() else format_by_name(path)
    if file_format is None:
        raise ValueError(
            f"{str(path)!r} does not tell the format: let it end in {', '.join(_BY_SUFFIX)} or "
            f"vocab.json, or pass format= one of {', '.join(known)}"
        )
    if file_format not in known:
        raise ValueError(f"no format is named {file_format!r}; known are {', '.join(known)}")
    return file_format


def _with_left_lengths(vocabulary: Vocabulary) -> Vocabulary:
    if vocabulary.left_lengths is not None:
        return vocabulary
    return vocabulary.with_left_lengths(recover_left_lengths(vocabulary))


def _split_regex(pat_str: str | None) -> SplitRegex | None:
    if pat_str is None:
        return None
    if pat_str == R50K_PAT_STR:
        return SplitRegex(GPT2_REGEX, keeps_gaps=True)
    try:
        # Without gaps both ways mean the same, and that of most files is to keep them.
        return SplitRegex(to_oniguruma(pat_str), keeps_gaps=not compile_pattern(pat_str).has_gaps)
    except UnsupportedPatternError as error:
        error.add_note(
            "the engine that reads a tokenizer.json may split otherwise: save as .cutline"
        )
        raise
