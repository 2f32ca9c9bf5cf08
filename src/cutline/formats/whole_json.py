"""Writing a `tokenizer.json` of tokenizers that do more than split and merge.

What is written is read again: unless it describes the same tokenizer, it is refused.
"""

from collections.abc import Iterator
from itertools import product
from math import nextafter
from typing import Any, Final

import numpy as np

from cutline.errors import PatternError, VocabularyError
from cutline.formats.after_bytes import runs_of_numbers
from cutline.formats.characters import BLANK, LED_TWICE
from cutline.formats.documents import spec_of
from cutline.formats.huggingface import (
    DECODER,
    SplitRegex,
    bpe_model,
    float_of_serde,
    pre_tokenizer,
)
from cutline.formats.json_parts import (
    document_of,
    leading_parts,
    metaspace,
    normalizers,
    sequence,
    splitters_part,
    word_decoder,
    written_pattern,
)
from cutline.formats.merges import Merge, list_merges, list_texts, unreachable
from cutline.formats.stages import scripts_pattern
from cutline.formats.word_json import UNLIMITED, unused_prefix
from cutline.normalizing import Lead, Prepend, Replace, Spell, Step, Unknown
from cutline.pretokenize.splitting import Splitting
from cutline.spec import LED_PIECE, TokenizerSpec
from cutline.vocabulary.letters import as_text
from cutline.words.models import Unigram, WordPiece
from cutline.words.steps import ByteLetters

__all__ = ["make_document"]

