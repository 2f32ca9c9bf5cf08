"""Reading the inputs: files and standard input, one by one.

A file that fails is reported and the next one is processed; the run then ends
with exit code 1. Binary files in folders and of patterns are skipped, with a
note.
"""

import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

import click

from cutline.checks import without_surrogates
from cutline.cli.decoding import TextReader
from cutline.cli.failure import Failure, message_of
from cutline.cli.finding import Finder
from cutline.cli.parallel import small_in_order
from cutline.cli.streams import STDIN, binary_stream
from cutline.errors import CutlineError

PROGRESS_MIN_BYTES = 8_000_000
LARGE_BYTES = 1 << 24
_ERASE_LINE = "\r\x1b[K"
_HEAD_BYTES = 8192
_NAMED_AT_MOST = 3
_NO_PART_OF_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Watch(Protocol):
    """What a file that is streamed is reported to."""

    def advance(self, n_bytes: int) -> None:
        """Note that so many bytes of it were read."""

    def fail(self, problem: str) -> None:
        """Note that a part of it failed."""


class Stream(Protocol[T_co]):
    """Processes a file as it is read."""

    def __call__(self, name: str, path: Path, watch: Watch, /) -> T_co:
        """Process the file."""


class _Skipped(Exception):  # noqa: N818 (no error)
    """A file that was found, and is not read; says what kind of file it is."""


