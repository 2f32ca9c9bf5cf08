"""The decoder's table: every token's bytes by id, special tokens included."""

from collections.abc import Mapping

import numpy as np

from cutline.kernels.encode.decode import Decoder
from cutline.vocabulary import Vocabulary

__all__ = ["build_decoder"]


def build_decoder(
    vocabulary: Vocabulary,
    special_tokens: Mapping[str, int],
    others: Mapping[bytes, int] | None = None,
) -> Decoder:
    """Build one table by id of the vocabulary, special tokens and other tokens.

    An id that special tokens share decodes to the text of the first one.

    Cost: O(n log n) in numpy.
    """
    by_id: dict[int, bytes] = {}
    for text, token_id in special_tokens.items():
        by_id.setdefault(token_id, text.encode())
    for token, token_id in (others or {}).items():
        by_id.setdefault(token_id, token)
    ids = np.concatenate([vocabulary.ids, np.fromiter(by_id, np.uint32, len(by_id))])
    lengths = np.concatenate(
        [np.diff(vocabulary.offsets), np.fromiter(map(len, by_id.values()), np.uint64, len(by_id))]
    )
    starts = np.zeros(len(ids), dtype=np.uint64)
    np.cumsum(lengths[:-1], out=starts[1:])
    order = np.argsort(ids, kind="stable")
    return Decoder(
        vocabulary.arena + b"".join(by_id.values()),
        ids[order],
        starts[order],
        lengths[order].astype(np.uint32),
    )
