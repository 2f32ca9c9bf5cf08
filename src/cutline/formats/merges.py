"""Byte-level BPE in Hugging Face's form: tokens as text, and a list of merges.

A `Vocabulary` is an order of tokens. Hugging Face has ids by token and, separately, pairs
in the order in which they merge. docs/formats.md shows when both mean the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.errors import VocabularyError
from cutline.formats.token_ids import Texts, TokenIds
from cutline.kernels.base.text_table import read_letters
from cutline.vocabulary.letters import BYTE_BY_LETTER, BYTE_OF, as_text
from cutline.vocabulary.vocabulary import Vocabulary

__all__ = [
    "WRAP_HINT",
    "ByteTokens",
    "Merge",
    "MergeModel",
    "check_merges",
    "list_merges",
    "list_texts",
    "may_merge_in",
    "merge_order",
    "never_made",
    "read_tokens",
    "unreachable",
]

Merge = tuple[str, str]

WRAP_HINT: Final = (
    "cutline.wrap(tokenizer) counts and cuts with any tokenizer, more slowly; it also takes the "
    "path of a tokenizer.json or of a sentencepiece model, or the name of a model"
)


class Joins(NamedTuple):
    """Merges by the places of their tokens: int64, of shape (merges,) each."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    whole: NDArray[np.int64]


