"""Parsing a Hugging Face `tokenizer.json` into its parts; stages.py interprets them.

There are two versions of the file: that of `tokenizers` 0.x, and 2.0, in which the model
declares that it works on bytes, templates have ids, and added tokens are stored in their normal
form.

Only byte-level BPE is supported; files of other models are refused here, with a hint.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Final

from cutline.errors import VocabularyError
from cutline.formats.merges import WRAP_HINT, MergeModel
from cutline.formats.token_ids import Texts, TokenIds
from cutline.normalizing import SPACE
from cutline.pretrained.added_tokens import ASSIGNED, FLAGS
from cutline.spec import AddedToken
from cutline.vocabulary.vocabulary import MAX_TOKEN_ID

__all__ = [
    "COMMENT",
    "Part",
    "TokenizerJson",
    "check_byte_level",
    "checked_ids",
    "count_template",
    "flat",
    "is_newer",
    "parse_added_tokens",
    "parse_tokenizer_json",
    "parts_before_model",
    "refused",
    "shown",
    "template_of",
    "trims_of",
]

Part = Mapping[str, Any]

COMMENT: Final = "#version"
"""The package skips merges that begin with this, except those written as pairs."""

_OF_BYTES: Final = ("ByteLevel", "Fuse")  # the second has nothing left to join
_TO_BYTES: Final = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
_TRIMMING: Final = ("ByteLevel", "RobertaProcessing")
_HAS_WORD: Final = re.compile(r"\\[wW]")


@dataclass(frozen=True, slots=True)
class TokenizerJson:
    """The parts of a `tokenizer.json`.

    Attributes:
        model: tokens and merges.
        added_tokens: in the file's order.
        normalizers: the steps before splitting, sequences flattened.
        pre_tokenizers: the steps of splitting, sequences flattened.
        n_template_tokens: special tokens that are added around one text, and around two.
        is_normalized: added tokens are stored in their normal form.
        trims: for each post-processor that trims blanks from offsets, whether it takes a blank
            before the text for an inserted one.
        decoders: the steps of decoding, sequences flattened.
        template: see `template_of`.
    """

    model: MergeModel
    added_tokens: tuple[AddedToken, ...]
    normalizers: tuple[Part, ...]
    pre_tokenizers: tuple[Part, ...]
    n_template_tokens: tuple[int, int]
    is_normalized: bool
    trims: tuple[bool, ...]
    decoders: tuple[Part, ...]
    template: str


def parse_tokenizer_json(document: Part, source: str) -> TokenizerJson:
    """Parse the object that `read_json` returned. Truncation and padding are ignored.

    Raises:
        VocabularyError: names the part that is damaged or not supported.
    """
    model = _parse_model(document.get("model"), source)
    processors = [*flat(document.get("post_processor"), "processors", source, "post_processor")]
    counts = [count_template(part, source) for part in processors]
    normalizers, splitters = parts_before_model(document, source)
    if is_newer(document) and document["model"].get("byte_level"):
        splitters.append(_TO_BYTES)
    tokens = document.get("added_tokens") or []
    added_tokens = tuple(parse_added_tokens(tokens, model.ids, len(model.ids), source))
    before, after = ([part["type"] for part in parts] for parts in (normalizers, splitters))
    if is_newer(document) and (before + after).count("ByteLevel") > 1:
        why = "in files of version 2, ByteLevel does not always write letters once more"
        raise refused(source, "ByteLevel", [*normalizers, *splitters], why)
    if before[-1:] == ["ByteLevel"] and "ByteLevel" not in after:
        _check_beside_letters(added_tokens, source, are_letters=is_newer(document))
        normalizers.pop()
        splitters.insert(0, _TO_BYTES)
    return TokenizerJson(
        model,
        added_tokens,
        tuple(normalizers),
        tuple(splitters),
        (sum(one for one, _ in counts), sum(two for _, two in counts)),
        is_newer(document),
        trims_of(processors),
        tuple(flat(document.get("decoder"), "decoders", source, "decoder")),
        template_of(document, counts, processors),
    )


def _check_beside_letters(
    added_tokens: Iterable[AddedToken], source: str, *, are_letters: bool
) -> None:
    """Refuse added tokens that look at what is beside them, where that is letters for bytes.

    Others are found where they are in the text: UTF-8 of one character has that of no other.
    But of those that are stored in letters it is not known what texts they stand for.
    """
    for token in added_tokens:
        beside = are_letters or token.lstrip or token.rstrip or token.single_word
        if token.normalized and beside:
            why = "the normalizer ByteLevel writes letters for blanks and for parts of words"
            raise refused(source, "added token", token.content, why)


def parts_before_model(document: Part, source: str) -> tuple[list[Part], list[Part]]:
    """Return normalizers and pre-tokenizers as version 1 of the file has them.

    In version 2, Metaspace is a normalizer and a Split at what it writes.

    Raises:
        VocabularyError: names the part that is damaged or not supported.
    """
    if is_newer(document):
        why = "single_word, which `tokenizers` 1 judges by what is left of the text"
        _refuse_added(document, "single_word", why, source)
        _refuse_stripped(document, source)
    before = [*flat(document.get("normalizer"), "normalizers", source, "normalizer")]
    for part in before if is_newer(document) else ():
        match part:
            case {"type": "Replace", "pattern": {"Regex": str() as one}} if _HAS_WORD.search(one):
                raise refused(source, "normalizer", part, r"`tokenizers` 1 has another set for \w")
    splitters = [*flat(document.get("pre_tokenizer"), "pretokenizers", source, "pre_tokenizer")]
    if not before or before[-1]["type"] != "MetaspaceNormalizer":
        return before, splitters
    part = before.pop()
    written, scheme = part.get("replacement"), part.get("prepend")
    at_each = {"type": "Split", "pattern": {"String": written}, "behavior": "MergedWithNext"}
    splits = [{**one, "invert": one.get("invert", False)} for one in splitters] == [
        at_each | {"invert": False}
    ]
    drops = part.get("drop_whitespace", False)
    if (splitters and not splits) or (drops and not (splits and scheme == "always")):
        raise refused(source, "normalizer", part, "the pre-tokenizer is none that fits")
    why = "it is searched for in text that Metaspace has led already, as of version 2"
    _refuse_added(document, "normalized", why, source)
    space = {"type": "Metaspace", "replacement": written, "prepend_scheme": scheme, "split": splits}
    return before, [*([{"type": "WhitespaceSplit"}] if drops else []), space]


def _refuse_stripped(document: Part, source: str) -> None:
    """Refuse added tokens that begin with white space where one strips what follows it.

    For `tokenizers` 1 what a token strips is no part of the next one.
    """
    tokens = [one for one in document.get("added_tokens") or [] if isinstance(one, dict)]
    if any(one.get("rstrip") for one in tokens):
        for token in tokens:
            if str(token.get("content"))[:1] in SPACE:
                why = "another one strips white space after it"
                raise refused(source, "added token", token["content"], why)


def _refuse_added(document: Part, flag: str, why: str, source: str) -> None:
    """Refuse added tokens with a flag."""
    for token in document.get("added_tokens") or []:
        if isinstance(token, dict) and token.get(flag):
            raise refused(source, "added token", token.get("content"), why)


def template_of(
    document: Part, counts: Iterable[tuple[int, int]], processors: Iterable[Part]
) -> str:
    """Return `TokenizerSpec.template`: "" if post-processors do nothing, or are of version 2."""
    if is_newer(document) or not (any(map(any, counts)) or trims_of(processors)):
        return ""
    return json.dumps(document["post_processor"], ensure_ascii=False, sort_keys=True)


def is_newer(document: Part) -> bool:
    """Return whether it is of version 2."""
    return str(document.get("version", "")).startswith("2.")


def trims_of(processors: Iterable[Part]) -> tuple[bool, ...]:
    """Return `TokenizerSpec.trims` of some post-processors."""
    return tuple(
        bool(part.get("add_prefix_space", True))
        for part in processors
        if part["type"] in _TRIMMING and part.get("trim_offsets", True)
    )


def check_byte_level(parsed: TokenizerJson, source: str) -> None:
    """Refuse what a model over bytes cannot have.

    It may have `byte_fallback`, which changes nothing: all 256 bytes must be tokens anyway.

    Raises:
        VocabularyError: names the decoder.
    """
    types = [decoder["type"] for decoder in parsed.decoders]
    if types.count("ByteLevel") > 1:
        why = "a second ByteLevel takes letters in the text for bytes"
        raise refused(source, "decoder", list(parsed.decoders), why)
    for decoder in parsed.decoders:
        if decoder["type"] not in _OF_BYTES or types[0] != "ByteLevel":
            raise refused(source, "decoder", decoder, "tokens are letters for bytes")


def checked_ids(part: Any, source: str) -> TokenIds:
    """Return the tokens and ids of a mapping, or refuse it.

    Raises:
        VocabularyError: it is no such mapping.
    """
    if isinstance(part, TokenIds):
        return part
    if not isinstance(part, dict):
        raise VocabularyError(f"{source} contains {shown(part)} instead of ids by token")
    for text, token_id in part.items():
        if type(token_id) is not int:
            raise VocabularyError(f"{source}: token {text!r} has id {shown(token_id)}")
        if not 0 <= token_id <= MAX_TOKEN_ID:
            raise VocabularyError(
                f"{source}: token {text!r} has id {token_id}; ids are from 0 to {MAX_TOKEN_ID}"
            )
    return TokenIds.of(part)


def refused(source: str, part: str, got: Any, why: str = "") -> VocabularyError:
    """Build the error for a part that cannot be expressed exactly."""
    reason = why or "only what docs/tokenizers.md and docs/words.md list can be read"
    return VocabularyError(
        f"{source}: {part} is {shown(got)}, which is not supported; {reason}: {WRAP_HINT}"
    )


def shown(value: Any) -> str:
    """Write a value as JSON, shortened if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}..."


