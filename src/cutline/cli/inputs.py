"""What is read: files and standard input, one after the other.

A file that fails is reported and the next one is processed; the run then ends
with exit code 1.
"""

import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from cutline.cli.failure import Failure, message_of
from cutline.cli.streams import binary_stream
from cutline.errors import CutlineError

STDIN = "-"
PROGRESS_MIN_BYTES = 8_000_000
_ERASE_LINE = "\r\x1b[K"

T = TypeVar("T")


class InputError(CutlineError, ValueError):
    """An input whose content is not what the command reads."""


class Inputs:
    """The inputs of one run, and how many of them failed."""

    def __init__(self, paths: Sequence[str], *, may_show_progress: bool) -> None:
        self._paths = paths or (STDIN,)
        self._sizes_bytes = [_size_bytes(path) for path in self._paths]
        self._shows_progress = may_show_progress and sum(self._sizes_bytes) > PROGRESS_MIN_BYTES
        self._failed_count = 0

    def results(self, work: Callable[[bytes], T]) -> Iterator[tuple[str, T]]:
        """Yield the name and `work(content)` of every input that does not fail.

        Raises:
            click.exceptions.Exit: code 1, at the end, when every input failed.
        """
        with self._progress() as advance:
            for path, size_bytes in zip(self._paths, self._sizes_bytes, strict=True):
                name = click.format_filename(path)
                try:
                    result = work(_read(path))
                except (OSError, CutlineError) as error:
                    self._report(name, error)
                else:
                    yield name, result
                advance(size_bytes)
        if self._failed_count == len(self._paths):
            self.end()

    def end(self) -> None:
        """End the run.

        Raises:
            click.exceptions.Exit: code 1, when an input failed.
        """
        if self._failed_count:
            raise click.exceptions.Exit(1)

    def _report(self, name: str, error: Exception) -> None:
        self._failed_count += 1
        if self._shows_progress:
            click.echo(_ERASE_LINE, nl=False, err=True)
        Failure(f"{name}: {message_of(error)}").show()

    @contextmanager
    def _progress(self) -> Iterator[Callable[[int], None]]:
        if not self._shows_progress:
            yield lambda size_bytes: None
            return
        with click.progressbar(length=sum(self._sizes_bytes), file=sys.stderr) as bar:
            yield bar.update


def decode_utf8(content: bytes, errors: str) -> str:
    r"""Decode a file's content; line ends and a byte order mark stay as they are.

    Raises:
        InputError: `errors` is "strict" and the content is not UTF-8.

    >>> decode_utf8(b"a\r\n\xff", "replace")
    'a\r\n\ufffd'
    """
    try:
        return content.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise InputError(
            f"invalid utf-8 at byte offset {error.start} (byte {content[error.start]:#04x}: "
            f"{error.reason}); convert the file to utf-8, or pass --errors replace "
            f"to read such bytes as U+FFFD"
        ) from error


def _read(path: str) -> bytes:
    if path == STDIN:
        return binary_stream("stdin").read()
    return Path(path).read_bytes()


def _size_bytes(path: str) -> int:
    """Size of a regular file; 0 for what cannot be known before it is read."""
    try:
        status = Path(path).stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
