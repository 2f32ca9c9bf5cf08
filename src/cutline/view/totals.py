"""Totals over all chunks: sizes, overlap, and lost text."""

from collections.abc import Sequence
from dataclasses import dataclass

from cutline.chunks import Chunk
from cutline.verification.locating import uncovered

__all__ = ["Totals", "lost_spans", "totals_of"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all chunks of a text.

    Attributes:
        chunk_count: the number of chunks.
        character_count: code points of the text.
        token_count: tokens of all chunks; overlaps are counted in each.
        smallest: tokens of the smallest chunk; 0 without chunks.
        largest: tokens of the largest chunk; 0 without chunks.
        mean_fill: mean share of the budget that is used; None without a budget.
        overlap_characters: code points that chunks repeat from earlier ones.
        lost_characters: code points that are in no chunk.
    """

    chunk_count: int
    character_count: int
    token_count: int
    smallest: int
    largest: int
    mean_fill: float | None
    overlap_characters: int
    lost_characters: int


def lost_spans(text: str, chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    """Find the parts of a text that are in no chunk.

    Returns:
        Half-open spans of code points, in order, none of them empty.

    >>> lost_spans("ab cd", [Chunk("ab", 0, 2, 1, 0), Chunk("cd", 3, 5, 1, 1)])
    [(2, 3)]
    """
    spans = ((chunk.start_index, chunk.end_index, chunk.index) for chunk in chunks)
    return [(start, end) for start, end, _ in uncovered(spans, len(text))]


def totals_of(
    text: str, chunks: Sequence[Chunk], chunk_size: int | None, sent: Sequence[int] = ()
) -> Totals:
    """Compute the totals of a text's chunks.

    Args:
        text: the text.
        chunks: its chunks.
        chunk_size: the budget in tokens, if there is one.
        sent: for each chunk the tokens that count against the budget; none: its own.

    >>> totals = totals_of("abc", [Chunk("ab", 0, 2, 1, 0), Chunk("bc", 1, 3, 2, 1)], 2)
    >>> totals.token_count, totals.mean_fill, totals.overlap_characters, totals.lost_characters
    (3, 0.75, 1, 0)
    """
    sizes = [chunk.token_count for chunk in chunks]
    has_fill = chunk_size is not None and sizes
    lost = sum(end - start for start, end in lost_spans(text, chunks))
    held = sum(chunk.end_index - chunk.start_index for chunk in chunks)
    return Totals(
        chunk_count=len(chunks),
        character_count=len(text),
        token_count=sum(sizes),
        smallest=min(sizes, default=0),
        largest=max(sizes, default=0),
        mean_fill=sum(sent or sizes) / len(sizes) / chunk_size if chunk_size and has_fill else None,
        overlap_characters=held - (len(text) - lost),
        lost_characters=lost,
    )
