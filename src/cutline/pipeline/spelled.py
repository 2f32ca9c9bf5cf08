"""Counts of slices where each character is changed on its own: a slice is one of the changed text.

Models over characters are such, with the exception that each slice gets a leading blank, as their
texts do. Then the slice up to its first safe split point is encoded, and the rest is counted as
a slice of the changed text. docs/tokenizers.md, "Models over characters", has the proof.
"""

from collections.abc import Iterable
from functools import cached_property
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cutline.counting import IntervalCounter, cutting
from cutline.counting.break_cuts import BreakCuts
from cutline.kernels.base.pairs import next_pair
from cutline.kernels.base.spelling import SpelledPlaces
from cutline.kernels.breaks.spelled_breaks import cut_spelled_at_breaks
from cutline.kernels.index.first_words import FirstWords
from cutline.normalizing import Lead, Prepend, Replace, Spell, Step
from cutline.pipeline.few_counter import RunCounter
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder

__all__ = ["SpelledCounter", "is_spelled"]

_FAR = 256  # characters


def is_spelled(pipeline: Pipeline, encoding: TextEncoder, text: str) -> bool:
    """Return whether each character of a text is changed on its own, to one or more."""
    if not encoding._has_automaton or not pipeline.spells:
        return False
    return not any(finder.may_find(text) for finder in pipeline.ordinary_finders)


