"""What the spec in a `.cutline` file must be, beyond the types of its fields.

A file that this package wrote is so. Another one could describe a tokenizer whose tokens cannot be
decoded, or whose parts contradict each other.
"""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.errors import PatternError
from cutline.formats.merges import list_texts
from cutline.formats.stages import never_takes
from cutline.normalizing import Replace, Spell, Unknown
from cutline.spec import Characters, TokenizerSpec, checked_special_tokens
from cutline.tables import recover_left_lengths
from cutline.vocabulary import Vocabulary
from cutline.vocabulary.vocabulary import MAX_TOKEN_ID
from cutline.words.characters import members_of
from cutline.words.joining import JoinMetaspace
from cutline.words.models import Unigram, WordPiece
from cutline.words.splitting import Metaspace, SplitClass
from cutline.words.steps import ReplaceEach

__all__ = ["problem_of"]

_LONG_BYTES: Final = 128  # of UTF-8, from 128 on
_ASCII: Final = frozenset(map(chr, range(128)))
_OF_BPE: Final = (
    "pat_str", "prefix_space", "prefix_first", "characters", "marks_word_ends",
    "marks_word_starts", "splittings", "led_pat_str",
)  # fmt: skip
_OF_WORDS: Final = ("splitters", "joiner")


def problem_of(spec: TokenizerSpec) -> str:
    """Say what is impossible in a spec; "": nothing.

    Raises:
        VocabularyError: names the special token that clashes with an ordinary one.
    """
    _check_added(spec)
    return (
        _problem_of_values(spec)
        or _problem_of_steps(spec)
        or (_problem_of_words(spec) if spec.model is not None else _problem_of_bpe(spec))
    )


def _check_added(spec: TokenizerSpec) -> None:
    are_ids = all(0 <= token.id <= MAX_TOKEN_ID for token in spec.added_tokens)
    # Of ids out of range the first is named.
    own = spec.own_tokens if are_ids else {one.content: one.id for one in spec.added_tokens}
    checked_special_tokens(spec.vocabulary, own)
    if len(own) == len(spec.added_tokens):
        return
    if spec.model is None and spec.characters is None and not spec.marks_words:
        # An added token may be an ordinary one, too, if it is written like that; with an affix,
        # how it was written is not known.
        texts = dict(zip(spec.vocabulary.ids.tolist(), list_texts(spec.vocabulary), strict=True))
        clashing = [one for one in spec.added_tokens if texts.get(one.id, one[0]) != one.content]
        checked_special_tokens(spec.vocabulary, {one.content: one.id for one in clashing})


def _problem_of_values(spec: TokenizerSpec) -> str:
    ids = [token.id for token in spec.added_tokens] + list(spec.unreachable_tokens.values())
    match spec.model:
        case Unigram(_, unk_id):
            ids.append(unk_id or 0)
        case WordPiece(unk_id):
            ids.append(unk_id)
    if spec.characters is not None:
        ids += [*spec.characters.meanings, spec.characters.first_inner]
    if not all(0 <= one <= MAX_TOKEN_ID for one in ids) or not all(
        token.content for token in spec.added_tokens
    ):
        return "has a token with an impossible id or text"
    if min(spec.n_template_tokens) < 0 or (spec.max_tokens or 0) < 0:
        return "has a negative number of tokens"
    try:
        json.loads(spec.template or "{}")
    except (ValueError, RecursionError):
        return "has a template that is no JSON"
    return ""


def _problem_of_steps(spec: TokenizerSpec) -> str:
    if not all(map(_is_valid, (*spec.normalizer, *spec.splitters, spec.joiner))):
        return "has a step with impossible values"
    steps = enumerate(spec.normalizer)
    spelling = [place for place, step in steps if isinstance(step, Spell | Unknown)]
    is_spelled = spec.characters is not None and not spec.marks_words
    if spelling != [len(spec.normalizer) - 1] * is_spelled:
        return "spells characters that its model has"
    return ""


def _is_valid(step: object) -> bool:
    match step:
        case Spell(kept, stand_ins):
            is_whole = len(stand_ins) == _LONG_BYTES and {*kept} >= _ASCII
            return is_whole and _stands_apart(kept, stand_ins)
        case Unknown(kept, stand_ins):
            return len(stand_ins) == 1 and _stands_apart(kept, stand_ins)
        case Metaspace(replacement=text) | JoinMetaspace(replacement=text):
            return len(text) == 1
        case Replace(old):
            return old != ""
        case SplitClass(members) | ReplaceEach(members):
            return _is_class(members)
    return True


def _is_class(members: str) -> bool:
    try:
        members_of(members)
    except PatternError:
        return False
    return True


def _stands_apart(kept: str, stand_ins: str) -> bool:
    are_neighbours = all(ord(b) - ord(a) == 1 for a, b in pairwise(stand_ins))
    return are_neighbours and not {*kept} & {*stand_ins}


def _has_any(spec: TokenizerSpec, fields: Iterable[str]) -> bool:
    defaults = TokenizerSpec._field_defaults
    return any(getattr(spec, field) != defaults.get(field) for field in fields)


