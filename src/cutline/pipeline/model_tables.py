"""The tables of a model that encodes words apart, as the kernel takes them.

A model that cannot encode some texts is refused, as is one whose ids could not be decoded. Source:
docs/words.md.
"""

from collections.abc import Mapping
from sys import maxsize
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cutline.errors import VocabularyError
from cutline.spec import TokenizerSpec
from cutline.vocabulary import Vocabulary
from cutline.words.char_rules import META
from cutline.words.models import UNKNOWN_PENALTY, Unigram, WordPiece

__all__ = ["checked_model", "model_tables"]

_LONGEST_WORD: Final = 2**64 - 1  # the greatest limit that tokenizers reads


def model_tables(
    vocabulary: Vocabulary,
    model: WordPiece | Unigram,
    meta: bytes,
    others: Mapping[bytes, int],
) -> tuple[bytes, NDArray[np.int64], NDArray[np.uint32], int, dict[str, Any]]:
    """Return the arguments of the kernel that are the model's.

    Args:
        vocabulary: has its tokens.
        model: it is checked.
        meta: what stands for a blank; or nothing.
        others: tokens that no text has.
    """
    assert model.unk_id is not None
    if isinstance(model, WordPiece):
        options = _of_word_piece(model, meta)
    else:
        options = _of_unigram(model, vocabulary, meta, others)
    return *_with_meta(vocabulary, meta), vocabulary.ids, model.unk_id, options


def _of_word_piece(model: WordPiece, meta: bytes) -> dict[str, Any]:
    prefix = model.prefix.encode()
    return {
        "continuation": prefix.replace(meta, META) if meta else prefix,
        # No text is longer than the latter.
        "most_characters": min(model.max_word_characters, maxsize),
    }


def _of_unigram(
    model: Unigram, vocabulary: Vocabulary, meta: bytes, others: Mapping[bytes, int]
) -> dict[str, Any]:
    scores = np.frombuffer(model.scores, dtype="<f8").astype(np.float64)
    unknown = float(scores.min(initial=np.inf)) - UNKNOWN_PENALTY
    if model.unk_score:
        unknown = float(np.frombuffer(model.unk_score, dtype="<f8")[0])
    unit = 1e-15
    if model.is_single:
        unknown = float(np.float32(unknown))
        unit = 5e-7
    most = float(np.abs(np.append(scores, unknown)).max())
    return {
        "scores": scores,
        "unk_score": unknown,
        "most_score": most,
        # Sums have at most a summand for each byte; each adds half a unit in the last place.
        "rounding": most * unit,
        "is_single": model.is_single,
        "fuses": model.fuse_unk,
        "meta": meta,
        "byte_ids": _byte_ids({**others, **vocabulary.to_ranks()}) if model.byte_fallback else None,
    }


def _byte_ids(ids: Mapping[bytes, int]) -> NDArray[np.uint32] | None:
    """Return the tokens of bytes; None: there are none.

    Those for some bytes only are refused: of unknown characters in a row all or none are spelled.
    """
    byte_ids = [ids.get(b"<0x%02X>" % byte) for byte in range(256)]
    if None not in byte_ids:
        return np.array(byte_ids, dtype=np.uint32)
    if any(token_id is not None for token_id in byte_ids):
        raise VocabularyError(
            "the model Unigram has byte_fallback, and no token "
            f"<0x{byte_ids.index(None):02X}>: some bytes have one, and all must, or none; "
            "cutline.wrap(tokenizer) counts and cuts with any tokenizer"
        )
    return None


def _with_meta(vocabulary: Vocabulary, meta: bytes) -> tuple[bytes, NDArray[np.int64]]:
    """Return the arena and the offsets of tokens with a byte for what stands for a blank."""
    arena, offsets = vocabulary.arena, vocabulary.offsets.astype(np.int64)
    if len(meta) < 2 or meta not in arena:
        return arena.replace(meta, META) if meta else arena, offsets
    data = np.frombuffer(arena, dtype=np.uint8)
    found = np.zeros(len(data) + 1, dtype=np.int64)
    n_places = len(data) - len(meta) + 1
    parts = [data[at : at + n_places] == byte for at, byte in enumerate(meta)]
    np.cumsum(np.logical_and.reduce(parts), out=found[1 : n_places + 1])
    found[n_places + 1 :] = found[n_places]
    return arena.replace(meta, META), offsets - (len(meta) - 1) * found[offsets]


def checked_model(spec: TokenizerSpec) -> WordPiece | Unigram:
    """Return the model, or refuse one that lacks what it needs."""
    model = spec.model
    assert model is not None
    kind, unk_id = type(model).__name__, model.unk_id
    if unk_id is None:
        raise VocabularyError(f"the model {kind} has no unknown token: some texts have no ids")
    others = (*(token.id for token in spec.added_tokens), *spec.unreachable_tokens.values())
    if unk_id not in spec.vocabulary.ids and unk_id not in others:
        raise VocabularyError(
            f"the model {kind} has the unknown token with id {unk_id}, and no token has this id, "
            "so unknown words could not be decoded: unk_id must be that of a token"
        )
    if isinstance(model, WordPiece) and not 1 <= model.max_word_characters <= _LONGEST_WORD:
        raise VocabularyError(
            f"the model {kind} has max_word_characters {model.max_word_characters}, which must be "
            "from 1 to 2**64 - 1: where no word is too long, the latter"
        )
    return model
