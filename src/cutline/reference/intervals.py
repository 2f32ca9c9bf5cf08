"""Counting the tokens of any part of a piece without encoding all of it.

The last tokens of all prefixes make a tree: the parent of a prefix is the prefix without its
last token. The path from a prefix up to the root is the prefix's encoding.

To count `[start, end)`, encode from `start` until the encoding meets that path: at a token
boundary on the path from `end` to the root, with the same token before it. The rest of the path
is compatible with that token, so the two join to a list in which all neighbours are compatible,
which is the encoding. A meeting at `start` itself needs no token before it.

Cost: linear to prepare. Encodings that begin at different positions mostly meet after a few
tokens; if they never do, as in runs of one letter, a count is linear in the interval.
Source: the README of the `bpe` crate in github/rust-gems; docs/algorithm.md, "When a list of
tokens is an encoding".
"""

from cutline.reference.prefixes import PrefixTable, table_of
from cutline.reference.search import Search
from cutline.reference.tokens import Tokens
from cutline.reference.tree import Tree

__all__ = ["IntervalCounter"]


class IntervalCounter:
    """Counts and encodes the parts of one piece, each as a piece of its own.

    Args:
        tokens: the vocabulary.
        piece: any bytes.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258}
    >>> intervals = IntervalCounter(Tokens(ranks), b"cabcbc")
    >>> intervals.count(0, 6), intervals.encode(2, 6)
    (3, [257, 257])
    """

    def __init__(self, tokens: Tokens, piece: bytes) -> None:
        self._tokens = tokens
        self._bytes = memoryview(piece)
        self._table = table_of(tokens, piece)
        self._tree = Tree([end - len(token) for end, token in enumerate(self._table.last) if end])

    def count(self, start: int, end: int) -> int:
        """Count the tokens of the bytes from `start` up to `end`.

        Raises:
            IndexError: the interval is reversed or leaves the piece.
        """
        if self._is_token(start, end):
            return 1
        head = self._encode_until_meeting(start, end)
        counts = self._table.counts
        return head.counts[-1] + counts[end] - counts[start + head.length]

    def encode(self, start: int, end: int) -> list[int]:
        """Token ids of the bytes from `start` up to `end`.

        Raises:
            IndexError: the interval is reversed or leaves the piece.
        """
        if self._is_token(start, end):
            return [self._tokens.ids[bytes(self._bytes[start:end])]]
        head = self._encode_until_meeting(start, end)
        tail = self._table.encoding(end, start + head.length)
        return [self._tokens.ids[token] for token in head.encoding(head.length) + tail]

    def _is_token(self, start: int, end: int) -> bool:
        """Check the arguments, and return whether the whole-piece rule applies."""
        if not 0 <= start <= end <= len(self._bytes):
            raise IndexError(
                f"interval [{start}, {end}) must lie in a piece of {len(self._bytes)} bytes"
            )
        return end - start <= self._tokens.longest and bytes(self._bytes[start:end]) in self._tokens

    def _encode_until_meeting(self, start: int, end: int) -> PrefixTable:
        """Encode the prefixes of the interval up to the meeting: at `end` if not before."""
        head = PrefixTable(self._tokens)
        if not self._tree.is_above(start, end):
            for place, token in Search(self._tokens.reachable).read(self._bytes[start:end]):
                if head.offer(place, token) and self._is_meeting(start + place, end, token):
                    break
        return head

    def _is_meeting(self, boundary: int, end: int, token: bytes) -> bool:
        return self._table.last[boundary] == token and self._tree.is_above(boundary, end)
