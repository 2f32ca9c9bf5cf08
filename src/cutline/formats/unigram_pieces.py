"""Models of sentencepiece of the type Unigram, from their pieces."""

from collections.abc import Sequence

import numpy as np

from cutline.errors import VocabularyError
from cutline.formats.merges import WRAP_HINT
from cutline.formats.pieces import Piece, PieceType
from cutline.normalizing import Step
from cutline.spec import AddedToken, TokenizerSpec
from cutline.vocabulary import Vocabulary
from cutline.words.joining import JoinMetaspace
from cutline.words.models import UNKNOWN_PENALTY, Unigram
from cutline.words.splitting import Metaspace

__all__ = ["unigram_spec"]

_SYMBOL_SCORE = 0.1
"""What sentencepiece adds for each byte of a piece of the user but one: more than for others."""

_MOST_OF_WORD = 2**15
"""How far apart the sums may be at places that one piece is between.

Farther than 1e5 from 0 sums begin anew. Up to this number it is once in a piece, and nothing is
rounded then.
"""

_FOUND = (PieceType.NORMAL, PieceType.USER_DEFINED)
"""The types of pieces that are found in texts."""


def unigram_spec(
    pieces: Sequence[Piece],
    name: str,
    source: str,
    *,
    steps: tuple[Step, ...],
    adds_prefix: bool,
    drops_blank: bool,
) -> TokenizerSpec:
    """Describe a model that chooses the pieces whose scores have the greatest sum.

    Args:
        pieces: their ids are their places.
        name: its name.
        source: where it comes from.
        steps: what normalizes texts.
        adds_prefix: texts get a leading blank.
        drops_blank: decoding drops a blank at the start.

    Raises:
        VocabularyError: it cannot be expressed exactly.
    """
    if len({piece.text for piece in pieces}) < len(pieces):
        raise VocabularyError(f"{source} has pieces that occur twice: {WRAP_HINT}")
    ids = np.array([n for n, piece in enumerate(pieces) if piece.kind in _FOUND], dtype=np.int64)
    found = [pieces[number] for number in ids.tolist()]
    texts = [piece.text.encode() for piece in found]
    scores = [_score(piece) for piece in found]
    vocabulary = Vocabulary(
        b"".join(texts), np.array([*map(len, texts)], dtype=np.int64), ids, is_of_words=True
    )
    if (
        any(piece.kind == PieceType.USER_DEFINED for piece in found)
        and max((piece.score for piece in found if piece.kind == PieceType.NORMAL), default=0) > 0
    ):
        raise VocabularyError(f"{source} has user-defined symbols, and a score over 0: {WRAP_HINT}")
    _check_scores(texts, scores, source)
    unknown = next((n for n, piece in enumerate(pieces) if piece.kind == PieceType.UNKNOWN), None)
    added = [
        AddedToken(piece.text, number, special=True)
        for number, piece in enumerate(pieces)
        if piece.kind in (PieceType.CONTROL, PieceType.UNKNOWN)
    ]
    falls_back = any(piece.kind == PieceType.BYTE for piece in pieces)
    return TokenizerSpec(
        name,
        vocabulary,
        None,
        tuple(added),
        steps,
        unreachable_tokens={
            piece.text.encode(): number
            for number, piece in enumerate(pieces)
            if piece.kind in (PieceType.UNUSED, PieceType.BYTE)
        },
        model=Unigram(np.array(scores, dtype="<f8").tobytes(), unknown, falls_back, is_single=True),
        splitters=(
            Metaspace("always" if adds_prefix else "never", splits=False, leads_all=adds_prefix),
        ),
        joiner=JoinMetaspace("never", has_bytes=falls_back, drops_blank=drops_blank),
    )


def _check_scores(texts: Sequence[bytes], scores: Sequence[float], source: str) -> None:
    """Refuse scores so far from 0 that sums are not known to begin anew as sentencepiece's do."""
    lengths = [len(text.decode()) for text in texts]
    longest, highest = max(lengths, default=0), max(scores, default=0)
    lost = UNKNOWN_PENALTY - min(scores, default=0)
    won = max((score / n for score, n in zip(scores, lengths, strict=True)), default=0)
    if longest * max(lost, won) + highest > _MOST_OF_WORD:
        raise VocabularyError(
            f"{source} has pieces of up to {longest} characters, and scores from {min(scores)} to "
            f"{highest}: sums of those so far from 0 are rounded otherwise: {WRAP_HINT}"
        )


def _score(piece: Piece) -> float:
    if piece.kind != PieceType.USER_DEFINED:
        return piece.score
    # The difference is rounded, not what is subtracted from.
    return float(np.float32(_SYMBOL_SCORE * len(piece.text.encode()) - _SYMBOL_SCORE))
