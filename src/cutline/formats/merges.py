"""Byte-level BPE in Hugging Face's form: tokens as text, and a list of merges.

A `Vocabulary` is an order of tokens. Hugging Face has ids by token and, separately, pairs
in the order in which they merge. docs/formats.md shows when both mean the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

import numpy as np

from cutline.errors import VocabularyError
from cutline.vocabulary.vocabulary import Vocabulary

__all__ = [
    "WRAP_HINT",
    "Merge",
    "MergeModel",
    "as_bytes",
    "as_text",
    "check_merges",
    "list_merges",
    "list_texts",
    "merge_order",
    "merge_places",
    "never_made",
    "read_ranks",
    "unreachable",
]

Merge = tuple[str, str]

WRAP_HINT: Final = (
    "cutline.wrap(tokenizer) counts and cuts with any tokenizer, more slowly; it also takes the "
    "path of a tokenizer.json or the name of a model"
)

_PRINTED: Final = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_REST: Final = [byte for byte in range(256) if byte not in _PRINTED]
_LETTER: Final = {byte: chr(byte) for byte in _PRINTED} | {
    byte: chr(0x100 + place) for place, byte in enumerate(_REST)
}
"""GPT-2's letter for each byte: itself if it is printable, otherwise one from U+0100 on."""

_TO_TEXT: Final = {byte: ord(letter) for byte, letter in _LETTER.items()}
_TO_BYTE: Final = {letter: byte for byte, letter in _LETTER.items()}


@dataclass(frozen=True, slots=True)
class MergeModel:
    """The model in `vocab.json` and `merges.txt`, or in a `tokenizer.json`.

    Attributes:
        ids: ids by token, as text; may include special tokens.
        merges: pairs of tokens, as text, in merge order.
        ignore_merges: a piece that is a token is encoded as that token, whatever merging gives.
        source: the file's name, for errors.
        byte_fallback: a character that is no token becomes tokens for its bytes.
        unk_token: the text of the unknown token, for such a character otherwise.
        fuse_unk: several of them in a row become one unknown token.
        end_of_word_suffix: ends the text of a token that ends a piece; "": nothing does.
    """

    ids: dict[str, int]
    merges: list[Merge]
    ignore_merges: bool
    source: str
    byte_fallback: bool = False
    unk_token: str | None = None
    fuse_unk: bool = False
    end_of_word_suffix: str = ""


def as_text(token: bytes) -> str:
    r"""Write a token with GPT-2's letter for each byte.

    >>> as_text(b" the\n")
    'ĠtheĊ'
    """
    return token.decode("latin-1").translate(_TO_TEXT)


def as_bytes(text: str) -> bytes:
    """Read what `as_text` wrote.

    Raises:
        KeyError: a letter is none of GPT-2's.
    """
    return bytes(map(_TO_BYTE.__getitem__, text))


def list_texts(vocabulary: Vocabulary) -> list[str]:
    """Write every token like `as_text`, in merge order."""
    letters = as_text(vocabulary.arena)
    return [letters[start:end] for start, end in pairwise(vocabulary.offsets.tolist())]


def list_merges(vocabulary: Vocabulary) -> list[Merge]:
    """List the last merge of every reachable token, in merge order.

    Args:
        vocabulary: a vocabulary with left lengths.
    """
    assert vocabulary.left_lengths is not None
    return [
        (text[:left], text[left:])
        for text, left in zip(list_texts(vocabulary), vocabulary.left_lengths.tolist(), strict=True)
        if left
    ]


def unreachable(vocabulary: Vocabulary) -> str:
    """Describe the first unreachable token of several bytes; "" if there is none.

    Args:
        vocabulary: a vocabulary with left lengths.
    """
    assert vocabulary.left_lengths is not None
    found = np.flatnonzero((vocabulary.left_lengths == 0) & (vocabulary.lengths > 1))
    if not found.size:
        return ""
    first = int(found[0])
    return f"token {vocabulary.token_bytes(first)!r} (id {vocabulary.ids[first]})"


