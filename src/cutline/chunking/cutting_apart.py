"""Cutting stretches of a text apart: the chunks above, or what lies between barriers.

No chunk crosses the end of a stretch, and no overlap its start; offsets and indexes are those of
the whole text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.chunking.rules import Rules
from cutline.chunking.stretch import Stretch
from cutline.chunks import Chunk

__all__ = ["FinderOf", "cut_each"]


FinderOf = Callable[[Stretch], tuple[ChunkFinder, int]]
"""From a stretch to what cuts it, and the offset of the text which that has."""


def cut_each(
    stretches: Iterable[Stretch], finder_of: FinderOf, rules: Rules
) -> Iterator[list[Chunk]]:
    """Yield the chunks of each stretch; a stretch may have none."""
    index = 0
    for stretch in stretches:
        finder, base = finder_of(stretch)
        stream = ChunkStream(rules, stretch.start, index)
        chunks = list(stream.chunks(finder, base, stretch.end, final=True))
        index += len(chunks)
        yield chunks
