"""Reading BERT's `vocab.txt`: one token a line, and all else as BERT's tokenizer has it."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cutline.errors import VocabularyError
from cutline.formats.bounded import check_count, read_bounded
from cutline.formats.tokenizer_json import Part, shown

__all__ = ["CONFIG_NAME", "VOCAB_NAME", "bert_document", "read_vocab_txt"]

VOCAB_NAME: Final = "vocab.txt"
CONFIG_NAME: Final = "tokenizer_config.json"
"""What this file beside it says holds; the rest is as in BertTokenizerFast of transformers."""

_ROLES: Final = ("unk", "sep", "pad", "cls", "mask")
_NEEDED: Final = ("unk", "sep", "cls")


def read_vocab_txt(path: Path) -> Part:
    """Read a `vocab.txt` as the `tokenizer.json` that it stands for.

    The id of a token is its line, counted from 0; of a token that is there twice, the last.

    Raises:
        OSError: the file cannot be read.
        VocabularyError: it is not UTF-8, or lacks a token that each text needs.
    """
    config = _config(path.with_name(CONFIG_NAME))
    try:
        lines = io.StringIO(read_bounded(path, b"\n").decode(), newline=None)
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path} is not UTF-8: {error}") from None
    ids = {line.removesuffix("\n"): place for place, line in enumerate(lines)}
    check_count(len(ids), "tokens", str(path))
    names = {role: _token(config, role, path) for role in _ROLES}
    for role in _NEEDED:
        if names[role] not in ids:
            raise VocabularyError(
                f"{path} has no line {names[role]!r}, the {role}_token of BERT; if another token "
                f"is, {CONFIG_NAME} beside it must say so"
            )
    return bert_document(
        ids,
        names,
        lowercase=_switch(config, "do_lower_case", path, True),
        strip_accents=_switch(config, "strip_accents", path, None),
        handle_chinese_chars=_switch(config, "tokenize_chinese_chars", path, True),
    )


def bert_document(
    ids: Mapping[str, int],
    names: Mapping[str, str],
    *,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    handle_chinese_chars: bool = True,
) -> Part:
    """Describe BERT's tokenizer.

    Args:
        ids: of its tokens.
        names: the tokens "unk", "sep", "pad", "cls" and "mask"; the first, second and fourth
            have ids.
        lowercase: a switch of BertNormalizer.
        strip_accents: another one.
        handle_chinese_chars: a third one.
    """
    special = sorted((ids[text], text) for text in set(names.values()) if text in ids)
    cls, sep = names["cls"], names["sep"]
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": number, "content": text, "special": True} for number, text in special
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": handle_chinese_chars,
            "strip_accents": strip_accents,
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "BertProcessing",
            "sep": [sep, ids[sep]],
            "cls": [cls, ids[cls]],
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": names["unk"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            # An empty line is a token that no word can have.
            "vocab": {text: number for text, number in ids.items() if text},
        },
    }


def _config(path: Path) -> Part:
    if not path.is_file():
        return {}
    try:
        config = json.loads(read_bounded(path, b","))
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"{path} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise VocabularyError(f"{path} contains {shown(config)} instead of an object")
    return config


def _token(config: Part, role: str, path: Path) -> str:
    match config.get(f"{role}_token"):
        case None:
            return f"[{role.upper()}]"
        case (str() as text) | {"content": str() as text}:
            return text
        case other:
            where = path.with_name(CONFIG_NAME)
            raise VocabularyError(f"{where}: {role}_token is {shown(other)} instead of a token")


def _switch(config: Part, name: str, path: Path, default: Any) -> Any:
    value = config.get(name, default)
    if not isinstance(value, bool) and value is not None:
        where = path.with_name(CONFIG_NAME)
        raise VocabularyError(f"{where}: {name} is {shown(value)} instead of true or false")
    return default if value is None else value
