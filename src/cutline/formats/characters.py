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
from itertools import chain, pairwise
from typing import Final, NamedTuple
from unicodedata import category

import numpy as np

from cutline.errors import VocabularyError
from cutline.formats.merges import WRAP_HINT, Merge, MergeModel, merge_places
from cutline.normalizing import Spell, Unknown
from cutline.spec import Characters
from cutline.tables import recover_left_lengths
from cutline.vocabulary import Vocabulary

__all__ = ["BLANK", "CharacterModel", "read_characters"]

BLANK: Final = "\u2581"
"""What models over characters write for a blank."""

_N_BYTES: Final = 256
_FIRST_LONG: Final = 0x80
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
    texts: list[str]
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
    fallback = _fallback(model)
    stand_ins = _free_characters(known, _N_BYTES - _FIRST_LONG if fallback else 1)
    first_inner = max([*model.ids.values(), *added.values()], default=0) + 1
    singles = _single_bytes(known, fallback)
    meanings: dict[int, bytes] = {}
    whole = {one.encode(): known[one] for one in known if not one.isascii()}
    if fallback:
        for byte, stand_in in enumerate(stand_ins, _FIRST_LONG):
            whole[stand_in.encode()] = fallback[byte]
            meanings[fallback[byte]] = bytes([byte])
        step: Spell | Unknown = Spell(_kept(known, all_ascii=True), stand_ins)
    else:
        unknown = model.unk_token
        if unknown is None or unknown not in model.ids:
            raise _refusal(
                model, "characters that are no tokens would be dropped: there is no unknown token"
            )
        whole[stand_ins.encode()] = model.ids[unknown]
        meanings[model.ids[unknown]] = unknown.encode()
        step = Unknown(_kept(known, all_ascii=False), stand_ins, fuses=model.fuse_unk)
    parts = sorted(_inner(whole), key=lambda part: (len(part), part))
    begun = [*singles, *((part, whole.get(part)) for part in parts)]
    places = merge_places(model)
    _refuse_special_parts(model, fallback)
    made = _made(model, known)
    runs = _runs(made, model)
    for one, most in runs.items():
        for n in range(2, most + 1):
            begun.append((_spelled(one * n), model.ids[one * n]))
            del made[one * n]
    vocabulary, texts = _merging(begun, made, places, model, first_inner)
    runs = {one.replace(BLANK, " "): most for one, most in runs.items()}
    made_ids = set(vocabulary.ids.tolist())
    for byte, token_id in enumerate(fallback):
        if token_id not in made_ids:
            meanings[token_id] = bytes([byte])
            made_ids.add(token_id)
    for text, token_id in chain(model.ids.items(), added.items()):
        if token_id not in made_ids:
            meanings[token_id] = _spelled(text)
    return CharacterModel(
        vocabulary, Characters(meanings, first_inner, drops_blank), step, texts, runs
    )


def _known_characters(model: MergeModel) -> dict[str, int]:
    """Return the ids of the characters that are tokens, the blank as itself."""
    known = {
        text: token_id for text, token_id in model.ids.items() if len(text) == 1 and text != " "
    }
    if BLANK not in known:
        raise _refusal(model, "the blank, U+2581, is no token")
    try:
        "".join(model.ids).encode()
    except UnicodeEncodeError:
        raise _refusal(model, "a token has a surrogate") from None
    known[" "] = known.pop(BLANK)
    return known


def _fallback(model: MergeModel) -> list[int]:
    """Return the ids of the tokens for single bytes; none without byte fallback."""
    if not model.byte_fallback:
        return []
    found = [model.ids.get(_byte_name(byte)) for byte in range(_N_BYTES)]
    if None in found:
        raise _refusal(model, f"there is no token {_byte_name(found.index(None))} to fall back to")
    return [token_id for token_id in found if token_id is not None]


def _byte_name(byte: int) -> str:
    return f"<0x{byte:02X}>"


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
    ascii_ones = set(map(chr, range(_FIRST_LONG))) if all_ascii else set()
    return "".join(sorted(ascii_ones.union(known)))


def _single_bytes(known: Mapping[str, int], fallback: list[int]) -> list[tuple[bytes, int | None]]:
    """List the single bytes with their ids; None: it is an inner token."""
    found: list[tuple[bytes, int | None]] = []
    for byte in range(_N_BYTES):
        token_id = known.get(chr(byte)) if byte < _FIRST_LONG else None
        if token_id is None and fallback and byte < _FIRST_LONG:
            token_id = fallback[byte]
        found.append((bytes([byte]), token_id))
    return found


def _inner(whole: Iterable[bytes]) -> set[bytes]:
    """List the beginnings of characters, of two bytes and more, with the characters."""
    return {one[:end] for one in whole for end in range(2, len(one) + 1)}


