"""Hugging Face's files: `vocab.json` with `merges.txt`, and `tokenizer.json`.

Written such that the `tokenizers` package gives the same ids. Read: byte-level BPE as
written here and as that package trains it; what else a `tokenizer.json` can hold is
refused by name.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cutline.errors import VocabularyError
from cutline.vocabulary.files import replace_file
from cutline.vocabulary.merges import MergeModel, list_merges, list_texts, unreachable
from cutline.vocabulary.vocabulary import Vocabulary

__all__ = [
    "GPT2_REGEX",
    "SplitRegex",
    "TokenizerJson",
    "parse_tokenizer_json",
    "read_json",
    "read_vocab_and_merges",
    "vocab_path",
    "write_tokenizer_json",
    "write_vocab_and_merges",
]

GPT2_REGEX: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""What the pre-tokenizer ByteLevel splits by itself."""

_VOCAB_NAME: Final = "vocab.json"
_MERGES_NAME: Final = "merges.txt"
_COMMENT: Final = "#version"
"""Begins a merge that the package skips, wherever it stands; pairs of a `tokenizer.json` aside."""
_BYTE_LEVEL: Final = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
_DECODER: Final = {
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
        pattern: for the engine Oniguruma.
        keeps_gaps: what lies between matches is a piece too, instead of being dropped.
    """

    pattern: str
    keeps_gaps: bool


@dataclass(frozen=True, slots=True)
class TokenizerJson:
    """What a `tokenizer.json` holds; `split` None does not split."""

    model: MergeModel
    special_tokens: dict[str, int]
    split: SplitRegex | None


def vocab_path(path: Path) -> Path:
    """Find the `vocab.json` of a folder, or the `prefix-vocab.json` of `prefix-merges.txt`."""
    if path.name.endswith(_VOCAB_NAME):
        return path
    if path.name.endswith(_MERGES_NAME):
        return path.with_name(path.name.removesuffix(_MERGES_NAME) + _VOCAB_NAME)
    return path / _VOCAB_NAME


def _merges_path(ids_path: Path) -> Path:
    return ids_path.with_name(ids_path.name.removesuffix(_VOCAB_NAME) + _MERGES_NAME)


def write_vocab_and_merges(
    vocabulary: Vocabulary, special_tokens: Mapping[str, int], path: Path
) -> None:
    """Write `vocab.json`, special tokens included, and `merges.txt` beside it.

    Args:
        vocabulary: with left lengths.
        special_tokens: ids by text.
        path: the file for the ids; its name ends in `vocab.json`.

    Raises:
        VocabularyError: merging never reaches a token, a special token would be taken for an
            ordinary one, or a merge begins with "#version".
        OSError: a file cannot be written; each appears whole or not at all.
    """
    if token := unreachable(vocabulary):
        raise VocabularyError(
            f"merging never makes {token}, so merges.txt cannot say how; "
            "save as tokenizer.json or in another format"
        )
    merges = list_merges(vocabulary)
    if dropped := next((left for left, _ in merges if left.startswith(_COMMENT)), None):
        raise VocabularyError(
            f"merges.txt cannot hold a merge of {dropped!r}: tokenizers takes the line for a "
            "comment; save as tokenizer.json or in another format"
        )
    ids = _ids_by_text(vocabulary, special_tokens)
    lines = ["#version: 0.2", *map(" ".join, merges), ""]
    replace_file(path, _dump(ids))
    replace_file(_merges_path(path), "\n".join(lines).encode())


def read_vocab_and_merges(path: Path) -> MergeModel:
    """Read `vocab.json` and the `merges.txt` beside it.

    Raises:
        FileNotFoundError: one of them is missing.
        VocabularyError: names the path and the place that is wrong.
    """
    ids = _checked_ids(read_json(path), str(path))
    source = f"{path} with {_merges_path(path).name}"
    path = _merges_path(path)
    try:
        lines = path.read_bytes().decode().split("\n")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path} is not UTF-8 at byte {error.start}") from None
    merges = []
    for number, line in enumerate(lines, start=1):
        fields = line.removesuffix("\r").split(" ")
        if fields == [""] or line.startswith(_COMMENT):
            continue
        if len(fields) != 2 or not all(fields):
            shown = repr(line) if len(line) <= 60 else f"{line[:60]!r}..."
            raise VocabularyError(
                f"{path}, line {number}: expected two tokens with a space between, got {shown}"
            )
        merges.append((fields[0], fields[1]))
    return MergeModel(ids, merges, ignore_merges=False, source=source)


def write_tokenizer_json(
    vocabulary: Vocabulary,
    special_tokens: Mapping[str, int],
    split: SplitRegex | None,
    path: str | os.PathLike[str],
) -> None:
    """Write a `tokenizer.json`.

    Args:
        vocabulary: with left lengths.
        special_tokens: ids by text.
        split: how to split; None does not.
        path: the file.

    Raises:
        VocabularyError: two special tokens share an id, or one would be taken for an
            ordinary token.
        OSError: the file cannot be written; it appears whole or not at all.
    """
    by_id: dict[int, str] = {}
    for text, token_id in sorted(special_tokens.items(), key=lambda item: item[1]):
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
        "pre_tokenizer": _pre_tokenizer(split),
        "post_processor": None,
        "decoder": _DECODER,
        "model": {
            **_PLAIN_MODEL,
            "unk_token": None,
            "fuse_unk": False,
            "ignore_merges": bool(unreachable(vocabulary)),
            "vocab": _ids_by_text(vocabulary, special_tokens),
            # As pairs: of the older form, the package drops what begins with "#version".
            "merges": list(map(list, list_merges(vocabulary))),
        },
    }
    replace_file(path, _dump(document))


def parse_tokenizer_json(document: Mapping[str, Any], source: str) -> TokenizerJson:
    """Take apart what `read_json` read.

    Raises:
        VocabularyError: names the part that is damaged or not supported.
    """
    for part in ("truncation", "padding", "normalizer"):
        if document.get(part) is not None:
            raise _unsupported(source, part, document[part])
    processor = document.get("post_processor")
    if processor is not None and _type_of(processor) != "ByteLevel":  # that one moves offsets only
        raise _unsupported(source, "post_processor", processor)
    if _type_of(document.get("decoder")) != "ByteLevel":
        raise _unsupported(source, "decoder", document.get("decoder"))
    model = _parse_model(document.get("model"), source)
    return TokenizerJson(
        model,
        _parse_added_tokens(document.get("added_tokens") or [], model),
        _parse_pre_tokenizer(document.get("pre_tokenizer"), source),
    )


def read_json(path: Path) -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Raises:
        FileNotFoundError: there is no such file.
        VocabularyError: it holds something else; names the path and the place.
    """
    try:
        document = json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise VocabularyError(
            f"{path}, line {error.lineno}, column {error.colno}: not JSON: {error.msg.lower()}"
        ) from None
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path} is not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"{path} holds no JSON that can be read: {error}") from None
    if not isinstance(document, dict):
        raise VocabularyError(f"{path} holds {_shown(document)} instead of a JSON object")
    return document


