"""The lines that chunks are on, for those who cite them: "server.py:120-160"."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable

from cutline.chunking.structure import LINE_END
from cutline.chunks import Chunk

__all__ = ["LineNumbers", "with_lines"]


class LineNumbers:
    r"""Finds the lines of a text's chunks; the text may come in parts.

    Lines end with \n, \r\n or \r. Memory: 8 bytes for each line; in a stream, for each line from
    the start of the last chunk on.
    """

    def __init__(self) -> None:
        self._ends = array("q")  # where lines end, after their line ends
        self._dropped = 0  # how many are left out at the beginning
        self._read = 0  # how much of the text was read
        self._held = ""  # a "\r" at its end, which "\n" may follow

    def feed(self, part: str) -> None:
        """Read the next part of the text."""
        part = self._held + part
        self._held = "\r" if part.endswith("\r") else ""
        until = len(part) - len(self._held)
        self._ends.extend(
            self._read + found.end() for found in LINE_END.finditer(part) if found.start() < until
        )
        self._read += until

    def number(self, chunk: Chunk) -> Chunk:
        """Return a chunk with its first and its last line, from 1, in the metadata.

        Args:
            chunk: no chunk begins before the one that was numbered before it. The text up to its
                end was read.
        """
        first = bisect_right(self._ends, chunk.start_index)
        last = bisect_right(self._ends, chunk.end_index - 1)  # its line end is part of a line
        lines = {"start_line": self._dropped + first + 1, "end_line": self._dropped + last + 1}
        if first > len(self._ends) // 2:
            del self._ends[:first]
            self._dropped += first
        return chunk.__replace__(metadata={**chunk.metadata, **lines})


def with_lines(text: str, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks of a text, in its order, with the lines that they are on."""
    lines = LineNumbers()
    lines.feed(text)
    return [lines.number(chunk) for chunk in chunks]