def _refuse_special_parts(model: MergeModel, fallback: list[int]) -> None:
    """Refuse merges of what stands for characters that are no tokens."""
    special = set(map(_byte_name, range(_N_BYTES))) if fallback else {model.unk_token}
    for left, right in model.merges:
        if not special.isdisjoint((left, right, left + right)):
            raise _refusal(model, f"a merge joins {left!r} and {right!r}")


def _made(model: MergeModel, known: Mapping[str, int]) -> dict[str, int]:
    """Return the first merge that makes each token that merges can make of known characters."""
    made: dict[str, int] = {}
    reached = {BLANK if one == " " else one for one in known}
    waiting = list(enumerate(model.merges))
    while waiting:
        left_over = []
        for place, (left, right) in waiting:
            if left in reached and right in reached:
                text = left + right
                reached.add(text)
                made[text] = min(place, made.get(text, place))
            else:
                left_over.append((place, (left, right)))
        if len(left_over) == len(waiting):
            break
        waiting = left_over
    return made


def _runs(made: Mapping[str, int], model: MergeModel) -> dict[str, int]:
    """Find the characters that merge with one another before anything else, one by one.

    Of such a character only runs up to some length are tokens, and a run in a text is cut into
    the longest of these from its start. A run's tokens are in no other token; the blank may be.
    """
    lengths: dict[str, set[int]] = {}
    for text in made:
        if text == text[0] * len(text):
            lengths.setdefault(text[0], set()).add(len(text))
    first: dict[str, int] = {}
    grown: dict[tuple[str, int], int] = {}
    for place, (left, right) in enumerate(model.merges):
        first.setdefault(left + right, place)
        if right in lengths and left == right * len(left):
            grown[right, len(left)] = place
    found = {one: max(several) for one, several in lengths.items() if max(several) > 2}
    holders: dict[str, list[str]] = {one: [] for one in found}
    for text in made:
        if not found.keys().isdisjoint(text) and text != text[0] * len(text):
            for one in found.keys() & set(text):
                holders[one].append(text)
    runs = {}
    for one, most in found.items():
        places = [grown.get((one, n), -1) for n in range(1, most)]
        others = holders[one]
        if (
            lengths[one] == set(range(2, most + 1))
            and min(places) >= 0
            and all(later < earlier for earlier, later in pairwise(places))
            and not any(one * 2 in text for text in others)
            and all(places[0] < first[text] for text in others)
            and (one == BLANK or (not others and category(one)[0] not in "LMN"))
            and not any(text[-1] == BLANK for text in others)
        ):
            runs[one] = most
    return runs


def _merging(
    begun: list[tuple[bytes, int | None]],
    made: Mapping[str, int],
    places: Mapping[Merge, int],
    model: MergeModel,
    first_inner: int,
) -> tuple[Vocabulary, list[str]]:
    """Find an order of tokens that is equivalent to the list of merges.

    Returns:
        The vocabulary, with left lengths, and the tokens of several characters.
    """
    order = dict(made)
    for _ in range(3):
        texts = sorted(order, key=order.__getitem__)
        vocabulary = _vocabulary(begun, texts, model, first_inner)
        lefts = recover_left_lengths(vocabulary)
        found, unmade = {}, False
        for text, left in zip(texts, lefts[len(begun) :].tolist(), strict=True):
            if left == 0:  # no text encodes to it
                unmade = True
                continue
            head = _spelled(text)[:left].decode().replace(" ", BLANK)
            place = places.get((head, text[len(head) :]))
            if place is None:
                raise _refusal(
                    model,
                    f"no merge of {head!r} and {text[len(head) :]!r} makes the token {text!r}, "
                    "although its other merges lead there",
                )
            found[text] = place
        in_order = np.array(list(found.values()), dtype=np.int64)
        if not unmade and bool((in_order[1:] > in_order[:-1]).all()):
            spelled = [text.replace(BLANK, " ") for text in texts]
            return vocabulary.with_left_lengths(lefts), spelled
        order = found
    raise _refusal(model, "its merges fit no order of tokens")


def _vocabulary(
    begun: list[tuple[bytes, int | None]], texts: list[str], model: MergeModel, first_inner: int
) -> Vocabulary:
    tokens = [token for token, _ in begun] + list(map(_spelled, texts))
    ids, inner = [], first_inner
    for _, token_id in begun:
        if token_id is None:
            token_id, inner = inner, inner + 1
        ids.append(token_id)
    ids += map(model.ids.__getitem__, texts)
    try:
        return Vocabulary(b"".join(tokens), list(map(len, tokens)), ids)
    except VocabularyError as error:
        raise VocabularyError(f"{model.source}: {error}; {WRAP_HINT}") from error


def _spelled(text: str) -> bytes:
    return text.replace(BLANK, " ").encode()


def _refusal(model: MergeModel, why: str) -> VocabularyError:
    return VocabularyError(
        f"{model.source}: this BPE over characters cannot be read, for {why}: {WRAP_HINT}"
    )
