"""Training: count pairs, pick the most frequent, merge it, repeat.

Every piece begins as single bytes. In each step all pairs of neighbours are counted, each as
often as its piece occurs; the most frequent pair becomes a token, and is merged in every piece
from left to right. Overlapping occurrences count (`aaa` has `a|a` twice) but only one of them
can be merged.

No two merges make the same bytes. As long as no token extends across the ends of a span, the
span's tokens are those that its bytes alone would have; so if a token's bytes were two
neighbours, its own merge would have merged them.

Cost: a pass over all pieces for every merge.
Source: R. Sennrich, B. Haddow, A. Birch, "Neural Machine Translation of Rare Words with
Subword Units", ACL 2016.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

from cutline.errors import shown

__all__ = ["Merge", "join_pair", "train"]

Pair = tuple[bytes, bytes]
Ties = Literal["smallest", "largest", "ids"]


class Merge(NamedTuple):
    """Two merged tokens, and how often they were neighbours."""

    left: bytes
    right: bytes
    frequency: int


def train(
    pieces: Mapping[bytes, int],
    vocab_size: int,
    *,
    min_frequency: int = 2,
    ties: Ties = "smallest",
    max_token_length: int | None = None,
) -> list[Merge]:
    """Learn merges from pieces.

    Args:
        pieces: the number of occurrences of each piece.
        vocab_size: the final number of tokens: the 256 bytes and the merges.
        min_frequency: rarer pairs are not merged.
        ties: which of the most frequent pairs comes first: the one with the "smallest" or the
            "largest" bytes, left before right; or with the lowest "ids", left before right.
        max_token_length: in bytes; pairs that would make a longer token are not merged.

    Returns:
        The merges in order, fewer if nothing is left to merge. Ids are the bytes' values,
        then 256 for the first merge, and so on.

    Raises:
        ValueError: ties is unknown.

    >>> train({b"abab": 1, b"bc": 2}, 258, ties="smallest")
    [Merge(left=b'a', right=b'b', frequency=2), Merge(left=b'b', right=b'c', frequency=2)]
    >>> train({b"abab": 1, b"bc": 2}, 257, ties="largest")
    [Merge(left=b'b', right=b'c', frequency=2)]
    """
    ids = {bytes([value]): value for value in range(256)}
    parts_of = {piece: [piece[i : i + 1] for i in range(len(piece))] for piece in pieces}
    merges: list[Merge] = []
    while len(ids) < vocab_size:
        counts: Counter[Pair] = Counter()
        for piece, parts in parts_of.items():
            for pair in pairwise(parts):
                if max_token_length is None or len(pair[0] + pair[1]) <= max_token_length:
                    counts[pair] += pieces[piece]
        highest = max(counts.values(), default=0)
        if highest < max(min_frequency, 1):
            break
        left, right = _first([pair for pair in counts if counts[pair] == highest], ids, ties)
        merges.append(Merge(left, right, highest))
        ids[left + right] = len(ids)
        parts_of = {piece: join_pair(parts, left, right) for piece, parts in parts_of.items()}
    return merges


def _first(pairs: list[Pair], ids: Mapping[bytes, int], ties: Ties) -> Pair:
    """Break a tie."""
    if ties == "smallest":
        return min(pairs)
    if ties == "largest":
        return max(pairs)
    if ties == "ids":
        return min(pairs, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    raise ValueError(f"ties must be 'smallest', 'largest' or 'ids', got {shown(ties)}")


def join_pair(parts: list[bytes], left: bytes, right: bytes) -> list[bytes]:
    """Merge every occurrence of a pair, from left to right.

    >>> join_pair([b"a", b"a", b"a", b"b"], b"a", b"a")
    [b'aa', b'a', b'b']
    """
    joined: list[bytes] = []
    place = 0
    while place < len(parts):
        size = 2 if parts[place : place + 2] == [left, right] else 1
        joined.append(b"".join(parts[place : place + size]))
        place += size
    return joined
