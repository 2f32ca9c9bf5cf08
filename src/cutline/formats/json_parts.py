"""The parts of a `tokenizer.json` around the model, as written from a spec."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Final

from cutline.errors import UnsupportedPatternError, VocabularyError
from cutline.formats.characters import LEADING
from cutline.formats.stages import read_pattern
from cutline.formats.word_json import BEHAVIORS, DROP_BLANK, FROM_BYTES, FUSE
from cutline.normalizing import Form, Lower, NewerForm, Prepend, Replace, Step, Strip, StripBlanks
from cutline.pretokenize.oniguruma import to_oniguruma
from cutline.spec import TokenizerSpec
from cutline.words.charsmap import CharsMap
from cutline.words.joining import Joiner, JoinMetaspace, JoinWordPiece
from cutline.words.precompiled import Precompiled
from cutline.words.splitting import Metaspace, SplitClass, Splitter, WhitespaceSplit
from cutline.words.steps import ByCharacter, ByteLetters, Collapse, CollapseWhite, ReplaceEach

__all__ = [
    "document_of",
    "leading_parts",
    "metaspace",
    "normalizers",
    "sequence",
    "splitters_part",
    "word_decoder",
    "written_pattern",
]

_BERT_SWITCHES: Final = (
    ("clean_text", (ByCharacter("bert clean text"),)),
    ("handle_chinese_chars", (ByCharacter("bert chinese"),)),
    ("strip_accents", (Form("NFD"), ByCharacter("bert accents"))),
    ("lowercase", (Lower(),)),
)
_BERT_SPLITTERS: Final = (WhitespaceSplit(), SplitClass("punctuation", "isolated"))
_NAMES: Final = {behavior: name for name, behavior in BEHAVIORS.items()}


def document_of(
    spec: TokenizerSpec,
    *,
    model: dict[str, Any],
    normalizer: Any,
    pre_tokenizer: Any,
    decoder: Any,
) -> dict[str, Any]:
    """Put a `tokenizer.json` together."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [token._asdict() for token in spec.added_tokens],
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": json.loads(spec.template) if spec.template else None,
        "decoder": decoder,
        "model": model,
    }


def sequence(parts: Sequence[Any], kind: str, members: str) -> Any:
    """Join parts: None if there are none, and one as it is."""
    return {"type": kind, members: list(parts)} if len(parts) > 1 else next(iter(parts), None)


def normalizers(steps: Sequence[Step], *more: Any) -> Any:
    """Write the steps of a normalizer, and parts after them; none is `Spell` or `Unknown`.

    Raises:
        VocabularyError: version 1 of the file has no such step.
    """
    if any(isinstance(step, NewerForm) for step in steps):
        raise VocabularyError(
            "its normal forms are those of tokenizers 1, and files of version 1 have others: save "
            "as .cutline"
        )
    parts: list[Any] = []
    at = 0
    while at < len(steps):
        end, part = _bert(steps, at)
        if part is None:
            end, part = at + 1, _normalizer(steps[at])
        parts.append(part)
        at = end
    return sequence([*parts, *more], "Sequence", "normalizers")


def _bert(steps: Sequence[Step], at: int) -> tuple[int, Any]:
    """Read a BertNormalizer off the steps from a place. Returns where it ends, and it or None."""
    start, part = at, dict[str, Any](type="BertNormalizer")
    for switch, its_steps in _BERT_SWITCHES:
        part[switch] = tuple(steps[at : at + len(its_steps)]) == its_steps
        at += len(its_steps) * part[switch]
    is_more = any(part[switch] for switch, _ in _BERT_SWITCHES[:-1])
    return (at, part) if is_more else (start, None)


