"""The pair check: which two tokens can be neighbours in an encoding.

Two tokens are compatible if merging their joined bytes ends in exactly these two. A list of
tokens is the encoding of its bytes if and only if all neighbours are compatible: all encoders
that do not merge are based on this.

The check without merging: two parts meet at the boundary, at the end the two tokens. Undo the
tokens' merges, the latest first, and check each time whether the two parts that met there
before would have merged across the boundary earlier than the merge just undone.

The order of undoing is known for regular tokens only; pairs with another token are merged.

Cost: one lookup for each merge undone, at most as many as the tokens have bytes. Pairs recur,
so results are cached.
Source: the README of the `bpe` crate in github/rust-gems; docs/algorithm.md, "The pair check".
"""

from math import inf

from cutline.reference.heap import merge_by_heap
from cutline.reference.tokens import Tokens

__all__ = ["compatible"]

MAX_CACHED_PAIRS = 1 << 17  # about 20 MB; then the cache is cleared


def compatible(tokens: Tokens, left: bytes, right: bytes) -> bool:
    """Return whether `E(left + right)` is `[left, right]`.

    Args:
        tokens: the vocabulary.
        left: a token's bytes.
        right: a token's bytes.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"aa": 256}
    >>> tokens = Tokens(ranks)
    >>> compatible(tokens, b"aa", b"a"), compatible(tokens, b"a", b"aa")
    (True, False)
    """
    pair = left, right
    if pair not in tokens.pair_cache:
        if len(tokens.pair_cache) >= MAX_CACHED_PAIRS:
            tokens.pair_cache.clear()
        tokens.pair_cache[pair] = (
            _undo(tokens, left, right)
            if tokens.regular.issuperset(pair)
            else merge_by_heap(tokens, left + right) == [left, right]
        )
    return tokens.pair_cache[pair]


def _undo(tokens: Tokens, left: bytes, right: bytes) -> bool:
    too_late: float = inf  # merges across the boundary from this rank on come too late
    while True:
        joined = left + right
        if tokens.splits.get(joined) == (left, right) and tokens[joined] < too_late:
            return False
        if len(left) > 1 and (len(right) == 1 or tokens[left] > tokens[right]):
            too_late = tokens[left]
            left = tokens.splits[left][1]
        elif len(right) > 1:
            # Ties merge leftmost first: here, the one across the boundary.
            too_late = tokens[right] + 1
            right = tokens.splits[right][0]
        else:
            return True
