"""Greedy: always the longest token that matches. This is *not* byte pair encoding.

It is often confused with it, and often gives the same result, but merging does not prefer long
tokens.
With the tokens `cd`, `ab` and `abc`, ranked in this order, the piece `abcd` is `abc|d` here;
merging joins `cd` first, then `ab`, and is left with `ab|cd`.

Cost: linear in the piece and in the tokens found in it.
Source: longest match, or "maximum munch", as lexers use it.
"""

from cutline.reference.pieces import encodes_pieces
from cutline.reference.tokens import Tokens

__all__ = ["encode_greedy"]


@encodes_pieces
def encode_greedy(tokens: Tokens, piece: bytes) -> list[bytes]:
    """Cut a piece into longest matches from left to right; see above for why not to.

    Tokens that merging never forms are used too.

    >>> from cutline.reference.textbook import encode_textbook
    >>> ranks = {bytes([b]): b for b in range(256)} | {b"cd": 256, b"ab": 257, b"abc": 258}
    >>> tokens = Tokens(ranks)
    >>> encode_greedy(tokens, b"abcd"), encode_textbook(tokens, b"abcd")
    ([258, 100], [257, 256])
    """
    return [token for _, token in tokens.everything.iter_long(piece.decode("latin-1"))]