def _normalizer(step: Step) -> Any:
    match step:
        case Form(name):
            return {"type": name}
        case Lower():
            return {"type": "Lowercase"}
        case StripBlanks(True, True):
            return {"type": "Replace", "pattern": {"Regex": r"\A +| +\z"}, "content": ""}
        case Strip(left, right) if not isinstance(step, StripBlanks):
            return {"type": "Strip", "strip_left": left, "strip_right": right}
        case Prepend(prefix):
            return {"type": "Prepend", "prepend": prefix}
        case Replace(old, new):
            return {"type": "Replace", "pattern": {"String": old}, "content": new}
        case Collapse(new):
            return {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": new}
        case CollapseWhite():
            return {"type": "Replace", "pattern": {"Regex": r"\s{2,}"}, "content": " "}
        case ReplaceEach(members, new):
            pattern = {"Regex": written_pattern(members)}
            return {"type": "Replace", "pattern": pattern, "content": new}
        case Precompiled(charsmap):
            return {"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap).decode()}
        case ByCharacter("accents"):
            return {"type": "StripAccents"}
        case ByCharacter("nmt"):
            return {"type": "Nmt"}
        case ByteLetters():
            return {"type": "ByteLevel"}
        case CharsMap():
            raise VocabularyError(
                "a tokenizer.json cannot say sentencepiece's own normalization, which takes the "
                "longest rule at each place: save as .cutline"
            )
    raise VocabularyError(
        f"a tokenizer.json cannot say the step {step!r} at its place (BertNormalizer removes "
        "accents after NFD only): save as .cutline"
    )


def splitters_part(splitters: Sequence[Splitter]) -> Any:
    """Write the pre-tokenizer."""
    if tuple(splitters) == _BERT_SPLITTERS:
        return {"type": "BertPreTokenizer"}
    return sequence([*_splitters(splitters)], "Sequence", "pretokenizers")


def _splitters(splitters: Sequence[Splitter]) -> Iterator[Any]:
    word = SplitClass("word", "contiguous")
    for place, splitter in enumerate(splitters):
        match splitter:
            case WhitespaceSplit() if splitters[place + 1 : place + 2] != (word,):
                yield {"type": "WhitespaceSplit"}
            case Metaspace(prepend, splits, replacement):
                yield metaspace(prepend, replacement, splits=splits)
            case SplitClass("digits", behavior):
                yield {"type": "Digits", "individual_digits": behavior == "isolated"}
            case SplitClass("word" | "newer word"):
                yield {"type": "Whitespace"}
            case SplitClass("punctuation" | "newer punctuation", behavior):
                yield {"type": "Punctuation", "behavior": _NAMES[behavior]}
            case SplitClass(members, behavior):
                pattern = {"Regex": written_pattern(members)}
                yield {"type": "Split", "pattern": pattern, "behavior": _NAMES[behavior]} | {
                    "invert": False
                }


def leading_parts(splitters: Sequence[Splitter]) -> list[Any]:
    """Write the normalizers by which a Metaspace leads texts that begin with its replacement."""
    leads = any(isinstance(one, Metaspace) and one.leads_all for one in splitters)
    return [*LEADING] if leads else []


def metaspace(scheme: str, replacement: str, *, splits: bool = True) -> dict[str, Any]:
    """Write a Metaspace."""
    return {
        "type": "Metaspace",
        "replacement": replacement,
        "prepend_scheme": scheme,
        "split": splits,
    }


def word_decoder(joiner: Joiner | None) -> Any:
    """Write the decoder of a model that encodes words apart."""
    match joiner:
        case JoinWordPiece(prefix, cleanup):
            return {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}
        case JoinMetaspace(_, replacement, has_bytes, drops_blank=True):
            to_blank = {"type": "Replace", "pattern": {"String": replacement}, "content": " "}
            parts = [to_blank, *([FROM_BYTES] if has_bytes else []), FUSE, DROP_BLANK]
            return sequence(parts, "Sequence", "decoders")
        case JoinMetaspace(prepend, replacement, has_bytes):
            parts = [FROM_BYTES] if has_bytes else []
            parts.append(metaspace(prepend, replacement))
            return sequence(parts, "Sequence", "decoders")
    return None


def written_pattern(pat_str: str) -> str:
    """Write a pattern so that it is read as it is: most mean the same for Oniguruma."""
    try:
        if read_pattern(pat_str) == pat_str:
            return pat_str
    except UnsupportedPatternError:
        pass  # its spelling is not Oniguruma's
    return to_oniguruma(pat_str)