class SpelledCounter(RunCounter):
    """Like `SliceCounter`, for a text of which `is_spelled` holds; takes the same arguments.

    Cost: what is asked first encodes the text once, some 50 MB/s; to cut all of it, by its runs. A
    count takes constant time; with leading blanks, it looks for the end of a word and encodes it.
    """

    def _build(self) -> None:
        """See `SliceCounter`: the text is encoded when counts are asked for."""
        steps = self._pipeline.spec.normalizer
        # A prefix that is inserted anyway; or one blank, but not before another.
        prefixes = [step for step in steps if isinstance(step, Prepend)]
        leads = [step for step in prefixes if isinstance(step, Lead)]
        self._prefix = "".join(step.prefix for step in reversed(prefixes) if step not in leads)
        self._takes_blank = self._pipeline.spec.prefix_space or Lead(" ") in leads
        # A place, and the first safe split point after it.
        self._last_edge = (0, 0)

    @cached_property
    def _spelling(self) -> tuple[str, SpelledPlaces | None]:
        return _spelled(self._text, self._pipeline.spec.normalizer)

    @property
    def _changed(self) -> str:
        return self._spelling[0]

    @property
    def _places(self) -> SpelledPlaces | None:
        return self._spelling[1]

    @cached_property
    def _inner(self) -> IntervalCounter:
        """What counts any slice of the changed text."""
        return IntervalCounter._of_normalized(self._encoding, self._changed)

    @property
    def settled(self) -> int:
        """See `SliceCounter`; 0: no safe split point is near the end."""
        last, holds_at = len(self._text) - 2, self._pipeline.safe_points.holds_at
        places = range(last, max(last - _FAR, 1), -1)
        return self.count(0, next((at for at in places if holds_at(self._text, at)), 0))

    @property
    def nbytes(self) -> int:
        """The memory it uses in bytes, without the text."""
        places = 0 if self._places is None else self._places.nbytes
        return self._inner.nbytes + places

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice; see `SliceCounter.count`."""
        start, end = index(start), index(end)
        self._check_span(start, end)
        if self._places is not None:
            start, end = self._places.span_of(start, end)
        if start == end or self._first_words is None:
            return self._inner.count(start, end)
        edge, tokens = self._first_words.count(start, end)
        if tokens < 0:
            edge, tokens = self._count_long(start, end)
        return tokens + self._inner.count(edge, end)

    def _may_ask_few(self) -> bool:
        return "_inner" not in vars(self)

    def _cut_many_at_breaks(self, asked: BreakCuts) -> tuple[memoryview, int]:
        """Cut at the last breaks that fit; see `kernels/breaks/spelled_breaks`."""
        return cut_spelled_at_breaks(
            self._inner, self._text, self._places, self._first_words, *asked
        )

    @cached_property
    def _first_words(self) -> FirstWords | None:
        """What counts the first words of slices; None: nothing comes before these."""
        if not (self._prefix or self._takes_blank):
            return None
        # The split pattern of a model over characters is that of formats/closed_pattern.py.
        splits_nothing = self._pipeline.spec.characters is not None
        return FirstWords(
            self._encoding, self._changed, self._prefix, self._takes_blank,
            *self._pipeline.safe_points.tables, splits_nothing,
        )  # fmt: skip

    def _count_long(self, start: int, end: int) -> tuple[int, int]:
        """Return where the first word of a slice of the changed text ends, and its tokens."""
        edge = min(self._edge_after(start), end)
        written = self._with_prefix(self._changed[start:edge])
        return edge, self._encoding._count_normalized(written)

    def count_many(self, spans: ArrayLike) -> NDArray[np.int64]:
        """Count the tokens of many slices; see `SliceCounter.count_many`.

        Cost: less than a microsecond for each, most of it for the first word of the slice.
        """
        rows = self._checked_rows(spans)
        if self._places is not None:
            rows = self._places.rows_of(rows)
        if self._first_words is None:
            return self._inner.count_many(rows)
        rests, counts = self._first_words.count_many(rows)
        for row in np.flatnonzero(counts < 0).tolist():
            rests[row, 0], counts[row] = self._count_long(*rows[row].tolist())
        counts += self._inner.count_many(rests)
        return counts

    def _count_tails(self, start: int, end: int) -> NDArray[np.int64]:
        """Count `text[at:end]` for each character after `start`, the last one first."""
        starts = np.arange(end - 1, start, -1)
        return self.count_many(np.stack((starts, np.full(len(starts), end)), axis=1))

    def _edge_after(self, start: int) -> int:
        """Return the first safe split point of the changed text after a place, or its end."""
        first, edge = self._last_edge
        if not first <= start < edge:  # else a long word is not looked through for each start
            n = len(self._changed)
            edge = next_pair(self._changed, start, n, *self._pipeline.safe_points.tables)
            edge = edge if edge >= 0 else n
            self._last_edge = start, edge
        return edge

    def _with_prefix(self, head: str) -> str:
        """Put before a slice of the changed text what it gets."""
        if self._takes_blank and not head.startswith(" "):
            head = f" {head}"
        return self._prefix + head

    def split_at(self, start: int, n: int) -> int:
        """Find the longest slice from a start that fits; see `SliceCounter.split_at`."""
        start, n = self._checked_start(start, n)
        place = start if self._places is None else self._places.start_of(start)
        if place == len(self._changed) or self._first_words is None:
            return self._back(self._inner.split_at(place, n))
        edge, tokens = self._first_words.count(place, len(self._changed))
        if 0 <= tokens <= n:
            # A character's stand-ins have a token each, so before one that does not fit, all do.
            return self._back(self._inner.split_at(edge, n - tokens))
        return self._split_in_word(place, n)

    def _split_in_word(self, place: int, n: int) -> int:
        """Find the longest slice from a place on, whose first word is long or does not fit."""
        edge = self._edge_after(place)
        most = self._encoding._max_normalized_bytes_of(n)
        end = edge if most is None else min(edge, place + most + 1)
        head = self._changed[place:end]
        written = self._with_prefix(head)
        tokens = self._encoding._count_normalized_till_limit(written, n)
        if tokens is not None and end == edge:
            return self._back(self._inner.split_at(edge, n - tokens))
        found = cutting.split_at(self._encoding, written, n, 0)
        return self._back(place + max(0, found - len(written) + len(head)))

    def _back(self, place: int) -> int:
        """Return the offset in the text of the last character that begins at or before a place."""
        return place if self._places is None else self._places.character_at(place)


def _spelled(text: str, steps: Iterable[Step]) -> tuple[str, SpelledPlaces | None]:
    """Change a text; and return where each character begins then, or None: at the same place."""
    places = None
    for step in steps:
        if isinstance(step, Spell):
            text, places = step.spelled(text)
        elif isinstance(step, Replace):
            text = step.apply(text)
    return text, places if places is not None and places.count else None
