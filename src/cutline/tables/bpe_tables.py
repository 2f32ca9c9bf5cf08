"""The tables for encoding a piece: token hash, merges, prefixes and suffixes, characters.

docs/algorithm.md explains the purpose of each table and why it suffices.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutline.errors import CorruptDataError, VocabularyError
from cutline.kernels.base.memory import in_large_pages
from cutline.kernels.bpe import build
from cutline.kernels.bpe.bpe import BpeTables
from cutline.vocabulary import Vocabulary

__all__ = ["MAX_TOKEN_BYTES", "build_bpe_tables", "recover_left_lengths"]

NONE = np.uint32(0xFFFFFFFF)
MAX_TOKEN_BYTES = 1 << 15  # recovering a token's last merge is quadratic in its length


@dataclass(frozen=True, slots=True)
class _Hashed:
    """A vocabulary with the two tables for finding a token."""

    arena: NDArray[np.uint8]
    offsets: NDArray[np.uint64]
    slots: NDArray[np.uint64]
    byte_token: NDArray[np.uint32]

    def arrays(
        self,
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32]]:
        """Its parts in the order of the builders' arguments."""
        return self.arena, self.offsets, self.slots, self.byte_token


def build_bpe_tables(vocabulary: Vocabulary) -> BpeTables:
    """Build all tables of a vocabulary.

    Raises:
        VocabularyError: two tokens are equal, or one is too long to build tables for.
        CorruptDataError: a stored left length is not that of a token's last merge.

    Cost: linear in the vocabulary's bytes when left lengths are stored (o200k_base:
    about 40 ms), and three times that when they must be recovered.
    """
    left_lengths = vocabulary.left_lengths
    taken: tuple[_Hashed, Any] | None = vocabulary._take_splits()
    hashed = _hash(vocabulary) if taken is None else taken[0]
    if left_lengths is None:
        left_lengths = _recover(hashed)
    parts = build.splits(*hashed.arrays(), left_lengths) if taken is None else taken[1]
    if isinstance(parts, int):
        raise _wrong_split(vocabulary, parts)
    left, right, pair_slots, pair_filter, irregular = parts
    # Left lengths from a file may be wrong, and kernels trust them.
    if vocabulary.left_lengths is not None and not vocabulary._is_recovered:
        if irregular:
            wrong = np.flatnonzero(left_lengths != _recover(hashed))
            token = int(wrong[0]) if wrong.size else -1
        else:
            token = build.wrong_split(*hashed.arrays(), left, right, pair_slots, pair_filter)
        if token >= 0:
            raise _wrong_split(vocabulary, token)
    lengths = np.diff(vocabulary.offsets).astype(np.int64)
    unreachable = (left == NONE) & (lengths > 1)
    char_token, boundaries, neighbours = build.character_tables(hashed.arena, hashed.offsets, left)
    beginnings, endings = build.match_filters(hashed.arena, hashed.offsets, left, right)
    arrays: dict[str, NDArray[Any]] = {
        "arena": hashed.arena,
        "offsets": hashed.offsets,
        "ids": vocabulary.ids,
        "token_slots": hashed.slots,
        "pair_slots": pair_slots,
        "pair_filter": pair_filter,
        "left": left,
        "right": right,
        "byte_token": hashed.byte_token,
        "char_token": char_token,
        "open_boundaries": boundaries,
        "neighbours": neighbours,
        "beginnings": beginnings,
        "endings": endings,
    }
    if irregular:
        arrays["non_monotone"] = _irregular(left, right, lengths)
    return BpeTables(
        {
            "non_monotone": None,
            "max_token_bytes": int(lengths.max()),
            "max_unreachable_bytes": int(lengths[unreachable].max(initial=0)),
        }
        | dict(zip(arrays, in_large_pages(arrays.values()), strict=True))
    )


def recover_left_lengths(
    vocabulary: Vocabulary, guess: NDArray[np.integer] | None = None
) -> NDArray[np.uint32]:
    """Compute the length in bytes of the left part of each token's last merge.

    Args:
        vocabulary: any; its own `left_lengths` are ignored.
        guess: integers, shape (tokens,), that may be right: a third of the time checks them.

    Returns:
        uint32, shape (tokens,); 0 for single bytes and for unreachable tokens.

    Raises:
        VocabularyError: two tokens are equal, or one is too long.

    Cost: quadratic in a token's length, linear in their number.
    """
    hashed = _hash(vocabulary)
    if guess is not None and bool((guess < vocabulary.lengths).all()):
        left_lengths = guess.astype(np.uint32)
        parts = build.splits(*hashed.arrays(), left_lengths)
        if not isinstance(parts, int):
            left, right, slots, known, irregular = parts
            if not irregular and (
                build.wrong_split(*hashed.arrays(), left, right, slots, known) < 0
            ):
                object.__setattr__(vocabulary, "_splits", (hashed, parts))
                return left_lengths
    return _recover(hashed)


def _wrong_split(vocabulary: Vocabulary, token: int) -> CorruptDataError:
    return CorruptDataError(
        f"the stored split of token {vocabulary.token_bytes(token)!r} is not the last merge that "
        "makes it: the file is damaged, save or download it again"
    )


def _hash(vocabulary: Vocabulary) -> _Hashed:
    lengths = np.diff(vocabulary.offsets)
    longest = int(lengths.argmax())
    if lengths[longest] > MAX_TOKEN_BYTES:
        raise VocabularyError(
            f"token with id {vocabulary.ids[longest]} has {lengths[longest]} bytes; "
            f"the longest supported are {MAX_TOKEN_BYTES}"
        )
    arena = np.frombuffer(vocabulary.arena, dtype=np.uint8)
    slots, equal = build.token_slots(arena, vocabulary.offsets)
    if equal is not None:
        first, second = (int(vocabulary.ids[token]) for token in equal)
        raise VocabularyError(
            f"token {vocabulary.token_bytes(equal[0])!r} appears twice, with ids {first} "
            f"and {second}; tokens must be unique"
        )
    byte_token = np.zeros(256, dtype=np.uint32)
    singles = np.flatnonzero(lengths == 1)
    byte_token[arena[vocabulary.offsets[singles].astype(np.int64)]] = singles
    return _Hashed(arena, vocabulary.offsets, slots, byte_token)


def _recover(hashed: _Hashed) -> NDArray[np.uint32]:
    left_lengths = build.monotone_left_lengths(*hashed.arrays())
    if left_lengths is not None:
        return left_lengths
    longest = int(np.diff(hashed.offsets).max())
    if longest > build.NON_MONOTONE_LIMIT:
        raise VocabularyError(
            f"some tokens are not reached by merges of lower ranks, and the longest token has "
            f"{longest} bytes; such a vocabulary may have tokens of at most "
            f"{build.NON_MONOTONE_LIMIT} bytes"
        )
    return build.any_left_lengths(*hashed.arrays())


def _irregular(
    left: NDArray[np.uint32], right: NDArray[np.uint32], lengths: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Flag the non-monotone tokens: those with a merge that ranks below one of its parts."""
    merged = np.flatnonzero(left != NONE)
    irregular = np.zeros(len(left), dtype=np.uint8)
    for part in (left[merged], right[merged]):
        irregular[merged] |= (part > merged) & (left[part] != NONE)
    # Parts are shorter than the whole: from length to length, flags are final when read.
    by_length = merged[np.argsort(lengths[merged], kind="stable")]
    for tokens in np.split(by_length, np.flatnonzero(np.diff(lengths[by_length])) + 1):
        irregular[tokens] |= irregular[left[tokens]] | irregular[right[tokens]]
    return irregular
