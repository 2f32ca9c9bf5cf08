"""Reading the inputs: files and standard input, one by one.

A file that fails is reported and the next one is processed; the run then ends
with exit code 1. Binary files in folders and of patterns are skipped, with a
note.
"""

import glob
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from cutline.cli.failure import Failure, message_of
from cutline.cli.parallel import in_order
from cutline.cli.streams import binary_stream
from cutline.errors import CutlineError
from cutline.kernels.base.utf8 import valid_bytes

STDIN = "-"
PROGRESS_MIN_BYTES = 8_000_000
LARGE_BYTES = 1 << 24
_ERASE_LINE = "\r\x1b[K"
_READ_BYTES = 1 << 20
_CHARACTER_BYTES = 4  # the longest
_HEAD_BYTES = 8192
_NAMED_AT_MOST = 3
_NO_PART_OF_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

T = TypeVar("T")


class InputError(CutlineError, ValueError):
    """An input with content that the command does not support."""


class _BinaryFile(Exception):  # noqa: N818 (no error)
    """A file that was found, and is no text."""


class Inputs:
    """The inputs of one run, with the number of failed ones.

    Args:
        names: files, or "-" for standard input, which is also the default.
        may_show_progress: whether to draw a bar if there is much to read.
        finds_files: whether a name can be a folder, for all files in it, or a pattern.
        output: the output file, which is ignored in folders and by patterns.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        may_show_progress: bool,
        finds_files: bool = False,
        output: str = "",
    ) -> None:
        self._unread: list[tuple[str, OSError]] = []
        self._paths = list(names) or [STDIN]
        self._found: set[str] = set()
        if finds_files:
            self._paths = [path for name in self._paths for path in self._find(name, output)]
            self._found = set(self._paths).difference(names, [STDIN])
        self._sizes_bytes = [_size_bytes(path) for path in self._paths]
        self._shows_progress = may_show_progress and sum(self._sizes_bytes) > PROGRESS_MIN_BYTES
        self._failed_count = 0
        self._skipped: list[str] = []

    def results(
        self,
        work: Callable[[str, bytes], T],
        stream: Callable[[str, Path], T] | None = None,
        n_jobs: int = 1,
    ) -> Iterator[tuple[str, T]]:
        """Yield the name and `work(name, content)` of every input that does not fail.

        Args:
            work: the function to apply; to several files of up to `LARGE_BYTES` at a time.
            stream: the function for files of more than `LARGE_BYTES`, if given.
            n_jobs: the number of threads.

        Raises:
            click.exceptions.Exit: code 1, at the end, when every input failed.
        """
        done_count = 0
        with self._progress() as advance:
            for folder, problem in self._unread:
                self._report(click.format_filename(folder), problem)
            calls = (
                self._call(path, size_bytes, work, stream)
                for path, size_bytes in zip(self._paths, self._sizes_bytes, strict=True)
            )
            is_alone = n_jobs == 1 or len(self._paths) == 1
            results: Iterator[Callable[[], T]] = (
                (call for _, call in calls) if is_alone else in_order(calls, n_jobs, LARGE_BYTES)
            )
            for path, size_bytes, result in zip(
                self._paths, self._sizes_bytes, results, strict=True
            ):
                name = click.format_filename(path)
                try:
                    found = result()
                except _BinaryFile:
                    self._skipped.append(name)
                    continue
                except (OSError, CutlineError) as error:
                    self._report(name, error)
                else:
                    done_count += 1
                    yield name, found
                advance(size_bytes)
        self._note_skipped()
        if not done_count and (self._failed_count or self._skipped):
            raise click.exceptions.Exit(1)

    def _call(
        self,
        path: str,
        size_bytes: int,
        work: Callable[[str, bytes], T],
        stream: Callable[[str, Path], T] | None,
    ) -> tuple[int, Callable[[], T]]:
        """Return the call that processes a file, with its size; 0: it needs its turn."""
        is_large = size_bytes > LARGE_BYTES

        def call() -> T:
            name = click.format_filename(path)
            if path in self._found and _is_binary(path):
                raise _BinaryFile
            if stream is not None and is_large:
                return stream(name, Path(path))
            return work(name, _read(path))

        return 0 if is_large else size_bytes, call

    def end(self) -> None:
        """End the run.

        Raises:
            click.exceptions.Exit: code 1, when an input failed.
        """
        if self._failed_count:
            raise click.exceptions.Exit(1)

    def _note_skipped(self) -> None:
        if self._skipped:
            named = ", ".join(map(shown_name, self._skipped[:_NAMED_AT_MOST]))
            more = ", ..." if len(self._skipped) > _NAMED_AT_MOST else ""
            files = (
                "1 binary file" if len(self._skipped) == 1 else f"{len(self._skipped)} binary files"
            )
            click.echo(f"cutline: skipped {files}: {named}{more}", err=True)

    def _find(self, name: str, output: str) -> Iterator[str]:
        """Yield the files of a name, sorted."""
        if name == STDIN:
            yield name
        elif Path(name).is_dir():
            n_unread = len(self._unread)
            found = [path for path in self._files_in(name) if not _is_same(path, output)]
            if not found and len(self._unread) == n_unread:
                self._unread.append((name, FileNotFoundError(0, "no file in this folder")))
            yield from found
        elif not Path(name).exists() and glob.has_magic(name):
            matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (keeps "./" in names)
            # Regular files only: a named pipe would block.
            files = [path for path in matches if Path(path).is_file()]
            if not files:
                self._unread.append((name, FileNotFoundError(0, "no file matches this pattern")))
            yield from (path for path in files if not _is_same(path, output))
        else:
            # A file; one that is missing is reported when read.
            yield name

    def _files_in(self, folder: str) -> Iterator[str]:
        """Yield the files of a folder and its subfolders, except hidden ones."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            self._unread.append((folder, error))
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._files_in(entry.path)
            elif entry.is_file():
                yield entry.path

    def _report(self, name: str, error: Exception) -> None:
        self._failed_count += 1
        if self._shows_progress:
            click.echo(_ERASE_LINE, nl=False, err=True)
        Failure(f"{shown_name(name)}: {message_of(error)}").show()

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
        raise _not_utf8(error, 0) from error


