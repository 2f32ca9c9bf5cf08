"""Reading the inputs: files and standard input, one by one.

A file that fails is reported and the next one is processed; the run then ends
with exit code 1. Binary files in folders and of patterns are skipped, with a
note.
"""

import codecs
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
from cutline.cli.streams import binary_stream
from cutline.errors import CutlineError

STDIN = "-"
PROGRESS_MIN_BYTES = 8_000_000
LARGE_BYTES = 1 << 24
_ERASE_LINE = "\r\x1b[K"
_READ_BYTES = 1 << 20
_HEAD_BYTES = 8192
_NAMED_AT_MOST = 3
_NO_PART_OF_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

T = TypeVar("T")


class InputError(CutlineError, ValueError):
    """An input with content that the command does not support."""


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
        self, work: Callable[[str, bytes], T], stream: Callable[[str, Path], T] | None = None
    ) -> Iterator[tuple[str, T]]:
        """Yield the name and `work(name, content)` of every input that does not fail.

        Args:
            work: the function to apply.
            stream: the function for files of more than `LARGE_BYTES`, if given.

        Raises:
            click.exceptions.Exit: code 1, at the end, when every input failed.
        """
        done_count = 0
        with self._progress() as advance:
            for folder, problem in self._unread:
                self._report(click.format_filename(folder), problem)
            for path, size_bytes in zip(self._paths, self._sizes_bytes, strict=True):
                name = click.format_filename(path)
                try:
                    if path in self._found and _is_binary(path):
                        self._skipped.append(name)
                        continue
                    if stream is not None and size_bytes > LARGE_BYTES:
                        result = stream(name, Path(path))
                    else:
                        result = work(name, _read(path))
                except (OSError, CutlineError) as error:
                    self._report(name, error)
                else:
                    done_count += 1
                    yield name, result
                advance(size_bytes)
        self._note_skipped()
        if not done_count and (self._failed_count or self._skipped):
            raise click.exceptions.Exit(1)

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


def check_utf8(path: Path) -> None:
    """Read a file to check that it is UTF-8, without keeping it in memory.

    Raises:
        InputError: it is not, with the message of `decode_utf8`.
        OSError: it cannot be read.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    with path.open("rb") as file:
        while True:
            block = file.read(_READ_BYTES)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise _not_utf8(error, done - pending) from error
            if not block:
                return
            done += len(block)


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