def _ids_by_text(vocabulary: Vocabulary, special_tokens: Mapping[str, int]) -> dict[str, int]:
    """Join ordinary and special tokens, in the order of ids."""
    ids = dict(zip(list_texts(vocabulary), vocabulary.ids.tolist(), strict=True))
    for text in special_tokens:
        if text in ids:
            raise VocabularyError(
                f"special token {text!r} is written like the ordinary token with id {ids[text]}, "
                "and files of this kind cannot tell them apart: save as .cutline"
            )
    return dict(sorted((ids | dict(special_tokens)).items(), key=lambda item: item[1]))


def _pre_tokenizer(split: SplitRegex | None) -> dict[str, Any]:
    if split is None or split.pattern == GPT2_REGEX:
        return {**_BYTE_LEVEL, "use_regex": split is not None}
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
            {**_BYTE_LEVEL, "use_regex": False},
        ],
    }


def _parse_pre_tokenizer(part: Any, source: str) -> SplitRegex | None:
    match part:
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}:
            return None
        case {"type": "ByteLevel", "add_prefix_space": False}:
            return SplitRegex(GPT2_REGEX, keeps_gaps=True)
        case {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": str() as pattern},
                    "behavior": "Isolated" | "Removed" as behavior,
                    "invert": bool() as invert,
                },
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            ],
        } if invert == (behavior == "Removed"):
            return SplitRegex(pattern, keeps_gaps=not invert)
    raise _unsupported(source, "pre_tokenizer", part)


def _parse_model(part: Any, source: str) -> MergeModel:
    if not isinstance(part, dict):
        raise _unsupported(source, "model", part)
    for key, plain in _PLAIN_MODEL.items():
        # Older files leave the type out; "" and 0 say the same as null.
        if part.get(key, plain) != plain and (part[key] or key == "type"):
            raise _unsupported(source, f"model: {key}", part[key])
    ids = _checked_ids(part.get("vocab"), f"{source}, vocab")
    merges = part.get("merges")
    if not isinstance(merges, list):
        raise _unsupported(source, "model: merges", merges)
    pairs = []
    for place, merge in enumerate(merges, start=1):
        if isinstance(merge, str) and merge.startswith(_COMMENT):
            continue
        fields = merge.split(" ") if isinstance(merge, str) else merge
        match fields:
            case [str() as left, str() as right]:
                pairs.append((left, right))
            case _:
                raise VocabularyError(
                    f"{source}: merge {place} is {_shown(merge)} instead of two tokens"
                )
    return MergeModel(ids, pairs, bool(part.get("ignore_merges")), source)


def _parse_added_tokens(parts: Any, model: MergeModel) -> dict[str, int]:
    """Read the special tokens; refuse what `tokenizers` would not find or number like us."""
    found: dict[str, int] = {}
    for place, part in enumerate(parts if isinstance(parts, list) else [parts]):
        match part:
            case {"id": int() as token_id, "content": str() as text}:
                pass
            case _:
                raise _unsupported(model.source, f"added_tokens, place {place}", part)
        for key, plain in _PLAIN_ADDED_TOKEN.items():
            if part.get(key) is not plain:
                raise _unsupported(model.source, f"added token {text!r}: {key}", part.get(key))
        # A token that the vocabulary lacks gets the next id, whatever the file says.
        following = max(len(model.ids), max(found.values(), default=-1) + 1)
        assigned = model.ids.get(text, following)
        if token_id != assigned:
            raise VocabularyError(
                f"{model.source}: added token {text!r} has id {token_id}, but `tokenizers` "
                f"would give it {assigned}; correct the file"
            )
        found[text] = token_id
    return found


def _checked_ids(part: Any, source: str) -> dict[str, int]:
    if not isinstance(part, dict):
        raise VocabularyError(f"{source} holds {_shown(part)} instead of ids by token")
    for text, token_id in part.items():
        if type(token_id) is not int:
            raise VocabularyError(f"{source}: token {text!r} has id {_shown(token_id)}")
    return part


def _type_of(part: Any) -> Any:
    return part.get("type") if isinstance(part, dict) else part


def _unsupported(source: str, part: str, got: Any) -> VocabularyError:
    return VocabularyError(
        f"{source}: {part} is {_shown(got)}, which is not supported; only plain byte-level BPE "
        "can be read"
    )


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _dump(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