def flat(part: Any, members: str, source: str, place: str) -> Iterator[Part]:
    """Yield the parts of a sequence in order, nested sequences flattened."""
    if part is None:
        return
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise refused(source, place, part)
    if part["type"] != "Sequence":
        yield part
        return
    inner = part.get(members)
    if not isinstance(inner, list):
        raise refused(source, place, part)
    for member in inner:
        yield from flat(member, members, source, place)


def _parse_model(part: Any, source: str) -> MergeModel:
    if part is None:
        raise VocabularyError(f"{source}: it has no model, so it is no tokenizer.json")
    if not isinstance(part, dict):
        raise refused(source, "model", part)
    # Older files have no type.
    if (kind := part.get("type", "BPE")) != "BPE":
        raise refused(source, "model: type", kind)
    if dropout := part.get("dropout"):  # 0 means the same as null
        raise VocabularyError(
            f"{source}: model: dropout is {shown(dropout)}, which is not supported; tokens would "
            "be random: set it to null, which cutline.wrap(tokenizer) needs, too"
        )
    ids = checked_ids(part.get("vocab"), f"{source}, vocab")
    unknown = part.get("unk_token")
    affixes = {}
    for key in ("end_of_word_suffix", "continuing_subword_prefix"):
        affixes[key] = part.get(key) or ""
        if not isinstance(affixes[key], str):
            raise refused(source, f"model: {key}", affixes[key])
    return MergeModel(
        ids, _parse_merges(part.get("merges"), source), bool(part.get("ignore_merges")), source,
        byte_fallback=bool(part.get("byte_fallback")),
        unk_token=unknown if isinstance(unknown, str) else None,
        fuse_unk=bool(part.get("fuse_unk")),
        **affixes,
    )  # fmt: skip


