"""The fewest tokens that cover parts of marked words, wherever these end; see marks.py.

A token that ends a word, or begins one, covers what it has besides the blank that says so.
"""

import re

import numpy as np
from numpy.typing import NDArray

from cutline.spec import TokenizerSpec

__all__ = ["MarkedCover"]


class MarkedCover:
    """Bounds the tokens of parts of normalized text, before words are marked.

    Args:
        spec: its tokens have the marks of words.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        vocabulary = spec.vocabulary
        self._vocabulary = vocabulary
        self._arena = np.frombuffer(vocabulary.arena, dtype=np.uint8)
        self._starts = vocabulary.offsets[:-1].astype(np.int64)
        self._has_unknown = spec.characters is not None

    def least_tokens(self, utf8: bytes) -> NDArray[np.int64]:
        """Return how many tokens reach each place of a text at least; see `marks.Cover`."""
        n = len(utf8)
        furthest = np.arange(1, n + 1)  # each byte is a token
        if self._has_unknown:  # one for a character
            begins = np.append((np.frombuffer(utf8, dtype=np.uint8) & 0xC0) != 0x80, True)
            places = np.flatnonzero(begins)
            furthest[places[:-1]] = places[1:]
        tokens = sorted(self._tokens_of(utf8), key=len, reverse=True)
        longest_at = b"(?=(" + b"|".join(map(re.escape, tokens)) + b"))"
        for found in re.finditer(longest_at, utf8) if tokens else ():
            furthest[found.start()] = max(furthest[found.start()], found.end(1))
        furthest = np.maximum.accumulate(furthest)
        least = np.zeros(n + 1, dtype=np.int64)
        count = reached = 0
        while reached < n:
            count, begun = count + 1, reached
            reached = int(furthest[begun])
            least[begun + 1 : reached + 1] = count
        return least

    def _tokens_of(self, utf8: bytes) -> set[bytes]:
        """List what tokens cover that consist of bytes of a text, besides a mark."""
        allowed = np.zeros(256, dtype=bool)
        allowed[[ord(" "), *utf8]] = True
        inside = np.flatnonzero(np.logical_and.reduceat(allowed[self._arena], self._starts))
        found = {self._vocabulary.token_bytes(at).strip(b" ") for at in inside.tolist()}
        return found - {b""}
