"""The decoder's table: every token's bytes by id, special tokens included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cutline.kernels.encode.decode import Decoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    from cutline.kernels.base.late import numpy as np

__all__ = ["build_decoder", "build_decoder_by_id"]


def build_decoder(
    arena: bytes | memoryview,
    offsets: NDArray[np.uint64] | memoryview,
    ids: NDArray[np.uint32] | memoryview,
    special_tokens: Mapping[str, int],
    others: Mapping[bytes, int] | None = None,
) -> Decoder:
    """Build one table by id of the vocabulary, special tokens and other tokens.

    Args:
        arena: as in `Vocabulary`.
        offsets: as in `Vocabulary`.
        ids: as in `Vocabulary`.
        special_tokens: ids by text, none of them in `ids`; one that several share decodes to the
            text of the first.
        others: ids of other tokens by their bytes.

    Cost: linear; O(n log n) if the tokens do not lie in the order of their ids.
    """
    by_id: dict[int, bytes] = {}
    for text, token_id in special_tokens.items():
        by_id.setdefault(token_id, text.encode())
    for token, token_id in (others or {}).items():
        by_id.setdefault(token_id, token)
    return Decoder(arena, offsets, ids, dict(sorted(by_id.items())))


def build_decoder_by_id(tokens: Mapping[int, bytes]) -> Decoder:
    """Build the table from the bytes of every token by id."""
    by_id = dict(sorted(tokens.items()))
    offsets = np.cumsum([0, *map(len, by_id.values())], dtype=np.uint64)
    return Decoder(b"".join(by_id.values()), offsets, np.array([*by_id], dtype=np.uint32), {})
