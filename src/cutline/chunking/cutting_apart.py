"""Cutting stretches of a text apart: the chunks above, or what lies between barriers.

No chunk crosses the end of a stretch, and no overlap its start; offsets and indexes are those of
the whole text.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.chunking.rules import Rules
from cutline.chunking.stretch import END, Stretch
from cutline.chunks import Chunk
from cutline.threads import BLOCK_CHARACTERS

if TYPE_CHECKING:
    from cutline.chunking.text_blocks import CutStretches

__all__ = ["FinderOf", "cut_at_places", "cut_each"]

_MAX_FAILED: Final = 64  # stretches that are looked at twice

FinderOf = Callable[[Stretch], tuple[ChunkFinder, int]]
"""From a stretch to what cuts it, and the offset of the text which that has."""


def cut_each(
    stretches: Iterable[Stretch], finder_of: FinderOf, rules: Rules
) -> Iterator[list[Chunk]]:
    """Yield the chunks of each stretch; a stretch may have none."""
    index = 0
    for stretch in stretches:
        chunks = _cut_one(stretch, finder_of, rules, index)
        index += len(chunks)
        yield chunks


def cut_at_places(
    text: str,
    places: Sequence[int],
    end_name: str,
    finder_of: FinderOf,
    rules: Rules,
    cut: CutStretches | None,
) -> Iterator[list[Chunk]]:
    """Yield the chunks of all stretches, those of many at once.

    Args:
        text: the text.
        places: its ends, and where it is cut apart, ascending.
        end_name: the name of the boundary at the end of all stretches but the last.
        finder_of: cuts what `cut` does not.
        rules: the chunker's options.
        cut: cuts many stretches; None: nothing does. It is left off once it was in vain often.
    """
    numbers, last = memoryview(array("q", places)), len(places) - 2
    index = first = n_failed = 0
    while first <= last:
        if cut is not None and first < last and n_failed < _MAX_FAILED:
            # Some at a time, for Ctrl-C waits until their chunks are made.
            end = bisect_right(places, places[first] + BLOCK_CHARACTERS, first + 2, last + 1)
            chunks, n_cut = cut(text, numbers[first:end], index, end_name)
            index, first = index + len(chunks), first + n_cut
            yield chunks
            if first == end - 1:
                continue
            n_failed += 1
        name = end_name if first < last else END
        stretch = Stretch(places[first], places[first + 1], name)
        chunks = _cut_one(stretch, finder_of, rules, index)
        index, first = index + len(chunks), first + 1
        yield chunks


def _cut_one(stretch: Stretch, finder_of: FinderOf, rules: Rules, index: int) -> list[Chunk]:
    """Cut one stretch, whose first chunk has this index."""
    finder, base = finder_of(stretch)
    stream = ChunkStream(rules, stretch.start, index)
    return list(stream.chunks(finder, base, stretch.end, final=True))
