"""From an encoder of byte strings to one of pieces: the whole-piece rule, and ids.

The algorithms compute `E`, pure merging, as a list of tokens given by their bytes. A piece
that is a token is encoded as that token even if merging never forms it. This rule is applied
last: tables that included it would be wrong for every longer piece.

Source: docs/algorithm.md, "Unreachable tokens".
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar

__all__ = ["encodes_pieces"]

Ranks = TypeVar("Ranks", bound=Mapping[bytes, int])


def encodes_pieces(
    encode: Callable[[Ranks, bytes], list[bytes]],
) -> Callable[[Ranks, bytes], list[int]]:
    """Add the whole-piece rule to a pure encoder, and return ids."""

    @wraps(encode)
    def encode_piece(ranks: Ranks, piece: bytes) -> list[int]:
        ids = getattr(ranks, "ids", ranks)
        return [ids[piece]] if piece in ranks else [ids[token] for token in encode(ranks, piece)]

    return encode_piece
