"""Hugging Face's files: `vocab.json` with `merges.txt`, and `tokenizer.json`.

They are written so that the `tokenizers` package gives the same ids. A `tokenizer.json` is
parsed by tokenizer_json.py.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cutline.atomic import replace_file
from cutline.errors import VocabularyError
from cutline.formats.bounded import read_bounded
from cutline.formats.merges import Merge, MergeModel, list_merges, list_texts, unreachable
from cutline.formats.token_ids import Texts, TokenIds, TokenScores
from cutline.formats.tokenizer_json import COMMENT, checked_ids, shown
from cutline.kernels.base.json_model import read_model
from cutline.kernels.base.utf8 import valid_bytes
from cutline.spec import TokenizerSpec
from cutline.vocabulary.vocabulary import MAX_TOKEN_ID

__all__ = [
    "DECODER",
    "GPT2_REGEX",
    "SplitRegex",
    "bpe_model",
    "dump",
    "float_of_serde",
    "ids_by_text",
    "pre_tokenizer",
    "read_json",
    "read_vocab_and_merges",
    "vocab_path",
    "write_tokenizer_json",
    "write_vocab_and_merges",
]

GPT2_REGEX: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The built-in split pattern of the pre-tokenizer ByteLevel."""

_MOST_SCALED: Final = 308  # the greatest power of ten that a float holds
_SURE_DIGITS: Final = 19  # with one more they may need more than 64 bits
_VOCAB_NAME: Final = "vocab.json"
_MERGES_NAME: Final = "merges.txt"
_BYTE_LEVEL: Final = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
DECODER: Final = {
    "type": "ByteLevel",
    "add_prefix_space": True,
    "trim_offsets": True,
    "use_regex": True,
}
_PLAIN_MODEL: Final = {
    "type": "BPE",
    "dropout": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "byte_fallback": False,
}
_PLAIN_ADDED_TOKEN: Final = {
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}


@dataclass(frozen=True, slots=True)
class SplitRegex:
    """How a pre-tokenizer splits.

    Attributes:
        pattern: a regular expression for Oniguruma.
        keeps_gaps: the text between matches is a piece too, instead of being dropped.
    """

    pattern: str
    keeps_gaps: bool


def vocab_path(path: Path) -> Path:
    """Find the `vocab.json` of a folder, or the `prefix-vocab.json` of `prefix-merges.txt`."""
    if path.name.endswith(_VOCAB_NAME):
        return path
    if path.name.endswith(_MERGES_NAME):
        return path.with_name(path.name.removesuffix(_MERGES_NAME) + _VOCAB_NAME)
    return path / _VOCAB_NAME


def _merges_path(ids_path: Path) -> Path:
    return ids_path.with_name(ids_path.name.removesuffix(_VOCAB_NAME) + _MERGES_NAME)


def write_vocab_and_merges(spec: TokenizerSpec, path: Path) -> None:
    """Write `vocab.json`, special tokens included, and `merges.txt` next to it.

    Args:
        spec: a plain one, with left lengths.
        path: the file for the ids; its name ends in `vocab.json`.

    Raises:
        VocabularyError: a token is unreachable, a special token would be taken for an
            ordinary one, or a merge begins with "#version".
        OSError: a file cannot be written; each is written atomically.
    """
    if token := unreachable(spec.vocabulary):
        raise VocabularyError(
            f"merging never makes {token}, so merges.txt cannot have its merge; "
            "save as tokenizer.json or in another format"
        )
    merges = list_merges(spec.vocabulary)
    if dropped := next((left for left, _ in merges if left.startswith(COMMENT)), None):
        raise VocabularyError(
            f"merges.txt cannot store a merge of {dropped!r}: tokenizers takes the line for a "
            "comment; save as tokenizer.json or in another format"
        )
    ids = ids_by_text(spec)
    lines = ["#version: 0.2", *map(" ".join, merges), ""]
    replace_file(path, dump(ids))
    replace_file(_merges_path(path), "\n".join(lines).encode())


