"""Chunks that end at paragraphs and lines: a kernel finds many at a time."""

from collections.abc import Sequence
from itertools import takewhile
from math import ceil

import numpy as np

from cutline.chunk import Chunk
from cutline.chunking.levels import BreakLevel, Level, LineLevel, ParagraphLevel
from cutline.chunking.rules import Rules
from cutline.counting import IntervalCounter
from cutline.kernels.chunks import make_chunks

__all__ = ["BreakCutter", "break_levels"]


def break_levels(levels: Sequence[Level]) -> list[BreakLevel]:
    """Return the levels that a kernel knows, up to the first that it does not."""
    return [level for level in takewhile(_is_known, levels) if isinstance(level, BreakLevel)]


def _is_known(level: Level) -> bool:
    """Tell whether a level is one of ours: a class of a user's may find other places."""
    return type(level) in (ParagraphLevel, LineLevel)


class BreakCutter:
    """Makes the chunks that end at breaks, as `Cutter.next_cut` says.

    Args:
        text: the text.
        counter: of its tokens.
        levels: the first levels of the rules, one or more.
        rules: plain ones.
        offset: where the text lies in the source.
        end: what the last chunk is said to be cut at.
    """

    def __init__(
        self,
        text: str,
        counter: IntervalCounter,
        levels: Sequence[BreakLevel],
        rules: Rules,
        offset: int,
        end: str,
    ) -> None:
        self._text = text
        self._counter = counter
        self._kinds = np.array([level.kind for level in levels], dtype=np.intc)
        self._names = (*(level.name for level in levels), end)
        # More tokens than the text has, at four a character, are as good as any number.
        most = 4 * len(text) + 1
        self._size = min(rules.chunk_size, most)
        self._fill = min(ceil(rules.min_fill * rules.chunk_size), most)
        self._offset = offset

    def chunks(self, floor: int, until: int, index: int) -> list[Chunk]:
        """Make the next chunks, up to the first that takes another level or a longer search.

        Args:
            floor: where the first one begins.
            until: none begins here or later.
            index: of the first one.
        """
        rows = self._counter._cut_at_breaks(floor, until, self._size, self._fill, self._kinds)
        return make_chunks(Chunk, self._text, rows, self._names, offset=self._offset, index=index)
