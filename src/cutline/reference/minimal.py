"""Minimal: as few tokens as possible. This is *not* byte pair encoding.

It shows how much shorter an encoding could be; no model was trained on it. With the tokens
`bc`, `ab` and `cd`, ranked in this order, the piece `abcd` is `ab|cd` here; merging joins `bc`
first and is left with `a|bc|d`. Nor is it greedy: with `ab` and `bcd` the piece `abcd` is
`a|bcd` here, and `ab|c|d` there.

The fewest tokens of a prefix are one more than those of some shorter prefix which lacks one
token at the end. Of several last tokens the longest is taken.

Cost: linear in the piece and in the tokens found in it.
Source: dynamic programming over prefixes; shortest paths in an acyclic graph.
"""

from cutline.reference.pieces import encodes_pieces
from cutline.reference.prefixes import follow_back
from cutline.reference.search import Search
from cutline.reference.tokens import Tokens

__all__ = ["encode_minimal"]


@encodes_pieces
def encode_minimal(tokens: Tokens, piece: bytes) -> list[bytes]:
    """Cut a piece into as few tokens as possible; see above for what that is good for.

    Tokens that merging never forms are used too.

    >>> from cutline.reference.textbook import encode_textbook
    >>> ranks = {bytes([b]): b for b in range(256)} | {b"bc": 256, b"ab": 257, b"cd": 258}
    >>> tokens = Tokens(ranks)
    >>> encode_minimal(tokens, b"abcd"), encode_textbook(tokens, b"abcd")
    ([257, 258], [97, 256, 100])
    """
    fewest = [0] + [len(piece) + 1] * len(piece)
    last = [b""] * (len(piece) + 1)
    for end, token in Search(tokens.everything).read(piece):
        count = fewest[end - len(token)] + 1
        if count < fewest[end]:
            fewest[end], last[end] = count, token
    return follow_back(last, len(piece))
