"""Chunks by plain rules, many at a time: a kernel goes from paragraph to paragraph, line to line.

Where none of these fills a chunk, it has found how far the chunk can reach, and asks for the best
boundary of another level up to there.
"""

from collections.abc import Callable
from itertools import takewhile
from math import ceil

import numpy as np

from cutline.chunk import Chunk
from cutline.chunking.levels import BreakLevel, Level, LineLevel, ParagraphLevel
from cutline.chunking.rules import Rules
from cutline.counting import IntervalCounter
from cutline.kernels.chunks import make_chunks

__all__ = ["Elsewhere", "PlainCutter"]

Elsewhere = Callable[[int, int], tuple[int, int, str]]
"""From a chunk's start and the greatest end that fits, to its end, its tokens and its level."""


def _is_known(level: Level) -> bool:
    """Tell whether a kernel knows a level: a class of a user's may find other places."""
    return type(level) in (ParagraphLevel, LineLevel)


class PlainCutter:
    """Makes the chunks that `Cutter.next_cut` would give.

    Args:
        text: the text.
        counter: of its tokens.
        rules: plain ones.
        offset: where the text lies in the source.
        end: what the last chunk is said to be cut at.
    """

    def __init__(
        self, text: str, counter: IntervalCounter, rules: Rules, offset: int, end: str
    ) -> None:
        self._text = text
        self._counter = counter
        first = takewhile(_is_known, rules.levels)
        known = [level for level in first if isinstance(level, BreakLevel)]
        self.other_levels = rules.levels[len(known) :]
        self._kinds = np.array([level.kind for level in known], dtype=np.intc)
        self._names = (
            *(level.name for level in known),
            end,
            *(level.name for level in self.other_levels),
        )
        self._places = {name: place for place, name in enumerate(self._names)}
        # More tokens than the text has, at four a character, are as good as any number.
        most = 4 * len(text) + 1
        self._size = min(rules.chunk_size, most)
        self.fill = min(ceil(rules.min_fill * rules.chunk_size), most)
        self._offset = offset

    def chunks(self, floor: int, until: int, index: int, elsewhere: Elsewhere) -> list[Chunk]:
        """Make the next chunks, up to the first that takes a longer search.

        Args:
            floor: where the first one begins.
            until: none begins here or later.
            index: of the first one.
            elsewhere: finds the best boundary of the other levels.
        """

        def other(start: int, reach: int) -> tuple[int, int, int]:
            end, tokens, name = elsewhere(start, reach)
            return end, tokens, self._places[name]

        rows = self._counter._cut_plainly(floor, until, self._size, self.fill, self._kinds, other)
        return make_chunks(Chunk, self._text, rows, self._names, offset=self._offset, index=index)
