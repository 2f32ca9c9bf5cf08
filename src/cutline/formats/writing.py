"""Writing tokenizers to files: chooses the format and checks that it fits."""

from os import PathLike
from pathlib import Path
from typing import Literal, get_args

from cutline.atomic import replace_file
from cutline.errors import UnsupportedPatternError, VocabularyError
from cutline.formats.cutline_file import write_cutline
from cutline.formats.huggingface import (
    GPT2_REGEX,
    SplitRegex,
    dump,
    vocab_path,
    write_tokenizer_json,
    write_vocab_and_merges,
)
from cutline.formats.tiktoken_file import write_tiktoken
from cutline.formats.whole_json import make_document
from cutline.pretokenize import compile_pattern
from cutline.pretokenize.oniguruma import to_oniguruma
from cutline.spec import TokenizerSpec
from cutline.tables import recover_left_lengths
from cutline.vocabulary import R50K_PAT_STR

__all__ = ["FileFormat", "format_by_name", "write"]

FileFormat = Literal["cutline", "tiktoken", "tokenizer.json", "vocab.json"]

_BY_SUFFIX: dict[str, FileFormat] = {
    ".cutline": "cutline",
    ".json": "tokenizer.json",
    ".tiktoken": "tiktoken",
}


def write(spec: TokenizerSpec, path: str | PathLike[str], file_format: FileFormat | None) -> None:
    """Write a tokenizer's spec to a file; see `Encoding.save`."""
    path = Path(path)
    file_format = _checked_format(path, file_format)
    is_plain = spec.is_plain
    if not is_plain and file_format not in ("cutline", "tokenizer.json"):
        raise VocabularyError(
            f"{spec.name!r} comes from a tokenizer that does more than split and merge, which "
            f"files of the format {file_format} cannot say: save as .cutline or tokenizer.json"
        )
    if file_format == "tiktoken":
        write_tiktoken(spec.vocabulary, path)
        return
    if spec.model is None and spec.vocabulary.left_lengths is None:
        left_lengths = recover_left_lengths(spec.vocabulary)
        spec = spec._replace(vocabulary=spec.vocabulary.with_left_lengths(left_lengths))
    if file_format == "cutline":
        write_cutline(spec, path)
    elif file_format == "tokenizer.json":
        file = path / "tokenizer.json" if path.is_dir() else path
        is_written = spec.marks_words or (spec.model is None and spec.characters is None)
        split = _split_regex(spec.pat_str) if is_written else None
        if is_plain:
            write_tokenizer_json(spec, split, file)
        else:
            replace_file(file, dump(make_document(spec, split)))
    else:
        write_vocab_and_merges(spec, vocab_path(path))


def format_by_name(path: Path) -> FileFormat | None:
    """Infer the format of a file from its name; None if that is not possible."""
    if path.name.endswith(("vocab.json", "merges.txt")):
        return "vocab.json"
    return _BY_SUFFIX.get(path.suffix)


def _checked_format(path: Path, file_format: FileFormat | None) -> FileFormat:
    known = get_args(FileFormat)
    if file_format is None:
        file_format = "vocab.json" if path.is_dir() else format_by_name(path)
    if file_format is None:
        raise ValueError(
            f"cannot infer the format from {str(path)!r}: let it end in {', '.join(_BY_SUFFIX)} or "
            f"vocab.json, or pass format= one of {', '.join(known)}"
        )
    if file_format not in known:
        raise ValueError(f"unknown format {file_format!r}; known are {', '.join(known)}")
    return file_format


def _split_regex(pat_str: str | None) -> SplitRegex | None:
    if pat_str is None:
        return None
    if pat_str == R50K_PAT_STR:
        return SplitRegex(GPT2_REGEX, keeps_gaps=True)
    try:
        # Without gaps both settings mean the same; most files keep gaps.
        return SplitRegex(to_oniguruma(pat_str), keeps_gaps=not compile_pattern(pat_str).has_gaps)
    except UnsupportedPatternError as error:
        error.add_note(
            "the engine that reads a tokenizer.json may split otherwise: save as .cutline"
        )
        raise
