"""Reading tokenizers from files: detects the format and checks the caller's arguments."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path
from types import EllipsisType
from typing import Any, Final, Literal

from cutline.errors import CorruptDataError, PatternError, VocabularyError
from cutline.formats.cutline_file import MAGIC, read_cutline
from cutline.formats.huggingface import read_json, read_vocab_and_merges, vocab_path
from cutline.formats.merges import (
    WRAP_HINT,
    MergeModel,
    check_merges,
    merge_order,
    never_made,
    read_ranks,
)
from cutline.formats.metaspace import is_over_characters, make_character_spec
from cutline.formats.sentencepiece_model import read_sentencepiece
from cutline.formats.stages import make_split, make_steps, without_white_space
from cutline.formats.tekken import is_tekken, parse_tekken
from cutline.formats.tiktoken_file import read_tiktoken
from cutline.formats.tokenizer_json import (
    Part,
    TokenizerJson,
    check_byte_level,
    is_newer,
    parse_tokenizer_json,
    refused,
)
from cutline.formats.vocab_txt import VOCAB_NAME, read_vocab_txt
from cutline.formats.word_ends import with_blanks
from cutline.formats.word_json import (
    is_word_model,
    make_splitters,
    parts_before_model,
    read_word_model,
)
from cutline.formats.writing import FileFormat, format_by_name
from cutline.normalizing import normalize
from cutline.spec import TokenizerSpec, checked_special_tokens
from cutline.tables import recover_left_lengths
from cutline.vocabulary import Vocabulary
from cutline.wrapping.versions import document_of

__all__ = ["TOKENIZER_FILES", "naming", "read", "read_tokenizer"]

TOKENIZER_FILES: Final = (
    ("tokenizer.json",),
    ("tekken.json",),
    ("vocab.json", "merges.txt"),
    ("tokenizer.model",),
    ("vocab.txt",),
    ("*.tiktoken",),
)
"""The files in which a model's folder has its tokenizer, the most complete first."""


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