def _problem_of_words(spec: TokenizerSpec) -> str:
    if _has_any(spec, _OF_BPE):
        return "has fields of BPE, and its model is another one"
    tokens = _Tokens.of(spec.vocabulary)
    unreachable = all(map(_is_text, spec.unreachable_tokens))
    if not tokens.are_texts(np.ones(len(tokens.lengths), dtype=np.bool_)) or not unreachable:
        return "has a token that is no text"
    if isinstance(spec.model, Unigram):
        scores, unknown = spec.model.scores, spec.model.unk_score
        are_whole = len(scores) == 8 * len(spec.vocabulary) and len(unknown) in (0, 8)
        if not are_whole or not np.isfinite(np.frombuffer(scores + unknown, dtype="<f8")).all():
            return "has not one score for each token"
    return ""


def _problem_of_bpe(spec: TokenizerSpec) -> str:
    if _has_any(spec, _OF_WORDS):
        return "has fields of another model than BPE"
    if spec.splittings and spec.pat_str is not None:
        return "has a split pattern and splittings"
    if spec.marks_words and (
        spec.marks_word_ends == spec.marks_word_starts or not never_takes(spec, " ")
    ):
        return "marks words that may have blanks of their own"
    if spec.characters is not None:
        return _problem_of_characters(spec, spec.characters)
    return ""


# Models over characters: see characters.py


class _Tokens(NamedTuple):
    """The tokens of a vocabulary.

    Attributes:
        arena: their bytes.
        starts: where each begins.
        lengths: in bytes.
        widths: characters that begin in each.
        is_begun: whether it begins with a whole character, if it is UTF-8.
    """

    arena: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    widths: NDArray[np.int64]
    is_begun: NDArray[np.bool_]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "_Tokens":
        arena = np.frombuffer(vocabulary.arena, dtype=np.uint8)
        offsets = vocabulary.offsets.astype(np.int64)
        begins = (arena & 0xC0) != 0x80
        before = np.concatenate([[0], np.cumsum(begins)])
        widths = before[offsets[1:]] - before[offsets[:-1]]
        return cls(arena, offsets[:-1], np.diff(offsets), widths, begins[offsets[:-1]])

    def text(self, chosen: NDArray[np.bool_]) -> str:
        """Join some of the tokens; raises a UnicodeDecodeError."""
        return self.arena[np.repeat(chosen, self.lengths)].tobytes().decode()

    def are_texts(self, chosen: NDArray[np.bool_]) -> bool:
        """Whether each of some tokens is UTF-8."""
        try:
            self.text(chosen)
        except UnicodeDecodeError:
            return False
        return bool(self.is_begun[chosen].all())


def _problem_of_characters(spec: TokenizerSpec, characters: Characters) -> str:
    """Say why a text may have tokens that make parts of characters only."""
    # With byte fallback, one byte of a character is a token.
    n_bytes = 1 if any(isinstance(step, Spell) for step in spec.normalizer) else 0
    if not all(len(one) == n_bytes or _is_text(one) for one in characters.meanings.values()):
        return "has a token whose meaning is no text"
    vocabulary, tokens = spec.vocabulary, _Tokens.of(spec.vocabulary)
    is_inner = vocabulary.ids >= characters.first_inner
    stages = (tokens.widths > tokens.is_begun).astype(np.int64)
    if not tokens.are_texts(~is_inner) or bool((is_inner & (stages > 0)).any()):
        return "has an inner token that is no part of a character, or another one that is"
    if spec.marks_words:
        is_marked, is_astray = _marked(spec, tokens)
        stages += (stages > 0) & ~is_marked
        if is_astray.any():
            return "has a token with the mark of a word inside"
    lefts = vocabulary.left_lengths
    lefts = recover_left_lengths(vocabulary) if lefts is None else lefts
    is_made = ~is_inner & ((lefts > 0) | (tokens.lengths == 1))
    if spec.marks_words:
        stand_ins = np.isin(vocabulary.ids, [*characters.meanings]) & is_made & (stages == 0)
        has_all = np.count_nonzero(stand_ins) == 1 and bool((is_made | is_inner)[stages < 2].all())
    else:
        has_all = _characters_of(spec) <= {*tokens.text(is_made & (stages == 0))}
    if not has_all:
        return "has a character that no token stands for"
    return "has merges of characters before those that make them" * bool(
        (np.diff(stages) < 0).any()
    )


def _characters_of(spec: TokenizerSpec) -> set[str]:
    """Return the characters that spelled texts can have."""
    last = spec.normalizer[-1]
    assert isinstance(last, Spell | Unknown)
    return {*last.kept, *last.stand_ins, " "}


def _marked(spec: TokenizerSpec, tokens: _Tokens) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find tokens of a character and a blank that marks a word, and those with blanks elsewhere."""
    ends = tokens.starts + tokens.lengths - 1
    blanks = np.concatenate([[0], np.cumsum(tokens.arena == ord(" "))])
    n_blanks = blanks[ends + 1] - blanks[tokens.starts]
    at_mark = tokens.arena[ends if spec.marks_word_ends else tokens.starts] == ord(" ")
    return (tokens.widths == 2) & at_mark, n_blanks > at_mark


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True
