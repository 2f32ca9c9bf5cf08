"""BPE over characters, as sentencepiece trains it, written as byte-level BPE with equal results.

A model over characters begins with the characters of a text. One that is no token becomes a
token for each of its bytes, or the unknown token; these merge with nothing. Here

- a blank is written as itself, where the model has U+2581;
- tokens of several bytes that are one character are made of their bytes by merges before all
  others, whose tokens of parts of a character, the inner tokens, remain in no encoding; and
- other characters of several bytes are spelled with stand-ins before the text is split
  (`Spell`, `Unknown`), so that no encoding has an inner token.

docs/tokenizers.md, "Models over characters", has the proof.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from cutline.errors import VocabularyError
from cutline.formats.merges import WRAP_HINT, MergeModel
from cutline.formats.token_ids import Texts
from cutline.kernels.base.text_table import replace_in_texts
from cutline.normalizing import Spell, Unknown
from cutline.spec import Characters
from cutline.tables import recover_left_lengths
from cutline.vocabulary import Vocabulary

__all__ = ["BLANK", "FROM_BLANK", "LEADING", "LED_TWICE", "CharacterModel", "read_characters"]

BLANK: Final = "\u2581"
"""What models over characters write for a blank."""

FROM_BLANK: Final = {"type": "Replace", "pattern": {"String": " "}, "content": BLANK}
LED_TWICE: Final = {"type": "Replace", "pattern": {"Regex": rf"\A{BLANK}"}, "content": BLANK * 2}
LEADING: Final = (FROM_BLANK, LED_TWICE)
"""The normalizers after which a Metaspace leads all texts, those that begin with U+2581, too."""
"""So transformers 5 writes the leading blank of sentencepiece, which texts that begin with one get.
"""

_N_BYTES: Final = 256
_FIRST_LONG: Final = 0x80
_BYTE_NAMES: Final = Texts.of(f"<0x{byte:02X}>" for byte in range(_N_BYTES))
_SURROGATES: Final = 0xD800 >> 11
_PRIVATE: Final = range(0xE000, 0xF900)


class CharacterModel(NamedTuple):
    """A model over characters as byte-level BPE.

    Attributes:
        vocabulary: its tokens and the inner ones, with left lengths.
        characters: what its ids mean.
        step: spells the characters that are no tokens.
        texts: the tokens of several characters, with blanks, but for runs.
        runs: characters that merge with one another before all else, and the length of their
            longest token.
    """

    vocabulary: Vocabulary
    characters: Characters
    step: Spell | Unknown
    texts: Texts
    runs: dict[str, int]


def read_characters(
    model: MergeModel, added: Mapping[str, int], *, drops_blank: bool
) -> CharacterModel:
    """Write a model over characters as byte-level BPE.

    Args:
        model: as read; U+2581 stands for a blank.
        added: ids of the added tokens by text.
        drops_blank: decoding drops a blank at the start.

    Raises:
        VocabularyError: it is not equivalent to merging by rank of tokens; says why.
    """
    known = _known_characters(model)
    fallback = _fallback(model, known)
    stand_ins = _free_characters(known, _N_BYTES - _FIRST_LONG if fallback else 1)
    numbers, texts = model.ids.numbers, model.ids.texts
    first_inner = max([int(numbers.max(initial=0)), *added.values()]) + 1
    singles = _single_bytes(known, fallback)
    meanings: dict[int, bytes] = {}
    if fallback:
        spelled_ids = fallback[_FIRST_LONG:]
        for byte, token_id in enumerate(spelled_ids, _FIRST_LONG):
            meanings[token_id] = bytes([byte])
        step: Spell | Unknown = Spell(_kept(known, all_ascii=True), stand_ins)
    else:
        unknown = model.unk_token
        if unknown is None or unknown not in model.ids:
            raise _refusal(
                model, "characters that are no tokens would be dropped: there is no unknown token"
            )
        spelled_ids = [model.ids[unknown]]
        meanings[model.ids[unknown]] = unknown.encode()
        step = Unknown(_kept(known, all_ascii=False), stand_ins, fuses=model.fuse_unk)
    begun = [singles, *_parts([*known, *stand_ins], [*known.values(), *spelled_ids])]
    _refuse_special_parts(model, fallback)
    made = _made(model)
    runs = _runs(made, model)
    for one, most in runs.items():
        for n in range(2, most + 1):
            begun.append(_Begun.of([_spelled(one * n)], [model.ids[one * n]]))
            made[model.ids.place(one * n)] = -1
    vocabulary, several = _merging(_Begun.joined(begun), made, model, first_inner)
    runs = {one.replace(BLANK, " "): most for one, most in runs.items()}
    others = np.array([*fallback, *added.values()], dtype=np.int64)
    is_made = np.isin(np.concatenate([numbers, others]), vocabulary.ids)
    unmade, made_ids = ~is_made[: len(numbers)], set(others[is_made[len(numbers) :]].tolist())
    for byte, token_id in enumerate(fallback):
        if token_id not in made_ids and token_id >= 0:
            meanings[token_id] = bytes([byte])
            made_ids.add(token_id)
    for place in np.flatnonzero(unmade).tolist():
        if (token_id := int(numbers[place])) not in made_ids:
            meanings[token_id] = _spelled(texts[place])
    for text, token_id in added.items():
        if token_id not in made_ids:
            meanings[token_id] = _spelled(text)
    return CharacterModel(
        vocabulary, Characters(meanings, first_inner, drops_blank), step, several, runs
    )


def _known_characters(model: MergeModel) -> dict[str, int]:
    """Return the ids of the characters that are tokens, the blank as itself."""
    texts = model.ids.texts
    places = np.flatnonzero(texts.char_lengths == 1)
    characters = map(chr, texts.code_points[texts.char_offsets[places]].tolist())
    known = dict(zip(characters, model.ids.numbers[places].tolist(), strict=True))
    known.pop(" ", None)
    if BLANK not in known:
        raise _refusal(model, "the blank, U+2581, is no token")
    if bool((texts.code_points >> 11 == _SURROGATES).any()):
        raise _refusal(model, "a token has a surrogate")
    known[" "] = known.pop(BLANK)
    return known


def _fallback(model: MergeModel, known: Mapping[str, int]) -> list[int]:
    """Return the ids of the tokens for single bytes; none without byte fallback, or if none are.

    An ASCII character that is a token needs none, as the tab of Gemma, which has the id of its
    byte: -1.
    """
    if not model.byte_fallback:
        return []
    places = _byte_places(model)
    missing = np.flatnonzero(places < 0)
    if missing.size == len(places):
        return []  # all characters that are no tokens are unknown
    for byte in missing.tolist():
        if byte >= _FIRST_LONG or chr(byte) not in known:
            raise _refusal(
                model,
                f"there is no token {_BYTE_NAMES[byte]} to fall back to, and other bytes have one",
            )
    numbers = np.append(model.ids.numbers, -1)
    found: list[int] = numbers[places].tolist()
    return found


def _byte_places(model: MergeModel) -> NDArray[np.int64]:
    """Return the places of the tokens for single bytes; -1: there is none."""
    return model.ids.places(_BYTE_NAMES)


def _free_characters(known: Mapping[str, int], n: int) -> str:
    """Find neighbouring characters for private use that are no tokens."""
    first = _PRIVATE.start
    for code in _PRIVATE:
        if chr(code) in known:
            first = code + 1
        elif code + 1 - first == n:
            return "".join(map(chr, range(first, first + n)))
    raise VocabularyError("all characters for private use are tokens")


def _kept(known: Iterable[str], *, all_ascii: bool) -> str:
    """List the characters that stay as they are, in order."""
    ascii_ones = map(chr, range(_FIRST_LONG)) if all_ascii else ()
    points = np.frombuffer("".join([*known, *ascii_ones]).encode("utf-32-le"), dtype="<u4")
    return _unique(points).tobytes().decode("utf-32-le")


def _unique(numbers: NDArray[Any]) -> NDArray[np.uint32]:
    """Do what `np.unique` does with uint32, and takes several times as long for."""
    in_order: NDArray[np.uint32] = np.sort(numbers)
    differs: NDArray[np.bool_] = np.diff(in_order, prepend=in_order[:1] + 1) != 0
    return in_order[differs]


class _Begun(NamedTuple):
    """Tokens that precede all others: their bytes, joined; the lengths; ids, -1: inner tokens."""

    arena: bytes
    lengths: NDArray[np.int64]
    ids: NDArray[np.int64]

    @classmethod
    def of(cls, tokens: list[bytes], ids: list[int]) -> "_Begun":
        lengths = np.array(list(map(len, tokens)), dtype=np.int64)
        return cls(b"".join(tokens), lengths, np.array(ids, dtype=np.int64))

    @classmethod
    def joined(cls, parts: "list[_Begun]") -> "_Begun":
        arenas, lengths, ids = zip(*parts, strict=True)
        return cls(b"".join(arenas), np.concatenate(lengths), np.concatenate(ids))


def _single_bytes(known: Mapping[str, int], fallback: list[int]) -> _Begun:
    """List the single bytes with their ids."""
    ids = fallback[:_FIRST_LONG] or [-1] * _FIRST_LONG
    ids = [known.get(chr(byte), token_id) for byte, token_id in enumerate(ids)]
    tokens = [bytes([byte]) for byte in range(_N_BYTES)]
    return _Begun.of(tokens, ids + [-1] * (_N_BYTES - _FIRST_LONG))


def _parts(characters: list[str], token_ids: list[int]) -> list[_Begun]:
    """List the beginnings of characters, of two bytes and more, with the characters, by length."""
    points = np.frombuffer("".join(characters).encode("utf-32-le"), dtype="<u4")
    ids = np.array(token_ids, dtype=np.int64)
    # Their UTF-8 as numbers, the first byte highest.
    last = points & 0x3F | 0x80
    low, high = points >> 6 & 0x3F | 0x80, points >> 12 & 0x3F | 0x80
    written = np.select(
        [points < 0x800, points < 0x10000],
        [
            (points >> 6 | 0xC0) << 8 | last,
            (points >> 12 | 0xE0) << 16 | low << 8 | last,
        ],
        (points >> 18 | 0xF0) << 24 | high << 16 | low << 8 | last,
    )
    n_bytes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    found = []
    for length in range(2, 5):
        longer, whole = n_bytes >= length, n_bytes == length
        parts = _unique(written[longer] >> (8 * (n_bytes[longer] - length)).astype(np.uint32))
        part_ids = np.full(len(parts), -1, dtype=np.int64)
        part_ids[np.searchsorted(parts, written[whole])] = ids[whole]
        arena = parts.astype(">u4").view(np.uint8).reshape(-1, 4)[:, 4 - length :].tobytes()
        found.append(_Begun(arena, np.full(len(parts), length, dtype=np.int64), part_ids))
    return found


def _refuse_special_parts(model: MergeModel, fallback: list[int]) -> None:
    """Refuse merges of what stands for characters that are no tokens."""
    is_special = np.zeros(len(model.ids) + 1, dtype=np.bool_)
    is_special[_byte_places(model) if fallback else model.ids.place(model.unk_token or "")] = True
    is_special[-1] = False  # no token
    found = np.flatnonzero(np.logical_or.reduce([is_special[part] for part in model.joins]))
    if found.size:
        left, right = model.merge(int(found[0]))
        raise _refusal(model, f"a merge joins {left!r} and {right!r}")


def _made(model: MergeModel) -> NDArray[np.int64]:
    """Return the first merge that makes each token, if merges can make it of characters, or -1."""
    texts, joins = model.ids.texts, model.joins
    reached = texts.char_lengths == 1
    if (blank := model.ids.place(" ")) >= 0:
        reached[blank] = False
    # A token's parts are shorter than it.
    lengths = texts.char_lengths[joins.whole]
    if lengths.max(initial=0) < 1 << 16:
        lengths = lengths.astype(np.uint16)  # which are sorted in a tenth of the time
    by_length = np.argsort(lengths, kind="stable")
    for merges in np.split(by_length, np.flatnonzero(np.diff(lengths[by_length])) + 1):
        merges = merges[reached[joins.left[merges]] & reached[joins.right[merges]]]
        reached[joins.whole[merges]] = True
    merges = np.flatnonzero(reached[joins.left] & reached[joins.right])[::-1]
    made = np.full(len(texts), -1, dtype=np.int64)
    made[joins.whole[merges]] = merges
    return made


def _runs(made: NDArray[np.int64], model: MergeModel) -> dict[str, int]:
    """Find the characters that merge with one another before anything else, one by one.

    Of such a character only runs up to some length are tokens, and a run in a text is cut into
    the longest of these from its start. A run's tokens are in no other token; the blank may be.
    """
    texts, joins = model.ids.texts, model.joins
    run_of = _run_characters(texts)
    lengths: dict[int, set[int]] = {}
    found = np.flatnonzero((made >= 0) & (run_of >= 0))
    for place in found[np.argsort(made[found])].tolist():
        lengths.setdefault(int(run_of[place]), set()).add(int(texts.char_lengths[place]))
    one_more = (texts.char_lengths[joins.right] == 1) & (run_of[joins.left] == run_of[joins.right])
    grown = {
        (int(run_of[joins.right[place]]), int(texts.char_lengths[joins.left[place]])): place
        for place in np.flatnonzero(one_more).tolist()
    }
    runs = {}
    for code, several in lengths.items():
        one, most = chr(code), max(several)
        places = [grown.get((code, n), -1) for n in range(1, most)]
        if (
            most > 2
            and several == set(range(2, most + 1))
            and min(places) >= 0
            and all(later < earlier for earlier, later in pairwise(places))
            and (one == BLANK or category(one)[0] not in "LMN")
            and _is_apart(one, places[0], made, run_of, model)
        ):
            runs[one] = most
    return runs


def _run_characters(texts: Texts) -> NDArray[np.int64]:
    """Return the character of each token that is a run of it, or else -1."""
    points, starts = texts.code_points, texts.char_offsets
    run_of = np.full(len(texts), -1, dtype=np.int64)
    places = np.flatnonzero(texts.char_lengths > 0)
    first, last = points[starts[places]], points[starts[places + 1] - 1]
    # Few tokens of several characters begin and end with the same one.
    places, first = places[first == last], first[first == last]
    lengths = texts.char_lengths[places]
    ends = np.cumsum(lengths)
    others = points[np.repeat(starts[places] - ends + lengths, lengths) + np.arange(lengths.sum())]
    if len(places):
        differs = np.logical_or.reduceat(others != np.repeat(first, lengths), ends - lengths)
        run_of[places] = np.where(differs, -1, first.astype(np.int64))
    return run_of


def _is_apart(
    one: str,
    pair: int,
    made: NDArray[np.int64],
    run_of: NDArray[np.int64],
    model: MergeModel,
) -> bool:
    """Return whether no other tokens than runs hinder a character from merging with itself first.

    Args:
        one: the character.
        pair: the place of the merge of two of it.
        made: as `_made` returns it.
        run_of: the character of tokens that are runs.
        model: as read.
    """
    texts = model.ids.texts
    at = np.flatnonzero(texts.code_points == ord(one))
    tokens = np.searchsorted(texts.char_offsets, at, side="right") - 1
    chosen = (made[tokens] >= 0) & (run_of[tokens] < 0)
    at, tokens = at[chosen], tokens[chosen]
    if one != BLANK:
        return not tokens.size
    twice = (at[1:] == at[:-1] + 1) & (tokens[1:] == tokens[:-1])
    ends = at + 1 == texts.char_offsets[tokens + 1]
    return not (twice.any() or ends.any() or (model.first_merges[tokens] < pair).any())


def _merging(
    begun: _Begun,
    made: NDArray[np.int64],
    model: MergeModel,
    first_inner: int,
) -> tuple[Vocabulary, Texts]:
    """Find an order of tokens that is equivalent to the list of merges.

    Returns:
        The vocabulary, with left lengths, and the tokens of several characters.
    """
    spelled, n_begun = _all_spelled(model.ids.texts), len(begun.ids)
    order = np.flatnonzero(made >= 0)
    order = order[np.argsort(made[order])]
    for _ in range(3):
        several = spelled.take(order)
        vocabulary = _vocabulary(begun, several, model.ids.numbers[order], model, first_inner)
        own = spelled.lengths[model.joins.left[made[order]]]
        likely = begun.lengths - 1
        lefts = recover_left_lengths(vocabulary, np.concatenate([likely, own]))
        own = lefts[n_begun:].astype(np.int64)
        is_made = own > 0  # no text encodes to others
        order, own = order[is_made], own[is_made]
        found = model.last_merges(order, own, spelled.lengths)
        missing = np.flatnonzero(found < 0)
        if missing.size:
            token = spelled.bytes_of(int(order[missing[0]]))
            left = int(own[missing[0]])
            head, tail, text = (
                part.decode(errors="replace").replace(" ", BLANK)
                for part in (token[:left], token[left:], token)
            )
            raise _refusal(
                model,
                f"no merge of {head!r} and {tail!r} makes the token {text!r}, "
                "although its other merges lead there",
            )
        if bool(is_made.all()) and bool((found[1:] > found[:-1]).all()):
            return vocabulary.with_left_lengths(lefts, are_recovered=True), several
        order = order[np.argsort(found)]
    raise _refusal(model, "its merges fit no order of tokens")


def _vocabulary(
    begun: _Begun,
    several: Texts,
    several_ids: NDArray[np.int64],
    model: MergeModel,
    first_inner: int,
) -> Vocabulary:
    inner = begun.ids < 0
    ids = np.where(inner, first_inner - 1 + np.cumsum(inner), begun.ids)
    try:
        return Vocabulary(
            begun.arena + several.arena,
            np.concatenate([begun.lengths, several.lengths]),
            np.concatenate([ids, several_ids]),
        )
    except VocabularyError as error:
        raise VocabularyError(f"{model.source}: {error}; {WRAP_HINT}") from error


def _all_spelled(texts: Texts) -> Texts:
    """Write all tokens with blanks for U+2581."""
    arena, lengths = replace_in_texts(texts.arena, texts.lengths, BLANK, ord(" "))
    return Texts(arena, np.asarray(lengths), is_utf8=texts.is_utf8)


def _spelled(text: str) -> bytes:
    return text.replace(BLANK, " ").encode()


def _refusal(model: MergeModel, why: str) -> VocabularyError:
    return VocabularyError(
        f"{model.source}: this BPE over characters cannot be read, for {why}: {WRAP_HINT}"
    )