def read_ranks(model: MergeModel, added_tokens: Mapping[str, int]) -> dict[bytes, int]:
    """Turn the ordinary tokens of a model back into bytes.

    Args:
        model: as read.
        added_tokens: ids by text. Those that take no part in merging are left out: they are
            found in the text before anything is merged.

    Raises:
        VocabularyError: a token is not written in GPT-2's letters, or an added token has
            another id in the model.
    """
    merging = set(chain.from_iterable(model.merges)) | set(map("".join, model.merges))
    ranks: dict[bytes, int] = {}
    for text, token_id in model.ids.items():
        if text in added_tokens:
            if added_tokens[text] != token_id:
                raise VocabularyError(
                    f"{model.source}: special token {text!r} has id {token_id!r} in the "
                    f"vocabulary and id {added_tokens[text]!r} elsewhere"
                )
            if text not in merging and text not in _TO_BYTE:
                continue
        try:
            ranks[as_bytes(text)] = token_id
        except KeyError:
            raise VocabularyError(
                f"{model.source}: token {text!r} (id {token_id!r}) is not written in GPT-2's "
                "letters for bytes; special tokens must be listed as such, and otherwise only "
                f"byte-level BPE can be read: {WRAP_HINT}"
            ) from None
    return ranks


def merge_order(model: MergeModel, tokens: Iterable[bytes]) -> list[bytes]:
    """Sort tokens by the list of merges: single bytes, tokens that merges make, the others."""
    places: dict[str, int] = {}
    for place, (left, right) in enumerate(model.merges):
        places.setdefault(left + right, place)
    last = len(model.merges)
    return sorted(
        tokens, key=lambda token: -1 if len(token) == 1 else places.get(as_text(token), last)
    )


def never_made(model: MergeModel, tokens: Iterable[bytes]) -> list[bytes]:
    """List the tokens of several bytes that no merge makes."""
    made = set(map("".join, model.merges))
    return [token for token in tokens if len(token) > 1 and as_text(token) not in made]


def check_merges(vocabulary: Vocabulary, model: MergeModel) -> None:
    """Refuse a list of merges that is not equivalent to merging in vocabulary order.

    Args:
        vocabulary: the model's ordinary tokens, with left lengths.
        model: as read.

    Raises:
        VocabularyError: names the token or the merge at fault.

    Source: docs/formats.md, "Ids and merges".
    """
    expected = list_merges(vocabulary)
    if model.merges != expected:  # rarely: in nearly all files they are equal
        _check_order(expected, merge_places(model), model)
    if not model.ignore_merges and (token := unreachable(vocabulary)):
        raise VocabularyError(
            f"{model.source}: merging never makes {token}, and without ignore_merges no text "
            "has it; if it is a special token, it must be listed as one"
        )


def _check_order(expected: Sequence[Merge], places: Mapping[Merge, int], model: MergeModel) -> None:
    """Refuse a list in which an expected merge is missing or too early; others never apply."""
    last, last_text = -1, ""
    for merge in expected:
        text = "".join(merge)
        place = places.get(merge)
        if place is None:
            raise VocabularyError(
                f"{model.source}: no merge of {merge[0]!r} and {merge[1]!r} makes the token "
                f"{text!r} (id {model.ids[text]}), although its other merges lead there; only "
                f"vocabularies in which a token merges in one way can be read: {WRAP_HINT}"
            )
        if place < last:
            raise VocabularyError(
                f"{model.source}: merge {place + 1} makes {text!r} (id {model.ids[text]}), but "
                f"merge {last + 1} makes {last_text!r}, which also merges before it; only "
                f"vocabularies in which a token merges in one way can be read: {WRAP_HINT}"
            )
        last, last_text = place, text


def merge_places(model: MergeModel) -> dict[Merge, int]:
    """Return each merge's place; refuse merges that repeat or join strings that are no tokens."""
    places: dict[Merge, int] = {}
    for place, merge in enumerate(model.merges):
        for text in (*merge, "".join(merge)):
            if text not in model.ids:
                raise VocabularyError(
                    f"{model.source}: merge {place + 1} of {merge[0]!r} and {merge[1]!r} needs "
                    f"the token {text!r}, which the vocabulary does not have"
                )
        if places.setdefault(merge, place) != place:
            raise VocabularyError(
                f"{model.source}: merge {place + 1} of {merge[0]!r} and {merge[1]!r} repeats "
                f"merge {places[merge] + 1}"
            )
    return places