_TO_BLANK: Final = Replace(BLANK, " ")
_FROM_BLANK: Final = Replace(" ", BLANK)
_DECODERS: Final = (
    {"type": "Replace", "pattern": {"String": BLANK}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
)
_BLANK_BYTE: Final = as_text(b" ")
_SUFFIX: Final = "</w>"  # CLIP's
_PREFIXES: Final = ("##", "@@", "</c>")  # of tokens inside a piece: one that no token begins with
_STRIP: Final = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def make_document(spec: TokenizerSpec, split: SplitRegex | None) -> dict[str, Any]:
    """Describe a tokenizer as the object in a `tokenizer.json`.

    Args:
        spec: one with left lengths, if its model is BPE.
        split: how its split pattern is written, if its model is BPE over bytes.

    Raises:
        VocabularyError: no such file describes the tokenizer.

    Cost: that of reading the file; up to six times for a model over characters.
    """
    why = ""
    for document in _candidates(spec, split):
        try:
            found = spec_of(document, spec.name, "what was written")
        except (PatternError, VocabularyError) as error:
            why = f": {error}"
            continue
        if _comparable(found, spec) == _comparable(spec, spec):
            return document
    raise VocabularyError(
        f"a tokenizer.json cannot say exactly what {spec.name!r} does, so save as .cutline{why}"
    )


def _comparable(spec: TokenizerSpec, like: TokenizerSpec) -> TokenizerSpec:
    """Leave out what a file does not say, or says in other words."""
    spec = spec._replace(max_tokens=None, prompts={})
    if like.characters is None or like.marks_words:
        return spec._replace(pat_str=like.pat_str)
    assert spec.characters is not None
    if any(token.normalized for token in like.added_tokens):
        return spec
    return spec._replace(characters=spec.characters._replace(bare_symbols=False))


def _candidates(spec: TokenizerSpec, split: SplitRegex | None) -> Iterator[dict[str, Any]]:
    prefixes = _PREFIXES if spec.marks_word_starts and not spec.led_pat_str else ("",)
    if spec.characters is not None:
        if not spec.marks_words:
            yield from _of_characters(spec)
            return
        for prefix in prefixes:
            yield _of_ended(spec, split, prefix)
    elif spec.model is None:
        for prefix in prefixes:
            yield _of_bytes(spec, split, prefix)
    else:
        yield document_of(
            spec,
            model=_word_piece(spec) if isinstance(spec.model, WordPiece) else _unigram(spec),
            normalizer=normalizers(spec.normalizer, *leading_parts(spec.splitters)),
            pre_tokenizer=splitters_part(spec.splitters),
            decoder=word_decoder(spec.joiner),
        )


# Words


def _word_piece(spec: TokenizerSpec) -> dict[str, Any]:
    assert isinstance(spec.model, WordPiece)
    ids = {token.decode(): number for token, number in _all_tokens(spec)}
    unk_id, prefix, longest = spec.model
    settings: dict[str, Any] = {"type": "WordLevel"}
    if longest != UNLIMITED or prefix != unused_prefix(ids):
        settings = {
            "type": "WordPiece",
            "continuing_subword_prefix": prefix,
            "max_input_chars_per_word": longest,
        }
    unk = next((text for text, number in ids.items() if number == unk_id), None)
    return settings | {"unk_token": unk, "vocab": ids}


def _unigram(spec: TokenizerSpec) -> dict[str, Any]:
    assert isinstance(spec.model, Unigram)
    scores = np.frombuffer(spec.model.scores, dtype="<f8").tolist()
    # What no text encodes to has no score: any will do that is not the lowest.
    best = max(scores, default=0.0)
    scores += [best] * len(spec.unreachable_tokens)
    tokens = [*_all_tokens(spec)]
    rows: list[Any] = [None] * len(tokens)
    for (token, number), score in zip(tokens, scores, strict=True):
        if number >= len(rows):
            raise VocabularyError(
                f"token {token!r} has id {number}, and there are {len(rows)} tokens, whose ids are "
                "their places in a tokenizer.json: save as .cutline"
            )
        rows[number] = [token.decode(), _written(score)]
    return {
        "type": "Unigram",
        "unk_id": spec.model.unk_id,
        "vocab": rows,
        "byte_fallback": spec.model.byte_fallback,
    }


def _written(score: float) -> float:
    """Find a number that `tokenizers` reads as this score: it rounds what it reads twice."""
    up = down = score
    for _ in range(8):
        for near in (up, down):
            if float_of_serde(repr(near)) == score:
                return near
        up, down = nextafter(up, float("inf")), nextafter(down, float("-inf"))
    raise VocabularyError(
        f"tokenizers reads no number as the score {score!r}, for it rounds twice: save as .cutline"
    )


def _all_tokens(spec: TokenizerSpec) -> Iterator[tuple[bytes, int]]:
    vocabulary = spec.vocabulary
    yield from zip(vocabulary.tokens(), vocabulary.ids.tolist(), strict=True)
    yield from spec.unreachable_tokens.items()


# BPE over bytes


def _of_bytes(spec: TokenizerSpec, split: SplitRegex | None, prefix: str) -> dict[str, Any]:
    suffix = _SUFFIX if spec.marks_word_ends else _BLANK_BYTE
    vocabulary = spec.vocabulary

    def named(text: str) -> str:
        return _begun(text, prefix, _BLANK_BYTE) if prefix else _ended(text, suffix)

    ids = dict(zip(list_texts(vocabulary), vocabulary.ids.tolist(), strict=True))
    ids |= {as_text(token): number for token, number in spec.unreachable_tokens.items()}
    ids = {named(text): number for text, number in ids.items()}
    for text, number in spec.own_tokens.items():
        if ids.setdefault(text, number) != number:
            raise VocabularyError(
                f"added token {text!r} is written like the ordinary token with id {ids[text]}, "
                "and files of this kind cannot tell them apart: save as .cutline"
            )
    merges = list_merges(vocabulary)
    settings: dict[str, Any] = {}
    if spec.marks_word_ends:  # symbols of a last letter and the suffix are not merged
        merges = [(left, _ended(right, suffix)) for left, right in merges if right != _BLANK_BYTE]
        settings["end_of_word_suffix"] = suffix
    if prefix:  # nor are those of a first letter
        merges = [(named(left), named(right)) for left, right in merges if left != _BLANK_BYTE]
        settings["continuing_subword_prefix"] = prefix
    model = bpe_model(
        dict(sorted(ids.items(), key=lambda item: item[1])),
        merges,
        ignore_merges=bool(unreachable(vocabulary)),
        **settings,
    )
    splitter = (
        _splitters(spec)
        if spec.splittings
        else _led(spec, split)
        if spec.led_pat_str
        else pre_tokenizer(split, prefix_space=spec.prefix_space)
    )
    steps, splitter = _with_first(spec.normalizer, splitter)
    return document_of(
        spec,
        model=model,
        normalizer=normalizers(steps),
        pre_tokenizer=splitter,
        decoder=DECODER,
    )


def _with_first(
    steps: tuple[Step, ...], splitter: dict[str, Any]
) -> tuple[tuple[Step, ...], dict[str, Any]]:
    """Write the steps of a Metaspace or ByteLevel before ByteLevel as such a pre-tokenizer."""
    parts = splitter.get("pretokenizers", [splitter])
    match steps:
        case [*before, Replace(" ", written), Lead(prefix)] if written == prefix:
            space = metaspace("always", prefix, splits=False)
            return tuple(before), {"type": "Sequence", "pretokenizers": [space, *parts]}
        case [*before, Lead(" "), ByteLetters()]:
            first = pre_tokenizer(None, prefix_space=True)
            return tuple(before), {"type": "Sequence", "pretokenizers": [first, *parts]}
    return steps, splitter


def _led(spec: TokenizerSpec, split: SplitRegex | None) -> dict[str, Any]:
    """Write a ByteLevel that puts a blank before each piece."""
    part = pre_tokenizer(split, prefix_space=True)
    part["pretokenizers"][-1]["use_regex"] = spec.led_pat_str != LED_PIECE
    return part


def _ended(text: str, suffix: str) -> str:
    """Write a suffix for the blank at the end of a token; see `word_ends.py`."""
    is_ended = len(text) > 1 and text.endswith(_BLANK_BYTE)
    return text.removesuffix(_BLANK_BYTE) + suffix if is_ended else text


def _begun(text: str, prefix: str, blank: str) -> str:
    """Write a token inside a piece with a prefix, and one at its start without the blank."""
    is_begun = len(text) > 1 and text.startswith(blank)
    return text.removeprefix(blank) if is_begun else prefix + text


def _splitters(spec: TokenizerSpec) -> dict[str, Any]:
    """Write what splits a text several times."""
    patterns = [one.pat_str for one in spec.splittings]
    parts = [*map(_splitter, spec.splittings)]
    n_before = patterns.index(of_runs) if (of_runs := runs_of_numbers()) in patterns else len(parts)
    parts.insert(n_before, pre_tokenizer(None, prefix_space=spec.prefix_space))
    return {"type": "Sequence", "pretokenizers": parts}


def _splitter(one: Splitting) -> dict[str, Any]:
    if one.pat_str.startswith(r"\p{UnicodeScripts=") and one.pat_str == scripts_pattern():
        return {"type": "UnicodeScripts"}
    if one.pat_str == runs_of_numbers():  # after ByteLevel
        return {"type": "Digits", "individual_digits": False}
    return {
        "type": "Split",
        "pattern": {"Regex": written_pattern(one.pat_str)},
        "behavior": one.behavior.title().replace(" ", ""),
        "invert": one.inverted,
    }


# BPE over characters


def _of_characters(spec: TokenizerSpec) -> Iterator[dict[str, Any]]:
    """Describe it in each way in which texts may be prepared, and runs merged."""
    assert spec.characters is not None
    *steps, last = spec.normalizer
    assert isinstance(last, Spell | Unknown)
    ids = _ids_of_characters(spec, last)
    strips = [_STRIP] if spec.characters.drops_blank else []
    decoder = sequence([*_DECODERS, *strips], "Sequence", "decoders")
    unk_id = _unk_id(spec, last)
    unknown = next((text for text, number in ids.items() if number == unk_id), None)
    settings = {
        "unk_token": unknown,
        "byte_fallback": isinstance(last, Spell),
        "fuse_unk": isinstance(last, Spell) or last.fuses,
    }
    merges = _merges(spec)
    led = _runs_first(merges)
    lists = [merges] if led == merges else [led, merges]
    for listed, (normalizer, splitter) in product(lists, _preparations(spec, steps)):
        yield document_of(
            spec,
            model=bpe_model(ids, listed, **settings),
            normalizer=normalizer,
            pre_tokenizer=splitter,
            decoder=decoder,
        )


def _of_ended(spec: TokenizerSpec, split: SplitRegex | None, prefix: str) -> dict[str, Any]:
    """Describe a model over characters whose tokens say that they end a word, or begin one."""
    assert spec.characters is not None
    meanings, first_inner = spec.characters.meanings, spec.characters.first_inner
    in_vocabulary = dict(zip(spec.vocabulary.ids.tolist(), spec.vocabulary.tokens(), strict=True))
    # In the vocabulary, a character that is an added token only would be a symbol.
    left_out = {token.id for token in spec.added_tokens if len(token.content) == 1}
    left_out -= in_vocabulary.keys()
    names = {key: token.decode() for key, token in meanings.items() if key not in left_out}
    unknown = next((names[key] for key in meanings if key in in_vocabulary), None)
    alone = {unknown, *(token.content for token in spec.added_tokens)}

    def named(text: str) -> str:
        text = text.replace(BLANK, " ")
        return _begun(text, prefix, " ") if prefix else _with_suffix(text)

    if prefix:
        names = {key: text if text in alone else named(text) for key, text in names.items()}
    for key, token in in_vocabulary.items():
        if key < first_inner and key not in names:
            names[key] = named(token.decode())
    settings: dict[str, Any] = {"unk_token": unknown, "end_of_word_suffix": _SUFFIX}
    decoder: dict[str, Any] = {"type": "BPEDecoder", "suffix": _SUFFIX}
    if prefix:
        settings = {"unk_token": unknown, "continuing_subword_prefix": prefix}
        decoder = {"type": "WordPiece", "prefix": prefix, "cleanup": False}
    merges = [
        (named(left), named(right)) for left, right in _merges(spec) if BLANK not in (left, right)
    ]
    splitting = pre_tokenizer(split)
    return document_of(
        spec,
        model=bpe_model({names[key]: key for key in sorted(names)}, merges, **settings),
        normalizer=normalizers(spec.normalizer),
        pre_tokenizer=sequence(splitting["pretokenizers"][:-1], "Sequence", "pretokenizers"),
        decoder=decoder,
    )


def _with_suffix(text: str) -> str:
    return text.removesuffix(" ") + _SUFFIX if len(text) > 1 and text.endswith(" ") else text


def _preparations(spec: TokenizerSpec, steps: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield normalizers and pre-tokenizers that prepare a text by these steps."""
    if len(steps) > 1 and isinstance(steps[-1], Prepend):
        *before, _, prefix = steps
        led = Prepend(prefix.prefix.replace(" ", BLANK))
        yield normalizers([*before, led, _FROM_BLANK]), None
        for splits in (True, False):
            led_twice = normalizers([*before, _FROM_BLANK], LED_TWICE)
            yield led_twice, metaspace("always", BLANK, splits=splits)
        return
    before = steps[:-1]
    if not spec.prefix_space:
        yield normalizers([*before, _FROM_BLANK]), None
    scheme = "first" if spec.prefix_first else "always" if spec.prefix_space else "never"
    for splits in (True, False):
        yield normalizers(before), metaspace(scheme, BLANK, splits=splits)


def _unk_id(spec: TokenizerSpec, last: Spell | Unknown) -> int | None:
    if isinstance(last, Spell):
        return None  # every character has bytes
    return spec.vocabulary.to_ranks()[last.stand_ins.encode()]


def _ids_of_characters(spec: TokenizerSpec, last: Spell | Unknown) -> dict[str, int]:
    """Name the tokens of the model, as the list of its ids does."""
    assert spec.characters is not None
    meanings = spec.characters.meanings
    added = {token.id: token.content for token in spec.added_tokens}
    stand_ins = set(last.stand_ins)
    merged = {part for pair in _merges(spec) for part in pair if len(part) == 1}
    names: dict[int, str] = {}
    falls_back = isinstance(last, Spell)
    bytes_seen = set()
    for number, meant in meanings.items():
        is_byte = falls_back and len(meant) == 1
        usual = f"<0x{meant[0]:02X}>" if is_byte else _with_blank_marks(meant)
        names[number] = added.get(number, usual)
        if is_byte and names[number] == usual:
            bytes_seen.add(meant[0])
    for token, number in zip(spec.vocabulary.tokens(), spec.vocabulary.ids.tolist(), strict=True):
        if number >= spec.characters.first_inner or number in names:
            continue
        text = _with_blank_marks(token)
        if text in stand_ins:
            continue  # its id has a meaning
        # A byte's token merges with nothing; Gemma's tab, whose byte has none, does.
        if falls_back and len(token) == 1 and token[0] not in bytes_seen and text not in merged:
            text = f"<0x{token[0]:02X}>"
        names[number] = text
    return {names[number]: number for number in sorted(names)}


def _merges(spec: TokenizerSpec) -> list[Merge]:
    """List the last pair of each token of several characters."""
    vocabulary = spec.vocabulary
    assert vocabulary.left_lengths is not None
    found = []
    rows = zip(vocabulary.tokens(), vocabulary.left_lengths.tolist(), strict=True)
    for token, left in rows:
        if left and len(token) > _first_character(token):
            found.append((_with_blank_marks(token[:left]), _with_blank_marks(token[left:])))
    return found


def _runs_first(merges: list[Merge]) -> list[Merge]:
    """Let runs of a character merge one by one, the longest first; see `characters.py`.

    Its tokens come before all others, in the order of lengths.
    """
    led: list[Merge] = []
    at = 0
    while at < len(merges) and merges[at][0] == merges[at][1] and len(merges[at][0]) == 1:
        one, most = merges[at][0], 2
        while at + most - 1 < len(merges) and "".join(merges[at + most - 1]) == one * (most + 1):
            most += 1
        if most == 2:
            break
        led += [(one * n, one) for n in range(most - 1, 0, -1)]
        at += most - 1
    return led + merges[at:]


def _first_character(token: bytes) -> int:
    """Return how many bytes the first character of a token has, by its lead byte."""
    lead = token[0]
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _with_blank_marks(token: bytes) -> str:
    return token.decode().replace(" ", BLANK)
