"""Cuts in code points: checks the arguments and calls the kernel, which works in bytes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from operator import index
from typing import TYPE_CHECKING, TypeAlias

from cutline.checks import checked_budget, need_automaton, plain_text, utf8_of
from cutline.chunks import Chunk, checked_sizes, too_large
from cutline.counting.windows import longest_fit
from cutline.errors import OffsetError
from cutline.kernels.base.chunks import make_chunks
from cutline.kernels.cut.windows import Cutter, chunk_text, count_code_points
from cutline.protocols import SliceCounter
from cutline.text_encoder import TextEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cutline.counting.limits import Limit

__all__ = ["BOUNDARIES", "counts_to", "split", "split_at", "split_by_counting"]

CountTails: TypeAlias = "Callable[[int, int], NDArray[np.int64]]"
"""From the ends of a slice to the counts of `text[at:end]` for each character after its start, the
last one first."""

CountsTo: TypeAlias = Callable[[int, Iterable[int]], Iterator[int]]
"""From the end of slices and where they begin, which falls, to their counts."""

CutSlices: TypeAlias = Callable[[int, int, int, int], memoryview]
"""From start and end of the slice before, size and overlap to the next rows."""

BOUNDARIES = ("character", "end")
_UTF8_BYTES = 4  # of a character at most


def split_at(encoding: TextEncoder, text: str, n: int, start: int) -> int:
    """Find the longest fitting prefix; see `Encoding.split_at`."""
    text, n, start = plain_text(text), checked_budget(n, "n"), index(start)
    if not 0 <= start <= len(text):
        raise OffsetError(f"start must be from 0 to {len(text)}, the text's length, got {start}")
    need_automaton(encoding)
    return longest_fit(encoding, text, start, len(text), n)


def split(encoding: TextEncoder, text: str, chunk_size: int, chunk_overlap: int) -> list[Chunk]:
    """Cut a text into chunks; see `Encoding.split`."""
    text = plain_text(text)
    chunk_size, chunk_overlap = checked_sizes(chunk_size, chunk_overlap)
    most = _UTF8_BYTES * len(text) + 1  # more tokens than it has; and a size may be a huge int
    most_tokens, most_shared = min(chunk_size, most), min(chunk_overlap, most)
    if encoding._has_automaton:
        made = chunk_text(Chunk, text, encoding, most_tokens, most_shared, BOUNDARIES)
        if made is not None:
            return made
    owner = utf8_of(text)
    need_automaton(encoding)
    cutter = Cutter(encoding, owner)
    rows = cutter.cut_all(most_tokens, most_shared)
    cutter.close()
    if not isinstance(owner, str):
        count_code_points(owner, rows, shares=bool(chunk_overlap))
    reached = rows[-3] if len(rows) else 0
    chunks = make_chunks(Chunk, text, rows, BOUNDARIES, offset=0, index=0)
    if reached < len(text):
        tokens = encoding._count_normalized(text[reached])
        raise too_large(
            text[reached], reached, tokens, chunk_size, encoding._most_tokens_of_a_character()
        )
    return chunks


def split_by_counting(
    count_slices: Callable[[str], SliceCounter],
    text: str,
    chunk_size: int,
    chunk_overlap: int,
    least: Callable[[], int | None] | None,
    limits: Sequence[Limit] = (),
) -> list[Chunk]:
    """Cut a text like `split`, by counting slices: for token counters without a kernel.

    Args:
        count_slices: returns the counter of the text's slices; not called if sizes are wrong.
        text: a plain str.
        chunk_size: as for `split`.
        chunk_overlap: as for `split`.
        least: returns the smallest size that fits any character, for an error; None if unknown.
        limits: each chunk fits them, too; the overlap is counted in the tokens of the first.

    Cost: a `split_at` and a count per chunk; with overlap, a count per character of it, unless an
        `IntervalCounter` counts all of these at once, or the text grows at its beginning.
    """
    chunk_size, chunk_overlap = checked_sizes(chunk_size, chunk_overlap)
    own = counter = count_slices(text)
    if limits:
        from cutline.counting.together import together

        counter = together(own, text, limits)
    # A kernel finds many at a time, up to one that takes a longer search.
    cut_slices: CutSlices | None = None if limits else getattr(own, "cut_slices", None)
    start, end, places = 0, 0, array("q")
    while (floor := end) < len(text):
        if cut_slices and (rows := cut_slices(start, floor, chunk_size, chunk_overlap)):
            places.frombytes(rows.tobytes())
            start, end = rows[-4], rows[-3]
            continue
        start = _farthest_overlap(own, start, floor, chunk_overlap)
        end = counter.split_at(start, chunk_size)
        # Take the earliest start whose chunk adds new text.
        while end <= floor and start < floor:
            start += 1
            end = counter.split_at(start, chunk_size)
        if end <= floor:
            tokens = own.count(floor, floor + 1)
            if tokens <= chunk_size:
                from cutline.counting.limits import over_limit

                raise over_limit(text[floor], floor, limits)
            raise too_large(text[floor], floor, tokens, chunk_size, least and least())
        places.extend((start, end, counter.count(start, end), end == len(text)))
    return make_chunks(Chunk, text, memoryview(places), BOUNDARIES, offset=0, index=0)


def _farthest_overlap(counter: SliceCounter, start: int, end: int, overlap: int) -> int:
    """Step back from a chunk's end while the shared text has at most `overlap` tokens."""
    if not overlap or end == start:
        return end
    count_tails: CountTails | None = getattr(counter, "_count_tails", None)
    if count_tails is not None:
        # Estimate from the chunk's characters per token, plus a quarter.
        width = 5 * overlap * (end - start) // (4 * max(counter.count(start, end), 1)) + 8
        return _farthest_by_tails(count_tails, start, end, overlap, width)
    counts = counts_to(counter, end, range(end - 1, start, -1))
    return end - sum(1 for _ in takewhile(lambda tokens: tokens <= overlap, counts))


def counts_to(counter: SliceCounter, end: int, places: Iterable[int]) -> Iterator[int]:
    """Count the slices from each place to an end, lazily; the places fall."""
    count_all: CountsTo | None = getattr(counter, "_counts_to", None)
    if count_all is not None:
        return count_all(end, places)
    return (counter.count(place, end) for place in places)


def _farthest_by_tails(
    count_tails: CountTails, start: int, end: int, overlap: int, width: int
) -> int:
    """Step back with the counts of many slices at a time, in windows that grow."""
    while True:
        begin = max(start, end - width)
        over = count_tails(begin, end) > overlap  # of the slices from end - 1, ... on
        if over.any():
            return end - int(over.argmax())
        if begin == start:
            return end - len(over)
        width *= 4
