"""`ChunkRun`: chunks that follow one another in a text, as numbers, made when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import sub
from typing import TYPE_CHECKING

from cutline.chunks import Chunk
from cutline.kernels.base.chunks import chunk_numbers, chunk_texts, make_chunks, make_outlined
from cutline.template import SENT_TOKENS

if TYPE_CHECKING:
    from cutline.chunking.outline import Outline

__all__ = ["ChunkRun", "each_chunk"]


class ChunkRun:
    """Chunks of a text, each of which begins where the one before ends, or shares text with it.

    Args:
        text: the text, or a window of it.
        rows: four numbers of each chunk: start and end in `text`, tokens, and the place of its
            boundary's name.
        names: of boundaries.
        offset: where `text` lies in the whole text.
        index: of the first chunk.
        sent: the tokens that are sent for each, where that is more than its own.
        outline: the text's structure, which gives chunks headings and metadata; None: there is
            none, and what follows tells all.
        floor: where the first chunk adds text.
    """

    __slots__ = ("_floor", "_index", "_names", "_offset", "_rows", "_text", "outline", "sent")

    def __init__(
        self,
        text: str,
        rows: memoryview,
        names: tuple[str, ...],
        offset: int,
        index: int,
        sent: Sequence[int] | None = None,
        outline: Outline | None = None,
        floor: int = 0,
    ) -> None:
        self._text = text
        self._rows = rows
        self._names = names
        self._offset = offset
        self._index = index
        self._floor = floor
        self.sent = sent
        self.outline = outline

    def __len__(self) -> int:
        return len(self._rows) // 4

    def __iter__(self) -> Iterator[Chunk]:
        outline = self.outline
        if outline is not None:
            return iter(
                make_outlined(
                    Chunk, self._text, self._rows, self._names, self._offset, self._index,
                    self._floor, outline.headings_at, outline.metadata,
                )
            )  # fmt: skip
        chunks = make_chunks(
            Chunk, self._text, self._rows, self._names, offset=self._offset, index=self._index
        )
        if self.sent is not None:
            for chunk, tokens in zip(chunks, self.sent, strict=True):
                chunk.metadata[SENT_TOKENS] = tokens  # type: ignore[index]
        return iter(chunks)

    @property
    def last(self) -> tuple[int, int]:
        """Start and end of the last chunk, in the whole text."""
        return self._rows[-4] + self._offset, self._rows[-3] + self._offset

    @property
    def lengths(self) -> Iterator[int]:
        """The characters of each chunk."""
        return map(sub, self._rows[1::4], self._rows[::4])

    @property
    def numbers(self) -> memoryview:
        """Index, start, end and tokens of each chunk."""
        return chunk_numbers(self._rows, self._offset, self._index)

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """Names of boundaries that chunks can end at."""
        return self._names

    @property
    def boundaries(self) -> memoryview:
        """Of each chunk, which of these names its end has."""
        return self._rows[3::4]

    def cuts(self, first: int) -> Iterator[tuple[int, int, int, str, int]]:
        """Yield start, end, tokens, boundary of each chunk from a place on, and where it adds text.

        Offsets are those of the run's own text.
        """
        fresh = self._floor if not first else self._rows[4 * first - 3]
        for at in range(4 * first, len(self._rows), 4):
            start, end, tokens, name = self._rows[at : at + 4]
            yield start, end, tokens, self._names[name], fresh
            fresh = end

    def utf8(self) -> tuple[bytes, memoryview]:
        """Return the texts as UTF-8, one after another, and where each ends there."""
        return chunk_texts(self._text, self._rows)

    def part(self, first: int, until: int) -> ChunkRun:
        """Return the chunks at these places of the run."""
        sent = None if self.sent is None else self.sent[first:until]
        rows = self._rows[4 * first : 4 * until]
        index, floor = self._index + first, self._floor
        if first:
            floor = self._rows[4 * first - 3]
        return ChunkRun(
            self._text, rows, self._names, self._offset, index, sent, self.outline, floor
        )


def each_chunk(found: Iterable[Chunk | ChunkRun]) -> Iterator[Chunk]:
    """Return an iterator over the chunks, one by one."""
    return chain.from_iterable(item if isinstance(item, ChunkRun) else (item,) for item in found)
