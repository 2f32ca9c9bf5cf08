"""Backtracking: encode from left to right, and take back tokens that lead nowhere.

At each position take the longest token that is compatible with the one before. If there is
none, no encoding has a token boundary here: clear its bit in a bit field, take back the last
token, and continue with the next shorter one. No position is visited again once ruled out.

Cost: linear in the piece and in the tokens found in it.
Source: the README of the `bpe` crate in github/rust-gems; docs/algorithm.md, "Backtracking".
"""

from bitarray import bitarray

from cutline.reference.compatibility import compatible
from cutline.reference.pieces import encodes_pieces
from cutline.reference.search import Search
from cutline.reference.tokens import Tokens

__all__ = ["encode_backtracking"]


@encodes_pieces
def encode_backtracking(tokens: Tokens, piece: bytes) -> list[bytes]:
    """Encode by longest matches, taken back where needed.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258}
    >>> encode_backtracking(Tokens(ranks), b"abcb")
    [258, 98]
    """
    longest = _longest_at_each_place(tokens, piece)
    possible = bitarray(len(piece) + 1)
    possible.setall(True)
    encoded = [b""]
    start = 0
    token = longest[0]
    while start < len(piece):
        while token and not (
            possible[start + len(token)] and (start == 0 or compatible(tokens, encoded[-1], token))
        ):
            token = tokens.shorter.get(token, b"")
        if token:
            encoded.append(token)
            start += len(token)
            token = longest[start]
        else:
            possible[start] = False
            taken_back = encoded.pop()
            start -= len(taken_back)
            token = tokens.shorter.get(taken_back, b"")
    return encoded[1:]


def _longest_at_each_place(tokens: Tokens, piece: bytes) -> list[bytes]:
    """Find the longest token that begins at each position; an empty one at the end."""
    longest = [b""] * (len(piece) + 1)
    for end, token in Search(tokens.reachable).read(piece):
        longest[end - len(token)] = token  # ends increase, so the longest comes last
    return longest
