"""The status line on the terminal that shows the progress of training."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

import click

from cutline.cli.streams import is_terminal

if TYPE_CHECKING:
    from cutline.training import Progress

__all__ = ["StatusLine", "shown_token", "status_line"]

_ERASE_LINE = "\r\x1b[K"
_SHORTEST_SECONDS = 0.1
_SHOWN_CHARACTERS = 16


class StatusLine:
    """A line on stderr that is overwritten repeatedly, for one stage of training.

    Args:
        is_shown: whether to write at all.
        size_bytes: the size of the input; 0 if unknown.
        bytes_read: returns the bytes of it that were read so far.

    Attributes:
        pieces_before: the pieces counted before those of a `Progress`.
    """

    def __init__(self, is_shown: bool, size_bytes: int, bytes_read: Callable[[], int]) -> None:
        self._is_shown = is_shown
        self._size_bytes = size_bytes
        self._bytes_read = bytes_read
        self._started, self._written = time.monotonic(), 0.0
        self.pieces_before = 0

    def __call__(self, progress: "Progress") -> None:
        """Show the progress of training, unless it was shown just before."""
        now = time.monotonic()
        if self._is_shown and now - self._written >= _SHORTEST_SECONDS:
            self._written = now
            seconds = max(now - self._started, 1e-9)  # not all clocks tell such short times
            counts = progress.stage == "count"
            line = self._counting(progress, seconds) if counts else _merging(progress, seconds)
            click.echo(_ERASE_LINE + _cut(line), nl=False, err=True)

    def _counting(self, progress: "Progress", seconds: float) -> str:
        read = f"{self._bytes_read() / 1e6:,.1f}"
        if self._size_bytes:
            read += f" of {self._size_bytes / 1e6:,.1f}"
        speed = f"{self._bytes_read() / 1e6 / seconds:,.0f} MB/s"
        pieces = (self.pieces_before + progress.pieces) / seconds
        return f"counting  {read} MB  {speed}  {pieces:,.0f} pieces/s"

    def erase(self) -> None:
        """Erase the line."""
        if self._written:
            click.echo(_ERASE_LINE, nl=False, err=True)


@contextmanager
def status_line(
    is_quiet: bool, size_bytes: int = 0, bytes_read: Callable[[], int] = int
) -> Iterator[StatusLine]:
    """Show a `StatusLine` if stderr is a terminal, and erase it at the end."""
    status = StatusLine(not is_quiet and is_terminal(sys.stderr), size_bytes, bytes_read)
    try:
        yield status
    finally:
        status.erase()


def _merging(progress: "Progress", seconds: float) -> str:
    done = f"{progress.merges:,} of {progress.most_merges:,} merges"
    newest = "  ".join(map(shown_token, progress.newest))
    return f"merging  {done}  {progress.merges / seconds:,.0f} merges/s  {newest}"


def shown_token(token: bytes) -> str:
    r"""Show a token as text, in quotes; long tokens shortened.

    >>> shown_token(b" the"), shown_token(b"\xff"), shown_token(b"=" * 99)
    ("' the'", "'\ufffd'", "'================'... (99 bytes)")
    """
    text = token.decode(errors="replace")
    if len(text) <= _SHOWN_CHARACTERS:
        return repr(text)
    return f"{text[:_SHOWN_CHARACTERS]!r}... ({len(token)} bytes)"


def _cut(line: str) -> str:
    """Shorten a line so that the terminal does not wrap it."""
    room = shutil.get_terminal_size().columns - 1
    for place, character in enumerate(line):
        room -= 2 if east_asian_width(character) in "FW" else 1
        if room < 0:
            return line[:place]
    return line