def read_vocab_and_merges(path: Path) -> MergeModel:
    """Read `vocab.json` and the `merges.txt` next to it.

    Raises:
        FileNotFoundError: one of them is missing.
        VocabularyError: names the path and the place that is wrong.
    """
    ids = checked_ids(read_json(path), str(path))
    source = f"{path} with {_merges_path(path).name}"
    path = _merges_path(path)
    try:
        lines = read_bounded(path, b"\n").decode().split("\n")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path} is not UTF-8 at byte {error.start}") from None
    merges: list[str] = []
    for number, line in enumerate(lines, start=1):
        fields = line.removesuffix("\r").split(" ")
        if fields == [""] or line.startswith(COMMENT):
            continue
        if len(fields) != 2 or not all(fields):
            shown = repr(line) if len(line) <= 60 else f"{line[:60]!r}..."
            raise VocabularyError(
                f"{path}, line {number}: expected two tokens with a space between, got {shown}"
            )
        merges += fields
    return MergeModel(ids, Texts.of(merges), ignore_merges=False, source=source)


def write_tokenizer_json(
    spec: TokenizerSpec, split: SplitRegex | None, path: str | os.PathLike[str]
) -> None:
    """Write a `tokenizer.json`.

    Args:
        spec: a plain one, with left lengths.
        split: how to split; None: do not split.
        path: the file.

    Raises:
        VocabularyError: two special tokens share an id, or one would be taken for an
            ordinary token.
        OSError: the file cannot be written; it is written atomically.
    """
    by_id: dict[int, str] = {}
    for text, token_id in sorted(spec.special_tokens.items(), key=lambda item: item[1]):
        if by_id.setdefault(token_id, text) != text:
            raise VocabularyError(
                f"special tokens {by_id[token_id]!r} and {text!r} share the id {token_id}; in a "
                "tokenizer.json each needs one of its own: save as .cutline"
            )
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": token_id, "content": text, **_PLAIN_ADDED_TOKEN}
            for token_id, text in by_id.items()
        ],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer(split),
        "post_processor": None,
        "decoder": DECODER,
        "model": bpe_model(
            ids_by_text(spec),
            list_merges(spec.vocabulary),
            ignore_merges=bool(unreachable(spec.vocabulary)),
        ),
    }
    replace_file(path, dump(document))


def read_json(path: Path) -> dict[str, Any]:
    """Read a file that contains a JSON object.

    Returns:
        The object. In a tokenizer.json of the usual form, the model's `vocab` is a `TokenIds` or
        `TokenScores`, and its `merges` are `Texts`.

    Raises:
        FileNotFoundError: there is no such file.
        VocabularyError: it contains something else; names the path and the place.
    """
    data = read_bounded(path, b",")
    if (document := _read_model(data)) is not None:
        return document
    try:
        document = json.loads(data, parse_float=float_of_serde)
    except json.JSONDecodeError as error:
        problem = error.msg.lower().removesuffix(" at")
        raise VocabularyError(
            f"{path}, line {error.lineno}, column {error.colno}: not JSON: {problem}"
        ) from None
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path} is not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"{path} contains no readable JSON: {error}") from None
    if not isinstance(document, dict):
        raise VocabularyError(f"{path} contains {shown(document)} instead of a JSON object")
    return document


def _read_model(data: bytes) -> dict[str, Any] | None:
    """Read a tokenizer.json of the usual form, its tokens and merges as arrays."""
    found = read_model(data)
    if found is None:
        return None
    rest, (arena, lengths, numbers), merges = found
    try:
        document: dict[str, Any] = json.loads(rest.decode(), parse_float=float_of_serde)
        texts, model = _checked_texts(arena, lengths), document["model"]
        if merges is not None:
            model["merges"] = _checked_texts(*merges)
    except (ValueError, RecursionError):
        return None  # the whole of it tells where
    has_scores = numbers.dtype.kind == "f"
    if has_scores != (model.get("type") == "Unigram"):
        return None  # what is wrong is shown as the file has it
    if has_scores:
        model["vocab"] = TokenScores(texts, numbers)
    else:
        ids = model["vocab"] = TokenIds(texts, numbers)
        if ids.table.equal is not None or int(numbers.max()) > MAX_TOKEN_ID:
            return None
    return document


