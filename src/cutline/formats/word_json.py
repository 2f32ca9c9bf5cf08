"""Reading WordPiece, Unigram and WordLevel from a Hugging Face `tokenizer.json`."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from sys import float_info
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cutline.errors import VocabularyError
from cutline.formats.characters import BLANK, FROM_BLANK, LEADING
from cutline.formats.huggingface import float_of_serde
from cutline.formats.one_class import OneClass, literal, read_class
from cutline.formats.token_ids import Texts, TokenIds, TokenScores
from cutline.formats.tokenizer_json import (
    Part,
    checked_ids,
    count_template,
    flat,
    parse_added_tokens,
    refused,
    shown,
    template_of,
    trims_of,
)
from cutline.normalizing import Form, Lower, Step
from cutline.spec import TokenizerSpec
from cutline.vocabulary import Vocabulary
from cutline.words.characters import members_of
from cutline.words.joining import JOINED, Joiner, JoinMetaspace, JoinWordPiece
from cutline.words.models import Unigram, WordPiece
from cutline.words.precompiled import Precompiled
from cutline.words.splitting import Behavior, Metaspace, SplitClass, Splitter, WhitespaceSplit
from cutline.words.steps import ByCharacter, Collapse, CollapseWhite, ReplaceEach

__all__ = [
    "BEHAVIORS",
    "DROP_BLANK",
    "FROM_BYTES",
    "FUSE",
    "UNLIMITED",
    "done_by_metaspace",
    "is_word_model",
    "make_splitters",
    "read_word_model",
    "unused_prefix",
    "word_steps",
]

_LISTED: Final = "only what docs/words.md lists can be"
_WHY_NOT: Final = {
    "UnicodeScripts": "a character without a script goes with the one before it",
    "FixedLength": "where a word ends depends on where it begins",
    "Split": "words are split at characters of a class, or at runs of them, only",
    "ByteLevel": "only BPE has letters for bytes",
}
FROM_BYTES: Final = {"type": "ByteFallback"}
FUSE: Final = {"type": "Fuse"}
DROP_BLANK: Final = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
_NO_TOKEN_BEGINS_SO: Final = "\U0010ffff"
BEHAVIORS: Final[dict[str, Behavior]] = {
    "Isolated": "isolated",
    "Contiguous": "contiguous",
    "Removed": "removed",
    "MergedWithPrevious": "merged with previous",
    "MergedWithNext": "merged with next",
}
UNLIMITED: Final = 2**31 - 1
_GREATEST: Final = float_info.max


def is_word_model(document: Part) -> bool:
    """Return whether a `tokenizer.json` has a model that encodes words apart."""
    model = document.get("model")
    if not isinstance(model, dict):
        return False
    # Older files have no type.
    return model.get("type", "Unigram" if isinstance(model.get("vocab"), list) else "BPE") in (
        "WordPiece",
        "Unigram",
        "WordLevel",
    )


def read_word_model(
    document: Part,
    name: str,
    source: str,
    steps: tuple[Step, ...],
    splitters: tuple[Splitter, ...],
) -> TokenizerSpec:
    """Read the spec of a tokenizer whose model encodes words apart.

    Args:
        document: what `read_json` returned.
        name: its name.
        source: where it comes from.
        steps: its normalizer.
        splitters: its pre-tokenizer.

    Raises:
        VocabularyError: names the part that is damaged or not supported.
    """
    part = document["model"]
    model: WordPiece | Unigram
    rows: TokenScores | None = None
    if part.get("type") in ("WordPiece", "WordLevel"):
        ids = checked_ids(part.get("vocab"), f"{source}, vocab")
        vocabulary, model = _by_ids(part, ids, source)
        unreachable = {b"": ids[""]} if "" in ids else {}  # no word is empty
    else:
        rows = _rows(part.get("vocab"), source)
        ids = _by_places(rows.texts)
        vocabulary, model, unreachable = _by_scores(part, rows, ids, source)
    n_tokens = len(rows.texts) if rows else len(ids)
    processors = [*flat(document.get("post_processor"), "processors", source, "post_processor")]
    counts = [count_template(one, source) for one in processors]
    decoder = document.get("decoder")
    decoders = [*flat(decoder, "decoders", source, "decoder")]
    return TokenizerSpec(
        name,
        vocabulary,
        None,
        tuple(parse_added_tokens(document.get("added_tokens") or [], ids, n_tokens, source)),
        steps,
        unreachable_tokens=unreachable,
        n_template_tokens=(sum(one for one, _ in counts), sum(two for _, two in counts)),
        trims=trims_of(processors),
        model=model,
        splitters=splitters,
        joiner=JOINED if decoder and not decoders else _joiner(decoders, source),
        template=template_of(document, counts, processors),
    )


# Models


def _by_ids(part: Part, ids: TokenIds, source: str) -> tuple[Vocabulary, WordPiece]:
    unk = part.get("unk_token", "[UNK]")
    if not isinstance(unk, str) or unk not in ids:
        why = "it must be in the vocabulary, or else unknown words cannot be encoded"
        raise refused(source, "model: unk_token", unk, why)
    places = np.flatnonzero(ids.texts.lengths)
    places = places[np.argsort(ids.numbers[places], kind="stable")]
    vocabulary = _words(ids, places, source)
    if part["type"] == "WordLevel":
        return vocabulary, WordPiece(ids[unk], unused_prefix(ids), UNLIMITED)
    prefix = part.get("continuing_subword_prefix", "##")
    longest = part.get("max_input_chars_per_word", 100)
    is_length = type(longest) is int and 1 <= longest < 2**64
    if not isinstance(prefix, str) or not is_length:
        shows = {"continuing_subword_prefix": prefix, "max_input_chars_per_word": longest}
        why = "a prefix is text, and a length from 1 to 2**64 - 1"
        raise refused(source, "model", shows, why)
    return vocabulary, WordPiece(ids[unk], prefix, longest)


def _words(ids: TokenIds, places: NDArray[np.int64], source: str) -> Vocabulary:
    """Make the vocabulary of some tokens that are in the order of ids."""
    texts = ids.texts.take(places)
    try:
        if not ids.texts.is_utf8:
            texts.arena.decode()
    except UnicodeDecodeError as error:
        at = int(np.searchsorted(texts.offsets, error.start, side="right")) - 1
        raise VocabularyError(
            f"{source}: token {texts[at]!r} has surrogates, which no text has"
        ) from None
    return Vocabulary(texts.arena, texts.lengths, ids.numbers[places], is_of_words=True)


def unused_prefix(ids: TokenIds | Mapping[str, int]) -> str:
    """Return a prefix that no token has, so that a word is one token or unknown."""
    prefix = _NO_TOKEN_BEGINS_SO
    arena = ids.texts.arena if isinstance(ids, TokenIds) else "".join(ids).encode()
    while prefix.encode() in arena:
        prefix += _NO_TOKEN_BEGINS_SO
    return prefix


def _rows(vocab: Any, source: str) -> TokenScores:
    if isinstance(vocab, TokenScores):
        return vocab
    if not isinstance(vocab, list):
        raise VocabularyError(f"{source}: vocab is {shown(vocab)} instead of tokens with scores")
    texts, scores = [], []
    for place, row in enumerate(vocab):
        match row:
            case [str() as text, int() | float() as score] if abs(score) <= _GREATEST:
                texts.append(text)
                scores.append(score if isinstance(score, float) else float_of_serde(str(score)))
            case _:
                raise VocabularyError(
                    f"{source}: vocab, place {place}, is {shown(row)} instead of a token and its "
                    "score, a finite number"
                )
    return TokenScores(Texts.of(texts), np.array(scores, dtype=np.float64))


def _by_places(texts: Texts) -> TokenIds:
    """Give each token its place as its id; of a token that is there twice the last counts."""
    ids = TokenIds(texts, np.arange(len(texts)))
    if ids.table.equal is None:
        return ids
    last = {text: place for place, text in enumerate(texts)}
    return TokenIds(Texts.of(last), np.array(list(last.values()), dtype=np.int64))


def _by_scores(
    part: Part, rows: TokenScores, ids: TokenIds, source: str
) -> tuple[Vocabulary, Unigram, dict[bytes, int]]:
    """Read Unigram: ids are places in the list."""
    n_rows = len(rows.texts)
    unk = part.get("unk_id")
    if unk is not None and not (type(unk) is int and 0 <= unk < n_rows):
        raise refused(source, "model: unk_id", unk, f"there are {n_rows} tokens")
    kept = np.flatnonzero(ids.texts.lengths)
    kept = kept[np.argsort(ids.numbers[kept])]
    lowest = float(rows.scores.min(initial=np.inf))
    scores = rows.scores[ids.numbers[kept]]
    if len(kept) < n_rows and scores.min(initial=np.inf) != lowest:
        why = "a token that is empty or there twice has the lowest score"
        raise refused(source, "model: vocab", lowest, why)
    if unk is not None and not (ids.numbers == unk).any():
        raise refused(source, "model: unk_id", unk, f"{rows.texts[unk]!r} is there twice")
    vocabulary = _words(ids, kept, source)
    is_other = np.ones(n_rows, dtype=np.bool_)
    is_other[ids.numbers[kept]] = False
    return (
        vocabulary,
        Unigram(scores.astype("<f8").tobytes(), unk, bool(part.get("byte_fallback", False))),
        {rows.texts.bytes_of(place): place for place in np.flatnonzero(is_other).tolist()},
    )


# Steps


def word_steps(part: Part, source: str) -> tuple[Step, ...]:
    """Turn a normalizer that byte-level BPE rarely has into steps.

    Raises:
        VocabularyError: it is not supported; shows it.
    """
    match part:
        case {"type": "BertNormalizer"}:
            return tuple(_bert_steps(part))
        case {"type": "StripAccents"}:
            return (ByCharacter("accents"),)
        case {"type": "Nmt"}:
            return (ByCharacter("nmt"),)
        case {"type": "Precompiled", "precompiled_charsmap": str() as written}:
            try:
                return (Precompiled(b64decode(written, validate=True)),)
            except ValueError as error:
                raise VocabularyError(f"{source}: normalizer Precompiled: {error}") from None
        case {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": str() as new}:
            return (Collapse(new),)
        case {"type": "Replace", "pattern": {"Regex": r"\s{2,}"}, "content": " "}:
            return (CollapseWhite(),)
        case {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "}:
            # What is alone becomes a blank; in a run it would, too.
            return ReplaceEach(r"[\n\r\t]", " "), CollapseWhite()
        case {"type": "Replace", "pattern": pattern, "content": str() as new}:
            if (found := read_class(pattern)) and (steps := _replacing(found, new)):
                return steps
    raise refused(source, "normalizer", part, "only steps that docs/tokenizers.md lists can be")


def _replacing(found: OneClass, new: str) -> tuple[Step, ...]:
    """Write a Replace of members of a class, or runs of them; nothing: it is not known how."""
    each = ReplaceEach(found.members, new)
    if not found.are_runs or not new:
        return (each,)
    if new == " " and ord(" ") in members_of(found.members):
        return each, Collapse(" ")  # a run of the class is now one of blanks
    return ()


def _bert_steps(part: Part) -> Iterator[Step]:
    lowercase = part.get("lowercase", True)
    strips = part.get("strip_accents")
    if part.get("clean_text", True):
        yield ByCharacter("bert clean text")
    if part.get("handle_chinese_chars", True):
        yield ByCharacter("bert chinese")
    if lowercase if strips is None else strips:
        yield Form("NFD")
        yield ByCharacter("bert accents")
    if lowercase:
        yield Lower()


# Splitters


def done_by_metaspace(
    before: list[Part], splitters: Sequence[Part], added_tokens: Sequence[Part]
) -> tuple[list[Part], bool]:
    """Leave out normalizers at the end that write what a Metaspace after them would write.

    Returns:
        The others; and whether the Metaspace leads texts that begin with its replacement, too.
    """
    match splitters:
        case [{"type": "Metaspace", "replacement": new} as part] if new == BLANK and not any(
            token.get("normalized") for token in added_tokens
        ):
            leads = part.get("prepend_scheme") == "always" and part.get("split") is False
            if leads and (*before[-2:],) == LEADING:
                return before[:-2], True
            if [*before[-1:]] == [FROM_BLANK]:
                return before[:-1], False
    return before, False


def make_splitters(
    parts: Sequence[Part], source: str, *, is_newer: bool = False, leads_all: bool = False
) -> tuple[Splitter, ...]:
    """Turn pre-tokenizers into splitters.

    Args:
        parts: as version 1 of the file has them.
        source: where they come from.
        is_newer: the file is of version 2, so that `tokenizers` 1 reads it.
        leads_all: see `done_by_metaspace`.

    Raises:
        VocabularyError: one is not supported; shows it.
    """
    made = tuple(splitter for part in parts for splitter in _splitters(part, source, is_newer))
    return tuple(
        replace(one, leads_all=leads_all) if isinstance(one, Metaspace) else one for one in made
    )


def _splitters(part: Part, source: str, is_newer: bool) -> tuple[Splitter, ...]:
    match part:
        case {"type": "BertPreTokenizer"}:
            return WhitespaceSplit(), _punctuation("isolated", is_newer)
        case {"type": "WhitespaceSplit"}:
            return (WhitespaceSplit(),)
        case {"type": "Whitespace"}:
            return WhitespaceSplit(), SplitClass("newer word" if is_newer else "word", "contiguous")
        case {"type": "Punctuation"}:
            behavior = BEHAVIORS.get(part.get("behavior", "Isolated"))
            if behavior is not None:
                return (_punctuation(behavior, is_newer),)
        case {"type": "Digits"}:
            alone = part.get("individual_digits", False)
            return (SplitClass("digits", "isolated" if alone else "contiguous"),)
        case {"type": "Metaspace"}:
            return (Metaspace(*_metaspace(part, source)),)
        case {"type": "CharDelimiterSplit", "delimiter": str() as text} if len(text) == 1:
            return (SplitClass(literal(text), "removed"),)
        case {"type": "Split", "pattern": pattern, "behavior": str() as how}:
            found, behavior = read_class(pattern), BEHAVIORS.get(how)
            split = found and behavior and _split_class(found, behavior, bool(part.get("invert")))
            if split:
                return (split,)
    raise refused(source, "pre_tokenizer", part, _WHY_NOT.get(part["type"], _LISTED))


def _split_class(found: OneClass, behavior: Behavior, inverted: bool) -> SplitClass | None:
    """Write a Split at members of a class, or at runs of them; None: words are something else."""
    if inverted:
        is_rest_removed = behavior == "removed" and found.are_runs
        return SplitClass(f"[^{found.members}]", "removed") if is_rest_removed else None
    if not found.are_runs or behavior in ("removed", "contiguous"):
        return SplitClass(found.members, behavior)
    return SplitClass(found.members, "contiguous") if behavior == "isolated" else None


def _punctuation(behavior: Behavior, is_newer: bool) -> SplitClass:
    # `tokenizers` 1.0 has newer marks for these two only.
    is_newer &= behavior in ("isolated", "removed")
    return SplitClass("newer punctuation" if is_newer else "punctuation", behavior)


def _metaspace(part: Part, source: str) -> tuple[Any, bool, str]:
    scheme = part.get("prepend_scheme", "always")
    replacement, splits = part.get("replacement", "\u2581"), part.get("split", True)
    if part.get("add_prefix_space") is False:
        scheme = "never"
    is_known = scheme in ("always", "first", "never") and isinstance(splits, bool | None)
    if not is_known or not isinstance(replacement, str) or len(replacement) != 1:
        raise refused(source, "Metaspace", part, "a field has a value that is not known")
    return scheme, splits is not False, replacement


def _joiner(parts: Sequence[Part], source: str) -> Joiner | None:
    match parts:
        case []:
            return None
        case [{"type": "WordPiece"} as part]:
            return JoinWordPiece(part.get("prefix", "##"), part.get("cleanup", True))
        case [{"type": "Metaspace"} as part]:
            scheme, _, replacement = _metaspace(part, source)
            return JoinMetaspace(scheme, replacement)
        case [{"type": "ByteFallback"}, {"type": "Metaspace"} as part]:
            scheme, _, replacement = _metaspace(part, source)
            return JoinMetaspace(scheme, replacement, has_bytes=True)
        case [
            {"type": "Replace", "pattern": {"String": str() as old}, "content": " "},
            *others,
        ] if len(old) == 1:
            has_bytes = others[:1] == [FROM_BYTES]
            if (rest := others[has_bytes:]) in ([], [FUSE], [FUSE, DROP_BLANK]):
                return JoinMetaspace("never", old, has_bytes, DROP_BLANK in rest)
    raise refused(source, "decoder", list(parts), _LISTED)
