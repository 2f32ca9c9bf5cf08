"""How well chunks match reference excerpts: recall, precision and IoU, in tokens.

The definitions are those of Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval"
(Chroma, 2024): docs/choosing-a-chunker.md, "What is measured". A span here is a pair of numbers of
tokens, half-open; a set of tokens is a list of spans, sorted, none of them empty or touching.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["Score", "Span", "precision_omega", "score", "size", "union"]

Span: TypeAlias = tuple[int, int]


class Score(NamedTuple):
    """How well the chunks that were retrieved for one question match its references."""

    recall: float
    precision: float
    iou: float
    retrieved_tokens: int


def union(spans: Iterable[Span]) -> list[Span]:
    """Return the tokens that are in any of the spans, as a set.

    >>> union([(5, 7), (0, 2), (1, 3), (4, 4)])
    [(0, 3), (5, 7)]
    """
    found: list[Span] = []
    for start, end in sorted(spans):
        if start == end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def size(spans: Iterable[Span]) -> int:
    """Return the number of tokens; of spans that overlap, as often as they occur.

    >>> size([(0, 3), (2, 4)])
    5
    """
    return sum(end - start for start, end in spans)


def score(retrieved: Sequence[Span], references: Sequence[Span]) -> Score:
    """Score the chunks that were retrieved for a question.

    What several chunks share is found once, but read as often as it occurs: it counts once for
    what was found, and in each chunk for what was retrieved.

    Args:
        retrieved: a span for each chunk; they may overlap, and be equal.
        references: the tokens to be found, as a set that is not empty.

    >>> score([(0, 4), (3, 6)], [(2, 5)])
    Score(recall=1.0, precision=0.42857142857142855, iou=0.42857142857142855, retrieved_tokens=7)
    """
    found = _shared(union(retrieved), references)
    sought, read = size(references), size(retrieved)
    return Score(
        found / sought, found / read if read else 0.0, found / (read + sought - found), read
    )


def precision_omega(hit: Iterable[Span], references: Sequence[Span]) -> float:
    """Return the precision if all chunks that have a token of the references are retrieved.

    Reference tokens that are in no chunk count as retrieved in vain.

    Args:
        hit: the spans of these chunks. What they share is counted once.
        references: the tokens to be found, as a set that is not empty.

    >>> precision_omega([(0, 4), (4, 8)], [(2, 5)])
    0.375
    """
    chunks = union(hit)
    found = _shared(chunks, references)
    return found / (size(chunks) + size(references) - found)


def _shared(one: Sequence[Span], other: Sequence[Span]) -> int:
    """Return how many tokens two sets share."""
    found = place = 0
    for start, end in one:
        while place < len(other) and other[place][1] <= start:
            place += 1
        at = place
        while at < len(other) and other[at][0] < end:
            found += min(end, other[at][1]) - max(start, other[at][0])
            at += 1
    return found
