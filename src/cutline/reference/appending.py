"""Counting while a text grows, and shrinks again at its end.

The last token of a prefix depends on that prefix alone, so appended text does not change the
table of prefixes, but only extends it.

Cost: linear in all appended text. Truncation is linear in the length of the longest token, for
the automaton's state, plus the removed bytes.
Source: the README of the `bpe` crate in github/rust-gems; docs/algorithm.md, "Prefixes and
suffixes".
"""

from cutline.reference.prefixes import PrefixTable
from cutline.reference.search import Search
from cutline.reference.tokens import Tokens

__all__ = ["Appender"]


class Appender:
    """The encoding of one piece that grows at its end.

    Args:
        tokens: the vocabulary.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258}
    >>> text = Appender(Tokens(ranks))
    >>> text.append(b"ab")
    >>> text.append(b"cb")
    >>> text.count(), text.encode()
    (2, [258, 98])
    >>> text.truncate(3)
    >>> text.count()
    1
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._table = PrefixTable(tokens)
        self._search = Search(tokens.reachable)

    def __len__(self) -> int:
        return self._table.length

    def append(self, text: bytes) -> None:
        """Add bytes at the end."""
        for end, token in self._search.read(text):
            self._table.offer(end, token)

    def truncate(self, length: int) -> None:
        """Keep the first `length` bytes.

        Raises:
            IndexError: there are fewer.
        """
        if not 0 <= length <= len(self):
            raise IndexError(f"length must be from 0 to {len(self)}, got {length}")
        del self._table.last[length + 1 :]
        del self._table.counts[length + 1 :]
        # Later tokens begin less than the longest token's length before the end: reread only that.
        context = self._tail(self._tokens.longest)
        self._search = Search(self._tokens.reachable, length - len(context))
        for _ in self._search.read(context):
            pass

    def count(self) -> int:
        """Count the tokens of the text so far."""
        return 1 if self._is_token() else self._table.counts[-1]

    def encode(self) -> list[int]:
        """Token ids of the text so far."""
        encoded = [self._tail(len(self))] if self._is_token() else self._table.encoding(len(self))
        return [self._tokens.ids[token] for token in encoded]

    def _is_token(self) -> bool:
        return len(self) <= self._tokens.longest and self._tail(len(self)) in self._tokens

    def _tail(self, n_bytes: int) -> bytes:
        """At least the last `n_bytes` bytes, taken from the tokens."""
        start = len(self)
        while start > max(0, len(self) - n_bytes):
            start -= len(self._table.last[start])
        return b"".join(self._table.encoding(len(self), start))
