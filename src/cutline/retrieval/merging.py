"""Merging hits: what retrieval found, as passages without repetition within a budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from cutline.checks import checked_budget, checked_order, need_several
from cutline.chunks import Chunk
from cutline.errors import OffsetError
from cutline.protocols import SliceCounter, TokenCounter
from cutline.registry import token_counter_of

__all__ = ["merge_hits"]


def merge_hits(
    hits: Iterable[Chunk],
    encoding: TokenCounter | str,
    *,
    max_tokens: int | None = None,
    parents: Iterable[Chunk] = (),
    min_share: float = 0.5,
) -> list[Chunk]:
    """Join the hits of one text that overlap or lie side by side.

    Within a budget, hits are taken in order, and one with which the passages would have too many
    tokens is left out. Then each of `parents` of which the passages hold at least `min_share`
    replaces them there, the shortest first, if it fits.

    Args:
        hits: chunks of one text, the best first; they may overlap or repeat.
        encoding: counts the passages.
        max_tokens: the maximum number of tokens of all passages together; None: no limit.
        parents: larger chunks of the same text, of one or several levels.
        min_share: the share of a parent's characters, more than 0, at most 1.

    Returns:
        The passages in the order of the text, numbered from 0. No two touch, and none
        repeats a character. Counts are those of the joined texts; headings those of its first part.

    Raises:
        TypeError: a hit or a parent is no chunk.
        OffsetError: (a ValueError) its offsets are not those of its text.
        ValueError: hits or parents disagree about a character, so they are of several texts; or a
            number is out of range.
        SurrogateError: (a ValueError) a text has surrogate code points.

    Cost: linear in the texts of hits and parents, and n log n in their number.
    Source: docs/small-to-big.md, "Hits become passages".

    >>> import cutline
    >>> one, two, three, four = cutline.TokenChunker("o200k_base", 2)("a b c d e f g h")
    >>> [(hit.start_index, hit.text) for hit in merge_hits([four, two, one], "o200k_base")]
    [(0, 'a b c d'), (11, ' g h')]
    """
    checked_order(min_share, "min_share")
    if not 0 < min_share <= 1:
        raise ValueError(f"min_share must be more than 0 and at most 1, got {min_share}")
    budget = None if max_tokens is None else checked_budget(max_tokens)
    found, around = _checked(hits, "hits"), _checked(parents, "parents")
    around.sort(key=lambda one: (_length(one), one.start_index))
    passages = _Passages(_runs([*found, *around], token_counter_of(encoding)), budget)
    for hit in found:
        passages.add(hit)
    for parent in around:
        if passages.covered(parent) >= max(1, min_share * _length(parent)):
            passages.add(parent)
    return passages.chunks()


def _checked(chunks: Iterable[Chunk], name: str) -> list[Chunk]:
    """Return chunks as a list.

    Raises:
        TypeError: one is none.
        OffsetError: the offsets of one are not those of a text of its length.
    """
    need_several(chunks, name)
    checked = list(chunks)
    for place, chunk in enumerate(checked):
        if not isinstance(chunk, Chunk):
            hint = ": pass its chunk" if hasattr(chunk, "chunk") else ""
            got = type(chunk).__name__
            raise TypeError(f"{name}[{place}] must be a cutline.Chunk, got {got}{hint}")
        if chunk.start_index < 0 or _length(chunk) != len(chunk.text):
            raise OffsetError(
                f"{name}[{place}] has the offsets {_span(chunk)}, which are not those of a text of "
                f"{len(chunk.text)} characters: {chunk.text[:40]!r}"
            )
    return checked


def _length(chunk: Chunk) -> int:
    return chunk.end_index - chunk.start_index


class _Run:
    """A part of the text that chunks cover without a gap.

    Attributes:
        start: where it begins in the text.
        text: its text.
    """

    def __init__(self, start: int, text: str, encoding: TokenCounter) -> None:
        self.start = start
        self.text = text
        self._encoding = encoding

    @cached_property
    def _counter(self) -> SliceCounter:
        return self._encoding.intervals(self.text)

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice, given by its place in the whole text."""
        return self._counter.count(start - self.start, end - self.start)

    def slice(self, start: int, end: int) -> str:
        """Return a slice, given by its place in the whole text."""
        return self.text[start - self.start : end - self.start]


def _runs(chunks: Iterable[Chunk], encoding: TokenCounter) -> list[_Run]:
    """Join all chunks of a text where they touch, so that any passage is a slice of a run.

    Raises:
        ValueError: two have different characters at one place.
    """
    ordered = sorted(chunks, key=attrgetter("start_index", "end_index"))
    runs: list[_Run] = []
    texts: list[str] = []
    start = end = -1
    for chunk in ordered:
        if chunk.start_index > end:
            runs.append(_Run(start, "".join(texts), encoding))
            start, end, texts = chunk.start_index, chunk.start_index, []
        texts.append(chunk.text[end - chunk.start_index :])
        end = max(end, chunk.end_index)
    runs.append(_Run(start, "".join(texts), encoding))
    for chunk in ordered:
        if _run_at(runs, chunk.start_index).slice(*_span(chunk)) != chunk.text:
            raise ValueError(
                f"the chunk at {_span(chunk)}, {chunk.text[:40]!r}, has another text than others "
                "have there: merge the hits of each text apart"
            )
    return runs


def _span(chunk: Chunk) -> tuple[int, int]:
    return chunk.start_index, chunk.end_index


def _run_at(runs: list[_Run], place: int) -> _Run:
    return runs[bisect_right(runs, place, key=attrgetter("start")) - 1]


class _Passage(NamedTuple):
    start: int
    end: int
    tokens: int
    headings: tuple[str, ...]


class _Passages:
    """Passages in the order of a text, of which no two touch, within a budget."""

    def __init__(self, runs: list[_Run], max_tokens: int | None) -> None:
        self._runs = runs
        self._max_tokens = max_tokens
        self._tokens = 0
        self._found: list[_Passage] = []

    def add(self, chunk: Chunk) -> None:
        """Join a chunk with the passages that it touches, if the result fits."""
        start, end, headings = *_span(chunk), chunk.headings
        first = bisect_left(self._found, start, key=attrgetter("end"))
        last = bisect_right(self._found, end, key=attrgetter("start"))
        touched = self._found[first:last]
        if touched:
            end = max(end, touched[-1].end)
            if touched[0].start <= start:
                start, headings = touched[0].start, touched[0].headings
        elif start == end:
            return
        tokens = _run_at(self._runs, start).count(start, end)
        total = self._tokens + tokens - sum(one.tokens for one in touched)
        if self._max_tokens is None or total <= self._max_tokens:
            self._found[first:last] = [_Passage(start, end, tokens, headings)]
            self._tokens = total

    def covered(self, chunk: Chunk) -> int:
        """Return how many of a chunk's characters the passages have."""
        start, end = _span(chunk)
        first = bisect_right(self._found, start, key=attrgetter("end"))
        last = bisect_left(self._found, end, key=attrgetter("start"))
        inside = self._found[first:last]
        return sum(min(end, one.end) - max(start, one.start) for one in inside)

    def chunks(self) -> list[Chunk]:
        """Return the passages as chunks."""
        made = []
        for index, (start, end, tokens, headings) in enumerate(self._found):
            text = _run_at(self._runs, start).slice(start, end)
            made.append(Chunk(text, start, end, tokens, index, headings))
        return made
