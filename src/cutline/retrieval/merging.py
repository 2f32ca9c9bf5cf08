"""Merging hits: what retrieval found, as passages without repetition within a budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter

from cutline.checks import checked_budget
from cutline.chunks import Chunk
from cutline.protocols import TokenCounter
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
        The passages in the order of the text, numbered from 0. No two touch: none repeats a
        character. Counts are those of the joined texts; headings those of its first part.

    Raises:
        ValueError: hits disagree about a character, so they are of several texts; or a
            number is out of range.

    Cost: each hit and parent costs the length of the passage that it becomes a part of.
    Source: docs/small-to-big.md.

    >>> import cutline
    >>> one, two, three, four = cutline.TokenChunker("o200k_base", 2)("a b c d e f g h")
    >>> [(hit.start_index, hit.text) for hit in merge_hits([four, two, one], "o200k_base")]
    [(0, 'a b c d'), (11, ' g h')]
    """
    if not 0 < min_share <= 1:
        raise ValueError(f"min_share must be more than 0 and at most 1, got {min_share}")
    passages = _Passages(
        token_counter_of(encoding), None if max_tokens is None else checked_budget(max_tokens)
    )
    for hit in hits:
        passages.add(hit)
    for parent in sorted(parents, key=lambda one: (_length(one), one.start_index)):
        if passages.covered(parent) >= max(1, min_share * _length(parent)):
            passages.add(parent)
    return [passage.__replace__(index=place) for place, passage in enumerate(passages.found)]


def _length(chunk: Chunk) -> int:
    return chunk.end_index - chunk.start_index


class _Passages:
    """Passages in the order of a text, of which no two touch, within a budget.

    Attributes:
        found: the passages.
    """

    def __init__(self, encoding: TokenCounter, max_tokens: int | None) -> None:
        self._encoding = encoding
        self._max_tokens = max_tokens
        self._tokens = 0
        self.found: list[Chunk] = []

    def add(self, chunk: Chunk) -> None:
        """Join a chunk with the passages that it touches, if the result fits."""
        first = bisect_left(self.found, chunk.start_index, key=attrgetter("end_index"))
        last = bisect_right(self.found, chunk.end_index, key=attrgetter("start_index"))
        if first >= last and not chunk.text:
            return
        joined = chunk
        for passage in self.found[first:last]:
            joined = _joined(passage, joined)
        tokens = self._encoding.count(joined.text)
        total = self._tokens + tokens - sum(one.token_count for one in self.found[first:last])
        if self._max_tokens is None or total <= self._max_tokens:
            passage = Chunk(
                joined.text, joined.start_index, joined.end_index, tokens, 0, joined.headings
            )
            self.found[first:last] = [passage]
            self._tokens = total

    def covered(self, chunk: Chunk) -> int:
        """Return how many of a chunk's characters the passages have."""
        start, end = chunk.start_index, chunk.end_index
        first = bisect_right(self.found, start, key=attrgetter("end_index"))
        last = bisect_left(self.found, end, key=attrgetter("start_index"))
        return sum(
            min(end, one.end_index) - max(start, one.start_index) for one in self.found[first:last]
        )


def _joined(one: Chunk, other: Chunk) -> Chunk:
    """Join two chunks that touch.

    Raises:
        ValueError: they disagree where they overlap.
    """
    if one.start_index > other.start_index:
        one, other = other, one
    start, shared = one.start_index, one.end_index - other.start_index
    begin = other.start_index - start
    if one.text[begin : begin + len(other.text)] != other.text[: max(shared, 0)]:
        raise ValueError(
            f"the chunks at ({start}, {one.end_index}) and ({other.start_index}, "
            f"{other.end_index}) have different texts where they overlap: merge the hits of each "
            "text apart"
        )
    if other.end_index <= one.end_index:
        return one
    text = one.text + other.text[shared:]
    return Chunk(text, start, other.end_index, 0, 0, one.headings)
