"""Byte-level BPE whose tokens say that they end a piece, such as CLIP's.

The last letter of a piece gets a suffix, and is a symbol of its own. Here a blank stands for the
suffix: pieces get one at their end (pipeline/word_ends.py), and merges of a byte and a blank
come before all others. They make the symbols that the model begins with, so that all else is
byte-level BPE as usual. Pieces must not have blanks of their own. The proof: docs/tokenizers.md.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.formats.merges import MergeModel
from cutline.formats.stages import Split, never_takes
from cutline.formats.token_ids import UTF8, Texts, TokenIds
from cutline.formats.tokenizer_json import refused
from cutline.kernels.base.text_table import replace_ends, texts_that_end
from cutline.vocabulary.letters import as_bytes, as_text

__all__ = ["problem_of_suffix", "with_blanks"]

_BLANK: Final = as_text(b" ")
_LETTERS: Final = as_text(bytes(range(256)))
_ENDED: Final = Texts.of(letter + _BLANK for letter in _LETTERS)
_N_LAST: Final = 0xC0  # the last byte of a character is none that begins a longer one


def with_blanks(model: MergeModel, split: Split) -> tuple[MergeModel, dict[bytes, int]]:
    """Write the tokens of a model with a blank for the suffix.

    Args:
        model: as read.
        split: how texts are split into pieces.

    Returns:
        The model without a suffix, and the ids of tokens that no text has.

    Raises:
        VocabularyError: pieces can have blanks, or the tokens are not equivalent to those with
            blanks; says why.
    """
    suffix = model.end_of_word_suffix
    if why := _problem(model, split):
        raise refused(model.source, "model: end_of_word_suffix", suffix, why)
    old, numbers, merges = model.ids.texts, model.ids.numbers, model.merges
    hidden = _has(old, _BLANK) & (old.lengths > len(_BLANK.encode()))
    kept = np.flatnonzero(~hidden)
    ids = TokenIds(_blanked(old, kept, suffix), numbers[kept])
    ended = ids.places(_ENDED)
    lasts = np.flatnonzero(ended >= 0)
    lasts = lasts[np.argsort(ids.numbers[ended[lasts]], kind="stable")]
    ends = _ENDED.take(lasts)
    n_blank = np.full_like(lasts, len(_BLANK.encode()))
    in_two = np.column_stack((ends.lengths - n_blank, n_blank)).ravel()
    without = ~_has(merges, _BLANK)
    others = np.flatnonzero(np.repeat(without[::2] & without[1::2], 2))
    rest = _blanked(merges, others, suffix)
    lengths = np.concatenate((in_two, rest.lengths))
    parts = Texts(ends.arena + rest.arena, lengths, is_utf8=rest.is_utf8)
    places = np.flatnonzero(hidden)
    never = {
        as_bytes(text): number
        for text, number in zip(
            _blanked(old, places, suffix), numbers[places].tolist(), strict=True
        )
    }
    return replace(model, ids=ids, merges=parts, end_of_word_suffix=""), never


def _problem(model: MergeModel, split: Split) -> str:
    """Say why blanks cannot stand for the suffix; "": they can."""
    suffix, ids = model.end_of_word_suffix, model.ids
    if not never_takes(split, " "):
        return "a blank is written for it here, but words can have blanks"
    if model.ignore_merges:
        return "with ignore_merges, whole words are looked up without it"
    if why := problem_of_suffix(model):
        return why
    lasts = Texts.of(letter + suffix for letter in _LETTERS[:_N_LAST])
    if (missing := np.flatnonzero(ids.places(lasts) < 0)).size:
        return f"there is no token {lasts[int(missing[0])]!r}, so that texts lose a byte"
    with_blank = ids.texts.take(np.flatnonzero(_ends(ids.texts, _BLANK)))
    blanks = (text.removesuffix(_BLANK) for text in with_blank)
    if suffix in ids or any(text + suffix in ids for text in blanks if text):
        return "a token with a blank is written like one with the suffix"
    return ""


def problem_of_suffix(model: MergeModel) -> str:
    """Say which merge does not keep the suffix at the end of a token; "": all do."""
    suffix, merges = model.end_of_word_suffix, model.merges
    ended = _ends(merges, suffix)
    wholes = _ends(Texts(merges.arena, merges.lengths[::2] + merges.lengths[1::2]), suffix)
    wrong = np.flatnonzero(ended[::2] | (ended[1::2] != wholes))
    if not wrong.size:
        return ""
    left, right = model.merge(int(wrong[0]))
    return f"the merge of {left!r} and {right!r} does not tell it from letters"


def _ends(texts: Texts, end: str) -> NDArray[np.bool_]:
    """Tell of each text whether it ends so."""
    ended = texts_that_end(texts.arena, texts.offsets, end.encode(errors=UTF8))
    return np.asarray(ended).view(np.bool_)


def _has(texts: Texts, letter: str) -> NDArray[np.bool_]:
    """Tell of each text whether it has a letter of two bytes."""
    first, second = letter.encode()
    data = np.frombuffer(texts.arena, dtype=np.uint8)
    places = np.flatnonzero((data[:-1] == first) & (data[1:] == second))
    found = np.zeros(len(texts), dtype=np.bool_)
    found[np.searchsorted(texts.offsets, places, side="right") - 1] = True
    return found


def _blanked(texts: Texts, places: NDArray[np.int64], suffix: str) -> Texts:
    """Write a blank for the suffix of each of some texts that has it."""
    old, new = suffix.encode(errors=UTF8), _BLANK.encode()
    arena, lengths = replace_ends(texts.arena, texts.offsets, places, old, new)
    return Texts(arena, np.asarray(lengths), is_utf8=texts.is_utf8)
