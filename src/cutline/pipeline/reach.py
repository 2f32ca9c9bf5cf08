"""How far n tokens can reach into a text without borders: no end beyond need be tried.

Each token covers at most as many bytes as the longest one that is made of bytes of the text.
At the end of a slice, a step may write a few characters otherwise than in the whole text: one
token may reach into these, which the longest token of all allows for.
"""

import re

import numpy as np

from cutline.pipeline.added import AddedFinder
from cutline.pipeline.facts import Facts
from cutline.pipeline.normalizing import Strip, Traced
from cutline.vocabulary import Vocabulary

__all__ = ["Reach"]


class Reach:
    """Bounds the ends of slices that have at most n tokens.

    Args:
        facts: of the tokenizer.
        vocabulary: its tokens.
        finders: of the added tokens that ordinary text can hold.
    """

    def __init__(
        self, facts: Facts, vocabulary: Vocabulary, finders: tuple[AddedFinder, ...]
    ) -> None:
        self._facts = facts
        self._finders = finders
        self._arena = np.frombuffer(vocabulary.arena, dtype=np.uint8)
        self._starts = vocabulary.offsets[:-1].astype(np.int64)
        self._lengths = vocabulary.lengths.astype(np.int64)
        self._most = int(self._lengths.max())
        found = {text: token for one in finders for text, token in one.texts.items()}
        self._longest_added = max((len(text.encode()) for text in found), default=0)
        # No token between added ones has the text of one within it.
        sure = [
            text.encode() for text, token in found.items()
            if (token.normalized or not facts.steps) and not token.single_word
        ]  # fmt: skip
        if sure:
            holds = re.compile(b"|".join(map(re.escape, sure))).search
            held = [place for place, token in enumerate(vocabulary.tokens()) if holds(token)]
            self._lengths[held] = 1
        self._is_known = not any(isinstance(step, Strip) for step in facts.steps) and not any(
            token.lstrip or token.rstrip for token in found.values()
        )
        self._known: dict[bytes, int] = {}

    def limit(self, text: str, n: int) -> int:
        """Tell an end behind which no beginning of a text has at most n tokens."""
        if not self._is_known:
            return len(text)
        has_added = any(finder.may_find(text) for finder in self._finders)
        traced = Traced.of(text)
        for step in self._facts.steps:
            traced = step.trace(traced)
        if self._facts.steps and has_added:
            written = set(text.encode()) | set(traced.text.encode())
        else:
            written = set(traced.text.encode())
        longest = max(self._longest(bytes(sorted(written))), self._longest_added * has_added)
        most = n * longest + self._most + self._longest_added
        ends = np.cumsum([len(character.encode()) for character in traced.text])
        beyond = int(np.searchsorted(ends, most, side="right"))
        return len(text) if beyond >= len(ends) else traced.spans[beyond][1]

    def _longest(self, present: bytes) -> int:
        """Find the longest token of bytes that are present."""
        if present not in self._known:
            if len(self._known) > 1 << 10:
                self._known.clear()
            allowed = np.zeros(256, dtype=bool)
            allowed[list(present)] = True
            inside = np.logical_and.reduceat(allowed[self._arena], self._starts)
            self._known[present] = int(self._lengths[inside].max(initial=1))
        return self._known[present]