def _checked_texts(arena: bytes, lengths: NDArray[np.uint32]) -> Texts:
    """Make texts of what must be UTF-8: parts of a character in two of them are no text.

    Raises:
        ValueError: one is not UTF-8.
    """
    if valid_bytes(arena) < len(arena):
        raise ValueError("no UTF-8")
    texts = Texts(arena, lengths, is_utf8=True)
    inside = np.frombuffer(arena + b"a", dtype=np.uint8)[texts.offsets] & 0xC0 == 0x80
    if inside.any():
        raise ValueError("a text that begins inside a character")
    return texts


def float_of_serde(text: str) -> float:
    """Read a number as `tokenizers` does, to the last bit: by it, equal scores of Unigram differ.

    Its JSON library turns the digits into one integer and scales that, which rounds twice; digits
    that an integer of 64 bits does not hold are dropped.
    """
    digits, _, exponent = text.lower().partition("e")
    whole, _, fraction = digits.lstrip("-").partition(".")
    significand, n_whole = _significand(0, whole)
    significand, n_fraction = _significand(significand, fraction)
    value, scale = float(significand), int(exponent or 0) + len(whole) - n_whole - n_fraction
    while scale < -_MOST_SCALED and value:
        value /= 1e308
        scale += _MOST_SCALED
    if value:
        power = float(f"1e{abs(scale)}")  # as it is written: 10.0**23 is another number
        value = value / power if scale < 0 else value * power
    return -value if text.startswith("-") else value


def _significand(begun: int, digits: str) -> tuple[int, int]:
    """Add digits to an integer of 64 bits while they fit; also returns how many did."""
    if begun < 10 and len(digits) < _SURE_DIGITS:
        return begun * 10 ** len(digits) + int(digits or 0), len(digits)
    for place, digit in enumerate(digits):
        longer = 10 * begun + int(digit)
        if longer >= 1 << 64:
            return begun, place
        begun = longer
    return begun, len(digits)


def ids_by_text(spec: TokenizerSpec) -> dict[str, int]:
    """Join ordinary and special tokens, sorted by id."""
    vocabulary, special_tokens = spec.vocabulary, spec.special_tokens
    ids = dict(zip(list_texts(vocabulary), vocabulary.ids.tolist(), strict=True))
    for text in special_tokens:
        if text in ids:
            raise VocabularyError(
                f"special token {text!r} is written like the ordinary token with id {ids[text]}, "
                "and files of this kind cannot tell them apart: save as .cutline"
            )
    return dict(sorted((ids | special_tokens).items(), key=lambda item: item[1]))


def pre_tokenizer(split: SplitRegex | None, *, prefix_space: bool = False) -> dict[str, Any]:
    """Write the pre-tokenizer of a model over bytes."""
    last = {**_BYTE_LEVEL, "add_prefix_space": prefix_space}
    if split is None or split.pattern == GPT2_REGEX:
        return {**last, "use_regex": split is not None}
    keeping = {"behavior": "Isolated", "invert": False}
    dropping = {"behavior": "Removed", "invert": True}
    return {
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": split.pattern},
                **(keeping if split.keeps_gaps else dropping),
            },
            {**last, "use_regex": False},
        ],
    }


def bpe_model(
    ids: Mapping[str, int], merges: Iterable[Merge], **settings: bool | str | None
) -> dict[str, Any]:
    """Write a BPE model; the settings are those that differ from the usual ones."""
    return {
        **_PLAIN_MODEL,
        "unk_token": None,
        "fuse_unk": False,
        "ignore_merges": False,
        **settings,
        "vocab": ids,
        # As pairs: in the older form, the package drops merges that begin with "#version".
        "merges": list(map(list, merges)),
    }


def dump(document: Mapping[str, Any]) -> bytes:
    """Write JSON."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
