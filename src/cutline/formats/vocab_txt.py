"""Reading BERT's `vocab.txt`: one token a line, and all else as BERT's tokenizer has it."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cutline.errors import VocabularyError
from cutline.formats.bounded import check_count, read_bounded
from cutline.formats.tokenizer_json import Part, shown
from cutline.normalizing import SPACE
from cutline.pretrained.added_tokens import ADDED_NAME, described_tokens, more_special
from cutline.pretrained.side_files import CONFIG_NAME, SideFile

__all__ = [
    "BESIDE_VOCAB",
    "CONVERT_HINT",
    "VOCAB_NAME",
    "bert_document",
    "read_vocab_txt",
]

VOCAB_NAME: Final = "vocab.txt"
"""What `tokenizer_config.json` beside it says holds; the rest is as in transformers' class."""

_MODEL_NAME: Final = "config.json"
BESIDE_VOCAB: Final = (CONFIG_NAME, _MODEL_NAME, ADDED_NAME)
"""Files beside it which say whether the tokenizer is BERT's, and what was added to it."""

# transformers' classes for vocab.txt that are BERT's tokenizer, or leave it to the files.
_CLASSES: Final = frozenset(
    {
        *("Bert", "ConvBert", "DPRContextEncoder", "DPRQuestionEncoder", "DPRReader"),
        *("DistilBert", "Electra", "LayoutLM", "Lxmert", "MobileBert", "Realm", "RetriBert"),
        *("SqueezeBert", "PreTrained"),
    }
)
# Models with a vocab.txt for another tokenizer, if no class is named.
_OTHER_MODELS: Final = frozenset(
    {
        *("bert-japanese", "bertweet", "cpmant", "esm", "funnel", "mpnet", "phobert"),
        *("prophetnet", "roc_bert", "roformer", "splinter", "tapas"),
    }
)
CONVERT_HINT: Final = (
    "transformers makes a tokenizer.json, which can be loaded, of many: "
    "AutoTokenizer.from_pretrained(...).save_pretrained(folder)"
)
_ROLES: Final = ("unk", "sep", "pad", "cls", "mask")
_NEEDED: Final = ("unk", "sep", "cls")


def read_vocab_txt(path: Path) -> Part:
    """Read a `vocab.txt` as the `tokenizer.json` that it stands for.

    The id of a token is its line, counted from 0; of a token that is there twice, the last.

    Raises:
        OSError: the file cannot be read.
        VocabularyError: it is not UTF-8, or lacks a token that each text needs; or files beside
            it say that the tokenizer is another one than BERT's.
    """
    config = SideFile(path.with_name(CONFIG_NAME))
    _check_class(config, path)
    try:
        lines = io.StringIO(read_bounded(path, b"\n").decode(), newline=None)
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path} is not UTF-8: {error}") from None
    # `tokenizers` cuts off white space, which no token ends in.
    ids = {line.rstrip(SPACE): place for place, line in enumerate(lines)}
    check_count(len(ids), "tokens", str(path))
    names = {role: _token(config, role) for role in _ROLES}
    for role in _NEEDED:
        if names[role] not in ids:
            raise VocabularyError(
                f"{path} has no line {names[role]!r}, the {role}_token of BERT; if another token "
                f"is, {CONFIG_NAME} beside it must say so"
            )
    return bert_document(
        ids,
        names,
        _added_tokens(config, ids, path),
        lowercase=_switch(config, "do_lower_case", True),
        strip_accents=_switch(config, "strip_accents", None),
        handle_chinese_chars=_switch(config, "tokenize_chinese_chars", True),
    )


def bert_document(
    ids: Mapping[str, int],
    names: Mapping[str, str],
    added_tokens: Sequence[Part] = (),
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
        added_tokens: those that are described; others among `names` are special.
        lowercase: a switch of BertNormalizer.
        strip_accents: another one.
        handle_chinese_chars: a third one.
    """
    added: dict[str, Part] = {
        text: {"id": ids[text], "content": text, "special": True}
        for text in names.values()
        if text in ids
    }
    added |= {token["content"]: token for token in added_tokens}
    cls, sep = names["cls"], names["sep"]
    return {
        "version": "1.0",
        "added_tokens": sorted(added.values(), key=lambda token: token["id"]),
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


def _check_class(config: SideFile, path: Path) -> None:
    """Refuse the vocab.txt of another tokenizer, such as one for Japanese."""
    model = SideFile(path.with_name(_MODEL_NAME)).values
    name = config.values.get("tokenizer_class") or model.get("tokenizer_class")
    if isinstance(name, str):
        is_known = name.removesuffix("Fast").removesuffix("Tokenizer") in _CLASSES
        is_known |= name == "TokenizersBackend"
    else:
        name = model.get("model_type")
        is_known = not isinstance(name, str) or name not in _OTHER_MODELS
    if not is_known or config.values.get("word_tokenizer_type", "basic") != "basic":
        raise VocabularyError(
            f"{path} is of a tokenizer that is not known to be BERT's ({shown(name)}): "
            f"{CONVERT_HINT}"
        )


def _added_tokens(config: SideFile, ids: Mapping[str, int], path: Path) -> list[Part]:
    """Read the tokens that were added to those of the file."""
    found = described_tokens(config)
    described = {token["content"] for token in found}
    more = more_special(config)
    others = [*SideFile(path.with_name(ADDED_NAME)).values]
    for name, texts in ((CONFIG_NAME, more), (ADDED_NAME, others)):
        if unknown := [text for text in texts if text not in ids and text not in described]:
            raise VocabularyError(
                f"{path.with_name(name)} has {unknown[0]!r}, but not how it is to be found in a "
                f"text: {CONVERT_HINT}"
            )
    own = dict.fromkeys(text for text in more if text not in described)
    return [*found, *({"id": ids[text], "content": text, "special": True} for text in own)]


def _token(config: SideFile, role: str) -> str:
    key = f"{role}_token"
    match config.values.get(key):
        case None:
            return f"[{role.upper()}]"
        case (str() as text) | {"content": str() as text}:
            return text
        case other:
            raise config.damaged(key, other, "a token")


def _switch(config: SideFile, name: str, default: Any) -> Any:
    value = config.values.get(name, default)
    if not isinstance(value, bool) and value is not None:
        raise config.damaged(name, value, "true or false")
    return default if value is None else value