def checked_utf8(content: bytes, errors: str) -> bytes:
    r"""Return a file's content as valid UTF-8: `decode_utf8`, without the str.

    Raises:
        InputError: `errors` is "strict" and the content is not UTF-8.

    >>> checked_utf8(b"a\r\n\xff", "replace").decode()
    'a\r\n\ufffd'
    """
    if valid_bytes(content) == len(content):
        return content
    return decode_utf8(content, errors).encode()


def utf8_blocks(path: Path) -> Iterator[bytes]:
    """Yield a file's content in blocks, each of whole characters in UTF-8.

    Raises:
        InputError: it is not UTF-8, with the message of `decode_utf8`.
        OSError: it cannot be read.
    """
    done, rest = 0, b""
    with path.open("rb", buffering=0) as file:
        while read := file.read(_READ_BYTES):
            block = rest + read
            n_valid = valid_bytes(block)
            done, rest = done + n_valid, block[n_valid:]
            if len(rest) >= _CHARACTER_BYTES:
                break  # no character whose end comes later
            if n_valid:
                yield block[:n_valid] if rest else block
    try:
        rest.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(error, done) from error


def shown_name(name: str) -> str:
    r"""Escape characters in a file's name that would break the line.

    >>> print(shown_name("a\nb"), shown_name("a b"))
    a\nb a b
    """
    if not _NO_PART_OF_A_LINE.search(name):
        return name
    name = name.replace("\\", r"\\")
    return _NO_PART_OF_A_LINE.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


def _not_utf8(error: UnicodeDecodeError, offset: int) -> InputError:
    """Build the error for invalid UTF-8 in bytes at an offset of the file."""
    return InputError(
        f"invalid utf-8 at byte offset {offset + error.start} (byte "
        f"{error.object[error.start]:#04x}: {error.reason}); convert the file to utf-8, or pass "
        f"--errors replace to read such bytes as U+FFFD"
    )


def _is_same(path: str, output: str) -> bool:
    try:
        return os.path.samefile(path, output)  # noqa: PTH121 (either may be missing)
    except OSError:
        return False


def _read(path: str) -> bytes:
    if path == STDIN:
        return binary_stream("stdin").read()
    return Path(path).read_bytes()


def _is_binary(path: str) -> bool:
    """Return whether a file is binary, as grep and git do: by a NUL near its start."""
    with Path(path).open("rb") as file:
        return b"\0" in file.read(_HEAD_BYTES)


def _size_bytes(path: str) -> int:
    """Size of a regular file; 0 if it is unknown before reading."""
    try:
        status = Path(path).stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