@dataclass(frozen=True)
class MergeModel:
    """The model in `vocab.json` and `merges.txt`, or in a `tokenizer.json`.

    Attributes:
        ids: ids by token, as text; may include special tokens.
        merges: tokens, as text, in merge order: two for each merge.
        ignore_merges: a piece that is a token is encoded as that token, whatever merging gives.
        source: the file's name, for errors.
        byte_fallback: a character that is no token becomes tokens for its bytes.
        unk_token: the text of the unknown token, for such a character otherwise.
        fuse_unk: several of them in a row become one unknown token.
        end_of_word_suffix: ends the text of a token that ends a piece; "": nothing does.
        continuing_subword_prefix: begins that of a token that does not begin a piece.
    """

    ids: TokenIds
    merges: Texts
    ignore_merges: bool
    source: str
    byte_fallback: bool = False
    unk_token: str | None = None
    fuse_unk: bool = False
    end_of_word_suffix: str = ""
    continuing_subword_prefix: str = ""

    def merge(self, place: int) -> Merge:
        """Return the merge at a place."""
        return self.merges[2 * place], self.merges[2 * place + 1]

    def all_merges(self) -> list[Merge]:
        """Return the merges, in order."""
        halves = iter(self.merges)
        return [*zip(halves, halves, strict=True)]

    @cached_property
    def joins(self) -> Joins:
        """The merges by the places of their tokens.

        Raises:
            VocabularyError: a merge repeats, or joins strings that are no tokens.
        """
        parts, merges = self.ids.places(self.merges), self.merges
        wholes = Texts(merges.arena, merges.lengths[::2] + merges.lengths[1::2])
        joins = Joins(parts[::2], parts[1::2], self.ids.places(wholes))
        missing = np.flatnonzero((joins.left < 0) | (joins.right < 0) | (joins.whole < 0))
        if missing.size:
            left, right = self.merge(place := int(missing[0]))
            text = next(text for text in (left, right, left + right) if text not in self.ids)
            raise VocabularyError(
                f"{self.source}: merge {place + 1} of {left!r} and {right!r} needs "
                f"the token {text!r}, which the vocabulary does not have"
            )
        if np.bincount(joins.whole).max(initial=0) < 2:
            return joins  # each makes another token: none repeats
        pairs = joins.left * len(self.ids) + joins.right
        in_order = np.sort(pairs)
        if bool((in_order[1:] == in_order[:-1]).any()):
            by_pair = np.argsort(pairs, kind="stable")
            again = by_pair[1:][pairs[by_pair[1:]] == pairs[by_pair[:-1]]]
            place = int(again.min())
            left, right = self.merge(place)
            raise VocabularyError(
                f"{self.source}: merge {place + 1} of {left!r} and {right!r} repeats "
                f"merge {int(np.flatnonzero(pairs == pairs[place])[0]) + 1}"
            )
        return joins

    @cached_property
    def first_merges(self) -> NDArray[np.int64]:
        """The place of the first merge that makes each token, or else the number of merges."""
        whole = self.joins.whole
        first = np.full(len(self.ids), len(whole), dtype=np.int64)
        first[whole[::-1]] = np.arange(len(whole))[::-1]
        return first

    def last_merges(
        self, tokens: NDArray[np.int64], left_lengths: NDArray[Any], lengths: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Find the last merges of tokens in the list.

        Args:
            tokens: their places.
            left_lengths: of the left part of each token's last merge; not 0.
            lengths: of all of the model's tokens, in the same unit.

        Returns:
            The place of each one's merge; -1: the list does not have it.
        """
        joins = self.joins
        split = np.zeros(len(self.ids), dtype=np.int64)
        split[tokens] = left_lengths
        places = np.flatnonzero(
            (split[joins.whole] > 0) & (lengths[joins.left] == split[joins.whole])
        )
        found = np.full(len(self.ids), -1, dtype=np.int64)
        found[joins.whole[places]] = places
        return found[tokens]


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


class ByteTokens(NamedTuple):
    """The ordinary tokens of a model.

    Attributes:
        tokens: their bytes.
        places: int64; their places among the model's tokens.
    """

    tokens: Texts
    places: NDArray[np.int64]

    def only(self, chosen: NDArray[Any]) -> "ByteTokens":
        """Return those that a mask or an order selects."""
        chosen = np.arange(len(self.places))[chosen]
        return ByteTokens(self.tokens.take(chosen), self.places[chosen])


def read_tokens(model: MergeModel, added_tokens: Mapping[str, int]) -> ByteTokens:
    """Turn the ordinary tokens of a model back into bytes.

    Args:
        model: as read.
        added_tokens: ids by text. Those that take no part in merging are left out: they are
            found in the text before anything is merged.

    Raises:
        VocabularyError: a token is not written in GPT-2's letters, or an added token has
            another id in the model.
    """
    texts = model.ids.texts
    merging, kept = np.zeros((2, len(texts)), dtype=np.bool_)
    kept[:] = True
    for places in model.joins:
        merging[places] = True
    for text, token_id in added_tokens.items():
        place = model.ids.place(text)
        if place < 0:
            continue
        if model.ids.numbers[place] != token_id:
            raise VocabularyError(
                f"{model.source}: special token {text!r} has id {model.ids.numbers[place]} in the "
                f"vocabulary and id {token_id!r} elsewhere"
            )
        kept[place] = merging[place] or text in BYTE_BY_LETTER
    places = np.flatnonzero(kept)
    arena, lengths, wrong = read_letters(texts.arena, texts.offsets, places, BYTE_OF)
    if wrong >= 0:
        place = int(places[wrong])
        raise VocabularyError(
            f"{model.source}: token {texts[place]!r} (id {model.ids.numbers[place]})"
            " is not written in GPT-2's letters for bytes; special tokens must be listed as such, "
            f"and otherwise only byte-level BPE can be read: {WRAP_HINT}"
        )
    return ByteTokens(Texts(arena, np.asarray(lengths)), places)


def merge_order(model: MergeModel, read: ByteTokens) -> NDArray[np.int64]:
    """Sort tokens by the list of merges: single bytes, tokens that merges make, the others."""
    return np.argsort(
        np.where(read.tokens.lengths == 1, -1, model.first_merges[read.places]), kind="stable"
    )


def may_merge_in(model: MergeModel, read: ByteTokens, order: NDArray[np.int64]) -> bool:
    """Return whether `check_merges` may accept tokens in an order, which takes long to find out.

    It does not where each token has one merge, all of them are to be made, and not in order.

    Args:
        model: as read.
        read: its ordinary tokens; without `ignore_merges`, those that are bytes or made by merges.
        order: of these.
    """
    first, n = model.first_merges, len(model.joins.whole)
    if model.ignore_merges or np.count_nonzero(first < n) < n:
        return True
    order = order[read.tokens.lengths[order] > 1]
    merges = first[read.places[order]]
    return bool((merges[1:] > merges[:-1]).all())


def never_made(model: MergeModel, read: ByteTokens) -> NDArray[np.bool_]:
    """Mark the tokens of several bytes that no merge makes."""
    made = model.first_merges[read.places] < len(model.joins.whole)
    never: NDArray[np.bool_] = (read.tokens.lengths > 1) & ~made
    return never


def check_merges(vocabulary: Vocabulary, places: NDArray[np.int64], model: MergeModel) -> None:
    """Refuse a list of merges that is not equivalent to merging in vocabulary order.

    Args:
        vocabulary: the model's ordinary tokens, with left lengths.
        places: the place of each among the model's tokens.
        model: as read.

    Raises:
        VocabularyError: names the token or the merge at fault.

    Source: docs/formats.md, "Ids and merges".
    """
    assert vocabulary.left_lengths is not None
    merged = np.flatnonzero(vocabulary.left_lengths)
    left_lengths = vocabulary.left_lengths[merged]
    tokens = places[merged]
    # A letter stands for a byte. Other merges than these never apply.
    found = model.last_merges(tokens, left_lengths, model.ids.texts.char_lengths)
    missing = np.flatnonzero(found < 0)
    if missing.size:
        token, left = int(tokens[missing[0]]), int(left_lengths[missing[0]])
        text = model.ids.texts[token]
        raise VocabularyError(
            f"{model.source}: no merge of {text[:left]!r} and {text[left:]!r} makes the token "
            f"{text!r} (id {model.ids.numbers[token]}), although its other merges lead there; only "
            f"vocabularies in which a token merges in one way can be read: {WRAP_HINT}"
        )
    early = np.flatnonzero(found[1:] < found[:-1])
    if early.size:
        last, place = found[early[0]], found[early[0] + 1]
        last_text, text = (model.ids.texts[int(tokens[early[0] + k])] for k in range(2))
        raise VocabularyError(
            f"{model.source}: merge {place + 1} makes {text!r} (id {model.ids[text]}), but "
            f"merge {last + 1} makes {last_text!r}, which also merges before it; only "
            f"vocabularies in which a token merges in one way can be read: {WRAP_HINT}"
        )
    if not model.ignore_merges and (token_text := unreachable(vocabulary)):
        raise VocabularyError(
            f"{model.source}: merging never makes {token_text}, and without ignore_merges no text "
            "has it; if it is a special token, it must be listed as one"
        )
