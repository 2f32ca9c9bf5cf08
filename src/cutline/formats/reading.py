"""Reading tokenizers from files: detects the format and checks the caller's arguments."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path
from stat import S_ISREG
from types import EllipsisType
from typing import Any, Final, Literal

from cutline.errors import CorruptDataError, PatternError, VocabularyError
from cutline.formats.bounded import read_bounded
from cutline.formats.characters import BLANK
from cutline.formats.cutline_file import MAGIC, read_cutline
from cutline.formats.documents import checked, merged, spec_of
from cutline.formats.gguf import MAGIC as GGUF
from cutline.formats.gguf import read_gguf
from cutline.formats.huggingface import read_json, read_vocab_and_merges, vocab_path
from cutline.formats.merges import WRAP_HINT, MergeModel
from cutline.formats.sentencepiece_model import read_sentencepiece
from cutline.formats.tekken import is_tekken, parse_tekken
from cutline.formats.tiktoken_file import read_tiktoken
from cutline.formats.vocab_txt import BESIDE_VOCAB, CONVERT_HINT, VOCAB_NAME, read_vocab_txt
from cutline.formats.writing import FileFormat, format_by_name
from cutline.pretrained.added_tokens import ADDED_NAME, added_beside, with_tokens_beside
from cutline.pretrained.hub import TO_CONVERT, convert_hint
from cutline.pretrained.side_files import CONFIG_NAME
from cutline.spec import TokenizerSpec
from cutline.vocabulary import Vocabulary
from cutline.words.models import Unigram

__all__ = ["TOKENIZER_FILES", "naming", "read", "read_tokenizer"]

TOKENIZER_FILES: Final = (
    ("tokenizer.json", CONFIG_NAME),
    ("tekken.json",),
    ("vocab.json", "merges.txt"),
    ("tokenizer.model", CONFIG_NAME, ADDED_NAME),
    (VOCAB_NAME, *BESIDE_VOCAB),
    ("tiktoken.model",),
    ("*.tiktoken",),
)
"""The files in which a model's folder has its tokenizer, the most complete first."""

_RANK_LINE: Final = re.compile(rb"[\w+/=]+ \d")
_MAYBE_RANKS: Final = re.compile(rb"\s*[\w+/=]+( \d|\Z)")  # the token may go on
_LFS_POINTER: Final = b"version https://git-lfs.github.com/"
_PACKED: Final = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")  # gzip, zip, zstd


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Make every error caused by a file's content name the file."""
    try:
        yield
    except (CorruptDataError, PatternError, VocabularyError) as error:
        if source in str(error):
            raise
        kind = VocabularyError if isinstance(error, CorruptDataError) else type(error)
        raise kind(f"{source}: {error}") from error
    except RecursionError:
        raise VocabularyError(f"{source} is nested too deeply to be read") from None
    except MemoryError:
        raise VocabularyError(
            f"{source} takes more memory than there is: is it a tokenizer's file?"
        ) from None