def read(
    path: Path,
    pat_str: str | EllipsisType | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> TokenizerSpec:
    """Read a tokenizer's spec from a file or a folder; see `cutline.load`."""
    if path.is_dir():
        name = path.absolute().name if name is None else name
        path = _file_in(path)
    file_format = _format_of(path)
    holds_all = file_format in ("cutline", "tokenizer.json", "sentencepiece", VOCAB_NAME)
    if holds_all and not (isinstance(pat_str, EllipsisType) and special_tokens is None):
        raise TypeError(
            f"{path} contains the split pattern and the special tokens: "
            "leave pat_str and special_tokens out"
        )
    if file_format == "cutline":
        spec = read_cutline(path)
        return spec if name is None else spec._replace(name=name)
    if file_format == "tokenizer.json":
        return _from_json(path, name)
    if file_format == VOCAB_NAME:
        return _from_document(read_vocab_txt(path), path.stem if name is None else name, str(path))
    if file_format == "sentencepiece":
        spec = read_sentencepiece(path.read_bytes(), name or path.stem, str(path))
        return _checked(spec, str(path), is_done=False)
    if isinstance(pat_str, EllipsisType):
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
    raise FileNotFoundError(ENOENT, f"a folder without {', '.join(names)}", str(folder))


def _format_of(path: Path) -> FileFormat | Literal["sentencepiece", "vocab.txt"]:
    """Detect the format by the file's name, or else by its content."""
    if path.name.endswith(VOCAB_NAME):
        return "vocab.txt"
    if (named := format_by_name(path)) is not None:
        return named
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    if start.startswith(MAGIC):
        return "cutline"
    if not start.isascii() or b"\0" in start:
        return "sentencepiece"
    return "tokenizer.json" if start.startswith(b"{") else "tiktoken"


def read_tokenizer(tokenizer: Any, name: str) -> TokenizerSpec:
    """Read the spec of a tokenizer object; see `Encoding.from_tokenizers`."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    document = document_of(backend)
    if document is None:
        raise TypeError(
            "tokenizer must be a tokenizers.Tokenizer or a fast tokenizer of transformers, got "
            f"{type(tokenizer).__name__}: {WRAP_HINT}"
        )
    return _from_document(document, name, name)


def _from_json(path: Path, name: str | None) -> TokenizerSpec:
    document = read_json(path)
    name = path.stem if name is None else name
    if is_tekken(document):
        return parse_tekken(document, name, str(path))
    return _from_document(document, name, str(path))


def _from_document(document: Part, name: str, source: str) -> TokenizerSpec:
    if is_word_model(document):
        before, splitters = parts_before_model(document, source)
        steps = make_steps(before, source)
        splits = make_splitters(splitters, source, is_newer=is_newer(document))
        spec = read_word_model(document, name, source, steps, splits)
        return _checked(spec, source, is_done=is_newer(document))
    parsed = parse_tokenizer_json(document, source)
    if is_over_characters(parsed):
        spec = make_character_spec(parsed, name, source)
    else:
        spec = _byte_level_spec(parsed, name, source)
    return _checked(spec, source, is_done=parsed.is_normalized)


def _byte_level_spec(parsed: TokenizerJson, name: str, source: str) -> TokenizerSpec:
    check_byte_level(parsed, source)
    pat_str, prefix_space, splittings = make_split(parsed.pre_tokenizers, source)
    added = {token.content: token.id for token in parsed.added_tokens}
    normalizers = without_white_space(parsed.normalizers, pat_str, parsed.added_tokens)
    model, never = parsed.model, dict[bytes, int]()
    if has_suffix := bool(model.end_of_word_suffix):
        model, never = with_blanks(model, pat_str)
    vocabulary, unreachable = _merged(model, added)
    if parsed.model.ignore_merges:
        for token in parsed.added_tokens:
            if token.single_word and token.content in parsed.model.ids:
                why = "where other words touch it, the text would be this token all the same"
                raise refused(source, "added token", token.content, why)
    return TokenizerSpec(
        name,
        vocabulary,
        pat_str,
        parsed.added_tokens,
        make_steps(normalizers, source),
        prefix_space,
        unreachable | never,
        parsed.n_template_tokens,
        parsed.trims,
        marks_word_ends=has_suffix,
        splittings=splittings,
    )


def _checked(spec: TokenizerSpec, source: str, *, is_done: bool) -> TokenizerSpec:
    """Refuse added tokens that cannot be found exactly; see `_check_normalized`."""
    checked_special_tokens(spec.vocabulary, spec.own_tokens)
    _check_normalized(spec, source, is_done=is_done)
    return spec


def _check_normalized(spec: TokenizerSpec, source: str, *, is_done: bool) -> None:
    """Refuse added tokens that become empty or equal to another one when normalized.

    If they are stored in their normal form, refuse those that normalizing would change.
    """
    seen: dict[str, str] = {}
    for token in spec.added_tokens:
        if not token.normalized or not token.content:
            continue
        text = normalize(token.content, spec.normalizer)
        if not text:
            raise refused(source, "added token", token.content, "normalizing leaves nothing of it")
        if is_done and text != token.content:
            why = "normalized once more it would be another one"
            raise refused(source, "added token", token.content, why)
        if text in seen:
            why = f"normalizing makes it the same as {seen[text]!r}"
            raise refused(source, "added token", token.content, why)
        seen[text] = token.content


def _merged_pair(model: MergeModel, special_tokens: Mapping[str, int]) -> Vocabulary:
    """Make the vocabulary of `vocab.json`, which may not have unreachable tokens."""
    vocabulary, unreachable = _merged(model, special_tokens)
    if unreachable:
        token, number = next(iter(unreachable.items()))
        raise VocabularyError(
            f"{model.source}: merging never makes token {token!r} (id {number}), and without "
            "ignore_merges no text has it; if it is a special token, it must be listed as one"
        )
    return vocabulary


def _merged(
    model: MergeModel, added_tokens: Mapping[str, int]
) -> tuple[Vocabulary, dict[bytes, int]]:
    """Make the vocabulary of a model, and list its unreachable tokens.

    Tokens merge in the order of ids or in that of the list of merges; other models are
    refused. Without `ignore_merges`, no text encodes to a token that merging does not make.
    """
    ranks = read_ranks(model, added_tokens)
    unreachable: dict[bytes, int] = {}
    if not model.ignore_merges:
        unreachable = {token: ranks.pop(token) for token in never_made(model, list(ranks))}
    by_id = _ordered(model, ranks, None)
    try:
        check_merges(by_id, model)
    except VocabularyError:
        vocabulary = _ordered(model, ranks, merge_order(model, ranks))
        check_merges(vocabulary, model)
        return vocabulary, unreachable
    return by_id, unreachable


def _ordered(
    model: MergeModel, ranks: dict[bytes, int], order: Sequence[bytes] | None
) -> Vocabulary:
    try:
        vocabulary = Vocabulary.from_ranks(ranks, order)
        return vocabulary.with_left_lengths(recover_left_lengths(vocabulary))
    except VocabularyError as error:
        raise VocabularyError(f"{model.source}: {error}; {WRAP_HINT}") from error
