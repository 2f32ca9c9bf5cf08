"""The last token of every prefix: one pass gives the encodings of all prefixes of a piece.

The encoding of a prefix has exactly one last token: the only one that ends there and is
compatible with the last token of the prefix without it. The Aho-Corasick automaton yields
the tokens to try. Following last tokens backwards gives the encoding.

Cost: linear in the piece and in the tokens found in it.
Source: the README of the `bpe` crate in github/rust-gems; docs/algorithm.md, "Prefixes and
suffixes".
"""

from collections.abc import Sequence

from cutline.reference.compatibility import compatible
from cutline.reference.pieces import encodes_pieces
from cutline.reference.search import Search
from cutline.reference.tokens import Tokens

__all__ = ["PrefixTable", "encode_prefixes"]


class PrefixTable:
    """The last token and the token count of `E` of every prefix of a growing text.

    Attributes:
        last: the last token of each prefix by the prefix's length; `last[0]` is empty.
        counts: the number of tokens of each prefix.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.last = [b""]
        self.counts = [0]

    @property
    def length(self) -> int:
        """The length of the longest prefix in bytes."""
        return len(self.last) - 1

    def offer(self, end: int, token: bytes) -> bool:
        """Add a token that ends at `end` if it is the last token of that prefix's encoding.

        Returns:
            Whether the table has grown.
        """
        start = end - len(token)
        grows = end == len(self.last) and (
            start == 0 or compatible(self._tokens, self.last[start], token)
        )
        if grows:
            self.last.append(token)
            self.counts.append(self.counts[start] + 1)
        return grows

    def encoding(self, end: int, start: int = 0) -> list[bytes]:
        """`E` of the prefix up to `end`, from its token boundary at `start` on."""
        return follow_back(self.last, end, start)


def follow_back(last: Sequence[bytes], end: int, start: int = 0) -> list[bytes]:
    """List tokens from `start` to `end`, given the last token of each prefix."""
    encoded = []
    while end > start:
        encoded.append(last[end])
        end -= len(last[end])
    return encoded[::-1]


def table_of(tokens: Tokens, piece: bytes) -> PrefixTable:
    """Fill the table of a whole piece."""
    table = PrefixTable(tokens)
    for end, token in Search(tokens.reachable).read(piece):
        table.offer(end, token)
    return table


@encodes_pieces
def encode_prefixes(tokens: Tokens, piece: bytes) -> list[bytes]:
    """Encode by way of the last tokens of all prefixes.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258}
    >>> encode_prefixes(Tokens(ranks), b"abcb")
    [258, 98]
    """
    return table_of(tokens, piece).encoding(len(piece))