def read(
    path: Path,
    pat_str: str | EllipsisType | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> TokenizerSpec:
    """Read a tokenizer's spec from a file or a folder; see `cutline.load`."""
    is_of_model = path.is_dir()
    if is_of_model:
        name = path.absolute().name if name is None else name
        path = _file_in(path)
    start = _start_of(path)
    if start.startswith(_LFS_POINTER):
        raise VocabularyError(
            f"{path} is a pointer of Git LFS to the file, not the file: fetch it by `git lfs pull`"
        )
    if start.startswith(_PACKED):
        raise VocabularyError(f"{path} is packed: unpack it first")
    file_format = _format_of(path, start)
    # Of a pipe no start is read; and a vocabulary of bytes has an empty merges.txt.
    if not start and path.is_file() and file_format != "vocab.json":
        raise VocabularyError(f"{path} is empty: was it downloaded in full?")
    holds_all = file_format in ("cutline", "tokenizer.json", "sentencepiece", "gguf", VOCAB_NAME)
    if holds_all and not (isinstance(pat_str, EllipsisType) and special_tokens is None):
        raise TypeError(
            f"{path} contains the split pattern and the special tokens: "
            "leave pat_str and special_tokens out"
        )
    if file_format == "cutline":
        spec = read_cutline(path)
        return spec if name is None else spec._replace(name=name)
    if file_format == "tokenizer.json":
        return _from_json(path, name, is_of_model=is_of_model)
    if file_format == VOCAB_NAME:
        return spec_of(read_vocab_txt(path), path.stem if name is None else name, str(path))
    if file_format == "gguf":
        return read_gguf(path, name or path.stem, str(path))
    if file_format == "sentencepiece":
        spec = read_sentencepiece(read_bounded(path), name or path.stem, str(path))
        if is_of_model:
            _check_model_file(spec, path)
        return checked(spec, str(path), is_done=False)
    if isinstance(pat_str, EllipsisType):
        if start and file_format == "tiktoken" and not _MAYBE_RANKS.match(start):
            raise VocabularyError(
                f"{path} is no tokenizer's file, by its name or by what it begins with"
            )
        raise TypeError(
            f"{path} does not contain the split pattern: pass pat_str=, or pat_str=None for an "
            "encoding that does not split"
        )
    special_tokens = dict(special_tokens or {})
    if file_format == "tiktoken":
        vocabulary = read_tiktoken(path)
    else:
        vocabulary = _merged_pair(read_vocab_and_merges(vocab_path(path)), special_tokens)
    return TokenizerSpec.plain(
        path.stem if name is None else name, vocabulary, pat_str, special_tokens
    )


def _file_in(folder: Path) -> Path:
    """Find the file of a folder that contains its tokenizer."""
    names = [name for name, *_ in TOKENIZER_FILES]
    for name in names:
        if found := sorted(folder.glob(name)):
            return found[0]
    others = [name for name in TO_CONVERT if (folder / name).exists()]
    hint = convert_hint(others[0], str(folder)) if others else ""
    raise FileNotFoundError(ENOENT, f"a folder without {', '.join(names)}{hint}", str(folder))


def _check_model_file(spec: TokenizerSpec, path: Path) -> None:
    """Refuse the file of a model whose ids may be others than those of transformers.

    Others beside it add tokens, which texts would not have; or sums are rounded otherwise.
    """
    if isinstance(spec.model, Unigram):
        raise VocabularyError(
            f"{path} has a model of the type Unigram, whose sums transformers does not round as "
            f"sentencepiece does: {CONVERT_HINT}; or load the file itself, for sentencepiece's ids"
        )
    known = {token.content.replace(" ", BLANK) for token in spec.added_tokens}
    if missing := [text for text in added_beside(path) if text.replace(" ", BLANK) not in known]:
        raise VocabularyError(
            f"{path} does not have the token {missing[0]!r}, which {CONFIG_NAME} or {ADDED_NAME} "
            f"adds: {CONVERT_HINT}; or load the file itself, without such tokens"
        )


def _start_of(path: Path) -> bytes:
    """Return the first bytes of a file; none of a pipe, which can be read only once."""
    if not S_ISREG(path.stat().st_mode):
        return b""
    with path.open("rb") as file:
        return file.read(64)


def _format_of(
    path: Path, start: bytes
) -> FileFormat | Literal["gguf", "sentencepiece", "vocab.txt"]:
    """Detect the format by the file's name, or else by its first bytes."""
    if path.name.endswith(VOCAB_NAME):
        return "vocab.txt"
    if path.suffix == ".gguf":
        return "gguf"
    if (named := format_by_name(path)) is not None:
        return named
    start = start.lstrip()
    if start.startswith(MAGIC):
        return "cutline"
    if start.startswith(GGUF):
        return "gguf"
    if start.startswith(b"{"):
        return "tokenizer.json"
    is_lines = start.isascii() and b"\0" not in start
    if path.suffix == ".model":  # Llama 3's has lines of ranks
        is_lines = _RANK_LINE.match(start) is not None
    return "tiktoken" if is_lines else "sentencepiece"


def read_tokenizer(tokenizer: Any, name: str) -> TokenizerSpec:
    """Read the spec of a tokenizer object; see `Encoding.from_tokenizers`."""
    from cutline.wrapping.versions import document_of  # loads what a file does not need

    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    document = document_of(backend)
    if document is None:
        raise TypeError(
            "tokenizer must be a tokenizers.Tokenizer or a fast tokenizer of transformers, got "
            f"{type(tokenizer).__name__}: {WRAP_HINT}"
        )
    return spec_of(document, name, name)


def _from_json(path: Path, name: str | None, *, is_of_model: bool) -> TokenizerSpec:
    document = read_json(path)
    name = path.stem if name is None else name
    if is_tekken(document):
        return parse_tekken(document, name, str(path))
    whole = with_tokens_beside(document, path) if is_of_model else document
    return spec_of(whole, name, str(path))


def _merged_pair(model: MergeModel, special_tokens: Mapping[str, int]) -> Vocabulary:
    """Make the vocabulary of `vocab.json`, which may not have unreachable tokens."""
    vocabulary, unreachable = merged(model, special_tokens)
    if unreachable:
        token, number = next(iter(unreachable.items()))
        raise VocabularyError(
            f"{model.source}: merging never makes token {token!r} (id {number}), and without "
            "ignore_merges no text has it; if it is a special token, it must be listed as one"
        )
    return vocabulary
