"""The fewest tokens of Unigram that cover parts of a text, whatever their scores; see marks.py."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cutline.spec import TokenizerSpec
from cutline.words.characters import members_of
from cutline.words.splitting import SplitClass, WhitespaceSplit

__all__ = ["UnigramCover"]


class UnigramCover:
    """Bounds the tokens of parts of normalized text.

    Args:
        spec: its model is Unigram.
        falls_back: an unknown character becomes tokens for its bytes, instead of one for a run of
            unknown characters.
    """

    def __init__(self, spec: TokenizerSpec, *, falls_back: bool) -> None:
        vocabulary = spec.vocabulary
        self._arena = np.frombuffer(vocabulary.arena, dtype=np.uint8)
        self._starts = vocabulary.offsets[:-1].astype(np.int64)
        self._lengths = vocabulary.lengths.astype(np.int64)
        self._vocabulary = vocabulary
        self._falls_back = falls_back
        self._removed = [
            members_of("white space" if isinstance(one, WhitespaceSplit) else one.members)
            for one in spec.splitters
            if isinstance(one, WhitespaceSplit)
            or (isinstance(one, SplitClass) and one.behavior == "removed")
        ]

    def has_tokens_of(self, characters: Iterable[str]) -> bool:
        """Return whether tokens cover these characters, as none is dropped between words."""
        return not any(ord(one) in members for one in characters for members in self._removed)

    def longest_with(self, characters: Iterable[str]) -> int:
        """Find the bytes of the longest token that has one of some characters from U+0080 on."""
        first = np.zeros(256, dtype=bool)
        first[[one.encode()[0] for one in characters]] = True
        found = np.logical_or.reduceat(first[self._arena], self._starts)
        return max(4, int(self._lengths[found].max(initial=0)))

    def least_tokens(self, utf8: bytes) -> NDArray[np.int64]:
        """Return how many tokens reach each place of a text at least; see `marks.Cover`."""
        text = utf8.decode()
        tokens = self._tokens_of(utf8)
        lengths = sorted({len(token) for token in tokens}, reverse=True)
        ends = self._ends_of_unknown(text, tokens)
        least = np.zeros(len(utf8) + 1, dtype=np.int64)
        count = reached = furthest = place = 0
        for at, character in enumerate(text):
            whole = text[at : at + lengths[0]] if lengths else ""
            found = next((whole[:n] for n in lengths if whole[:n] in tokens), "")
            furthest = max(furthest, place + len(found.encode()), ends[at])
            for _ in character.encode():
                if place == reached:
                    count += 1
                    reached = max(furthest, place + 1)
                place += 1
                least[place] = count
        return least

    def _tokens_of(self, utf8: bytes) -> set[str]:
        """List the tokens that consist of bytes of a text."""
        allowed = np.zeros(256, dtype=bool)
        allowed[list(utf8)] = True
        inside = np.logical_and.reduceat(allowed[self._arena], self._starts)
        return {self._vocabulary.token_bytes(at).decode() for at in np.flatnonzero(inside).tolist()}

    def _ends_of_unknown(self, text: str, tokens: set[str]) -> list[int]:
        """Return for each unknown character where its run ends, in bytes: that is one token.

        0 for others, and where an unknown character has a token for each byte.
        """
        ends = [0] * len(text)
        if self._falls_back:
            return ends
        end = place = len(text.encode())
        was_unknown = False
        for at in range(len(text) - 1, -1, -1):
            is_unknown = text[at] not in tokens
            if is_unknown and not was_unknown:
                end = place
            if is_unknown:
                ends[at] = end
            was_unknown = is_unknown
            place -= len(text[at].encode())
        return ends