def _parse_merges(merges: Any, source: str) -> Texts:
    if isinstance(merges, Texts):
        return merges
    if not isinstance(merges, list):
        raise refused(source, "model: merges", merges)
    parts: list[str] = []
    for place, merge in enumerate(merges, start=1):
        if isinstance(merge, str) and merge.startswith(COMMENT):
            continue
        fields = merge.split(" ") if isinstance(merge, str) else merge
        match fields:
            case [str() as left, str() as right]:
                parts += left, right
            case _:
                raise VocabularyError(
                    f"{source}: merge {place} is {shown(merge)} instead of two tokens"
                )
    return Texts.of(parts)


def parse_added_tokens(
    parts: Any, ids: TokenIds, n_tokens: int, source: str
) -> Iterator[AddedToken]:
    """Read the added tokens; refuse ids that `tokenizers` would assign differently.

    Args:
        parts: as the file has them.
        ids: of the model's tokens.
        n_tokens: how many it has.
        source: where they come from.
    """
    highest = newest = -1
    is_sparse = len(ids) > 0 and int(ids.numbers.max()) >= n_tokens
    taken = frozenset(ids.numbers.tolist()) if is_sparse else frozenset()
    seen: set[str] = set()
    for place, part in enumerate(parts if isinstance(parts, list) else [parts]):
        match part:
            case {"id": int() | EllipsisType() as token_id, "content": str() as text} if text:
                pass
            case _:
                raise refused(source, f"added_tokens, place {place}", part)
        flags = {flag: part.get(flag, False) for flag in FLAGS}
        if not all(isinstance(value, bool) for value in flags.values()) or text in seen:
            raise refused(source, f"added_tokens, place {place}", part)
        # A token that is not in the vocabulary gets the next id, whatever the file says.
        # Version 0.23 counts on from those that are not there either, others from all before.
        is_new = text not in ids
        assigned = {max(n_tokens, one + 1) for one in (newest, highest)} if is_new else {ids[text]}
        if token_id is ASSIGNED:
            token_id = min(assigned)
        if assigned != {token_id}:
            raise VocabularyError(
                f"{source}: added token {text!r} has id {token_id}, but `tokenizers` "
                f"would give it {' or '.join(map(str, sorted(assigned)))}; correct the file"
            )
        if is_new and token_id in taken:
            raise VocabularyError(
                f"{source}: added token {text!r} has id {token_id}, as `tokenizers` gives it, "
                "which is that of a token of the model; number these without gaps"
            )
        highest = max(highest, token_id)
        newest = max(newest, token_id) if is_new else newest
        seen.add(text)
        yield AddedToken(text, token_id, **flags)


def count_template(part: Part, source: str) -> tuple[int, int]:
    """Count the tokens that a post-processor adds around one text, and around two.

    Raises:
        VocabularyError: it is not supported; shows it.
    """
    match part:
        case {"type": "ByteLevel"}:
            return 0, 0
        case {"type": "RobertaProcessing"}:
            return 2, 4
        case {"type": "BertProcessing"}:
            return 2, 3
        case {
            "type": "TemplateProcessing",
            "single": list() as single,
            "pair": list() as pair,
        }:
            special_tokens = part.get("special_tokens", {})
            try:
                return _count_special(single, special_tokens), _count_special(pair, special_tokens)
            except (KeyError, TypeError):
                pass
    raise refused(source, "post_processor", part)


def _count_special(template: list[Any], special_tokens: Part) -> int:
    names = [piece["SpecialToken"]["id"] for piece in template if "SpecialToken" in piece]
    ids = [piece["ids"] for piece in template if "ids" in piece]
    return sum(len(special_tokens[name]["ids"]) for name in names) + sum(map(len, ids))