class Inputs:
    """The inputs of one run, with the number of failed ones.

    Args:
        files: files, or "-" for standard input.
        names: further ones, of which binary files are skipped, as of folders and patterns.
        may_show_progress: whether to draw a bar if there is much to read.
        finder: finds the files of folders and patterns; None: names are those of files.
        reader: says which of the files that were found are no text.
    """

    def __init__(
        self,
        files: Sequence[str],
        names: Sequence[str] = (),
        *,
        may_show_progress: bool,
        finder: Finder | None = None,
        reader: TextReader | None = None,
    ) -> None:
        self._unread = finder.unread if finder else []
        self._reader = reader or TextReader()
        self._paths = [*files, *names]
        if finder:
            self._paths = [path for name in self._paths for path in finder.files_of(name)]
        self._found = set(self._paths).difference(files, [STDIN])
        self._sizes_bytes = [_size_bytes(path) for path in self._paths]
        self._shows_progress = may_show_progress and sum(self._sizes_bytes) > PROGRESS_MIN_BYTES
        self._partly_bytes = 0  # of the file that is being streamed
        self._advance: Callable[[int], None] = _ignore
        self._failed_count = 0
        self._skipped: dict[str, list[str]] = {}  # by kinds of files

    def results(
        self,
        work: Callable[[str, bytes], T] | None,
        stream: Stream[T] | None = None,
        n_jobs: int = 1,
    ) -> Iterator[tuple[str, T]]:
        """Yield the name and `work(name, content)` of every input that does not fail.

        Args:
            work: the function to apply; to several files of up to `LARGE_BYTES` at a time. None:
                all files are streamed; those that were found, if they have rows.
            stream: the function for files of more than `LARGE_BYTES`, if given.
            n_jobs: the number of threads.

        Raises:
            click.exceptions.Exit: code 1, at the end, when every input failed.
        """
        done_count = 0
        with self._progress() as advance:
            for folder, problem in self._unread:
                self._report(folder, problem)

            self._advance = advance
            calls = (
                self._call(path, size_bytes, work, stream)
                for path, size_bytes in zip(self._paths, self._sizes_bytes, strict=True)
            )
            is_alone = n_jobs == 1 or len(self._paths) == 1
            results: Iterator[Callable[[], T]] = (
                (call for _, call in calls)
                if is_alone
                else small_in_order(calls, n_jobs, LARGE_BYTES)
            )
            for path, size_bytes, result in zip(
                self._paths, self._sizes_bytes, results, strict=True
            ):
                try:
                    found = result()
                except _Skipped as kind:
                    self._skipped.setdefault(str(kind), []).append(path)
                    continue
                except (OSError, CutlineError, MemoryError) as error:
                    self._report(path, error)
                else:
                    done_count += 1
                    yield path, found
                advance(size_bytes - self._partly_bytes)
                self._partly_bytes = 0
        self._note_skipped()
        if not done_count and (self._failed_count or self._skipped):
            raise click.exceptions.Exit(1)

    def _call(
        self,
        path: str,
        size_bytes: int,
        work: Callable[[str, bytes], T] | None,
        stream: Stream[T] | None,
    ) -> tuple[int, Callable[[], T]]:
        """Return the call that processes a file, with its size; 0: it needs its turn."""
        is_large = work is None or size_bytes > LARGE_BYTES

        def call() -> T:
            if path in self._found:
                self._check_kind(path, has_rows=work is None)
            if stream is not None and is_large:
                return stream(path, Path(path), self)
            assert work is not None
            return work(path, _read(path))

        return 0 if is_large else size_bytes, call

    def _check_kind(self, path: str, *, has_rows: bool) -> None:
        """Skip a file that is not of the kind that is read."""
        if not has_rows:
            if self._reader.is_binary(_head(path)):
                raise _Skipped("binary file")
            return
        # Imported here: only rows need it.
        from cutline.training.sources import is_of_rows

        if not is_of_rows(Path(path)):
            raise _Skipped("file that is neither JSON Lines nor Parquet")

    def end(self) -> None:
        """End the run.

        Raises:
            click.exceptions.Exit: code 1, when an input failed.
        """
        if self._failed_count:
            raise click.exceptions.Exit(1)

    def _note_skipped(self) -> None:
        for kind, paths in self._skipped.items():
            named = ", ".join(map(shown_name, paths[:_NAMED_AT_MOST]))
            more = ", ..." if len(paths) > _NAMED_AT_MOST else ""
            many = kind.replace("file", "files", 1).replace(" is ", " are ")
            files = f"1 {kind}" if len(paths) == 1 else f"{len(paths)} {many}"
            click.echo(f"cutline: skipped {files}: {named}{more}", err=True)

    def advance(self, n_bytes: int) -> None:
        """Note that so many bytes of the file that is streamed were read."""
        self._partly_bytes += n_bytes
        self._advance(n_bytes)

    def _report(self, name: str, error: Exception) -> None:
        self.fail(f"{shown_name(name)}: {message_of(error)}")

    def fail(self, problem: str) -> None:
        """Write what failed to standard error, and end with code 1."""
        self._failed_count += 1
        if self._shows_progress:
            click.echo(_ERASE_LINE, nl=False, err=True)
        Failure(problem).show()

    @contextmanager
    def _progress(self) -> Iterator[Callable[[int], None]]:
        if not self._shows_progress:
            yield lambda size_bytes: None
            return
        with click.progressbar(length=sum(self._sizes_bytes), file=sys.stderr) as bar:
            yield bar.update


def shown_name(name: str) -> str:
    r"""Escape characters that would break the line; what is not UTF-8 is shown as U+FFFD.

    >>> print(shown_name("a\nb"), shown_name("a b"), shown_name("a\udcff"))
    a\nb a b a�
    """
    name = without_surrogates(name)
    if not _NO_PART_OF_A_LINE.search(name):
        return name
    name = name.replace("\\", r"\\")
    return _NO_PART_OF_A_LINE.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


@contextmanager
def opened(name: str, path: Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input, which stays open."""
    if name == STDIN:
        yield binary_stream("stdin")
        return
    with path.open("rb") as file:
        yield file


def _read(path: str) -> bytes:
    with opened(path, Path(path)) as file:
        return file.read()


def _ignore(_n_bytes: int) -> None:
    """Show no progress."""


def _head(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(_HEAD_BYTES)


def _size_bytes(path: str) -> int:
    """Size of a regular file; 0 if it is unknown before reading."""
    try:
        status = Path(path).stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
