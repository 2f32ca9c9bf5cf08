"""Textbook merge: what byte pair encoding means.

Begin with single bytes. While two neighbours form a token, merge those that form the token
of the lowest rank, the leftmost on a tie.

Cost: quadratic, since every merge looks at all neighbours again.
Source: P. Gage, "A New Algorithm for Data Compression", The C Users Journal, 1994;
R. Sennrich, B. Haddow, A. Birch, "Neural Machine Translation of Rare Words with Subword
Units", ACL 2016; docs/algorithm.md, "Definitions".
"""

from collections.abc import Mapping
from itertools import pairwise

from cutline.reference.pieces import encodes_pieces

__all__ = ["encode_textbook", "merge"]


def merge(ranks: Mapping[bytes, int], piece: bytes, stop_at: int = 1) -> list[bytes]:
    """Merge until nothing is left to join, or until only `stop_at` parts are left.

    >>> ranks = {b"ab": 1, b"bc": 2, b"abc": 3}
    >>> merge(ranks, b"abcb"), merge(ranks, b"abc", stop_at=2)
    ([b'abc', b'b'], [b'ab', b'c'])
    """
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while len(parts) > stop_at:
        candidates = (
            (ranks[left + right], place)
            for place, (left, right) in enumerate(pairwise(parts))
            if left + right in ranks
        )
        _, place = min(candidates, default=(None, None))
        if place is None:
            break
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts


@encodes_pieces
def encode_textbook(ranks: Mapping[bytes, int], piece: bytes) -> list[bytes]:
    """Encode by the definition.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258}
    >>> encode_textbook(ranks, b"abcb")
    [258, 98]
    """
    return merge(ranks, piece)
