"""Rows of JSON Lines and Parquet as documents: --column."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import click

from cutline.checks import without_surrogates
from cutline.cli.decoding import InputError, TextReader
from cutline.cli.failure import message_of
from cutline.cli.inputs import Watch
from cutline.errors import CutlineError, SourceError
from cutline.kernels.base.utf8 import has_surrogates

if TYPE_CHECKING:
    from cutline.training.rows import Row

__all__ = ["Rows", "column_option"]

_ROWS_AT_ONCE: Final = 512
_CHARACTERS_AT_ONCE: Final = 1 << 22
_FAILED_SHOWN: Final = 5
_OTHERWISE: Final = (
    ", name its encoding, such as --input-encoding latin-1, or pass --errors replace to read such "
    "bytes as U+FFFD"
)

T_co = TypeVar("T_co", covariant=True)

column_option = click.option(
    "--column",
    metavar="NAME",
    help="Read JSON Lines or Parquet, of which this column has the text: each row is a document "
    "of its own.",
)


class BatchWork(Protocol[T_co]):
    """Makes a result of each of many rows, in threads."""

    def __call__(self, rows: "Sequence[Row]", /, *, num_threads: int) -> Sequence[T_co]:
        """Work."""


class Rows:
    """The rows of a file that have text.

    Args:
        path: the file, or "-" for JSON Lines on standard input.
        column: the column of the text.
        watch: is told of the bytes that were read, and of rows that fail.
        n_jobs: the number of threads.
        others: the names of the other columns that are read; None: all.
        reader: decodes JSON Lines.
        errors: a text with lone surrogates, which is not UTF-8, "strict": is reported, and left
            out; "replace": has U+FFFD instead; None: is left as it is.

    Attributes:
        n_failed: the number of rows that failed so far, or one more if the file cannot be read on.

    Raises:
        OSError: the file cannot be read.
        InputError: it has no such column, or needs a package that is not installed.
    """

    def __init__(
        self,
        path: Path,
        column: str,
        watch: Watch,
        n_jobs: int = 1,
        errors: str | None = None,
        others: Collection[str] | None = None,
        reader: TextReader | None = None,
    ) -> None:
        # Imported here: only rows need it.
        from cutline.cli.row_files import open_rows

        try:
            self._rows = open_rows(path, column, reader or TextReader())
        except (SourceError, ImportError) as error:
            raise InputError(str(error).removeprefix(f"{path}: ")) from error
        self._watch = watch
        self._n_jobs = n_jobs
        self._errors = errors
        self._others = others
        self.n_failed = 0

    def __iter__(self) -> "Iterator[Row]":
        """Yield the rows; what fails is reported, and left out."""
        return (row for row, _ in self.map(_unchanged))

    def map(self, work: BatchWork[T_co]) -> "Iterator[tuple[Row, T_co]]":
        """Yield each row with its result; what fails is reported, and left out."""
        read = self._rows.records(self._refuse, self._others)
        rows = self._utf8(read)
        n_bytes = 0
        while batch := self._next(rows):
            try:
                results = work(batch, num_threads=self._n_jobs)
            except CutlineError:
                yield from self._one_by_one(batch, work)
            else:
                yield from zip(batch, results, strict=True)
            self._watch.advance(self._rows.bytes_read - n_bytes)
            n_bytes = self._rows.bytes_read
        if self.n_failed > _FAILED_SHOWN:
            more = f"{self.n_failed - _FAILED_SHOWN} more of its {self._rows.unit}s failed"
            self._watch.fail(f"{self._rows.path}: {more}")

    def _fail(self, problem: str) -> None:
        self.n_failed += 1
        if self.n_failed <= _FAILED_SHOWN:
            self._watch.fail(problem)

    def _refuse(self, error: SourceError) -> None:
        """Report what cannot be read; of lines, that options may say how."""
        is_undecoded = isinstance(error.__cause__, UnicodeDecodeError)
        has_options = is_undecoded and self._rows.unit == "line"
        self._fail(f"{error}{_OTHERWISE if has_options else ''}")

    def _utf8(self, rows: "Iterator[Row]") -> "Iterator[Row]":
        """Yield the rows whose text can be written as UTF-8."""
        for row in rows:
            if self._errors is None or not has_surrogates(row.text):
                yield row
            elif self._errors == "replace":
                yield row._replace(text=without_surrogates(row.text))
            else:
                self._fail(
                    f"{self.place(row)}: the text has a lone surrogate, which no UTF-8 has: pass "
                    "--errors replace to read it as U+FFFD"
                )

    def place(self, row: "Row") -> str:
        """Return how messages name a row."""
        return f"{self._rows.path}, {self._rows.unit} {row.number}"

    def _next(self, rows: "Iterator[Row]") -> "list[Row]":
        """Return the rows for one call; none if the file cannot be read further."""
        batch: list[Row] = []
        try:
            batch.extend(_some(rows))
        except SourceError as error:
            self._refuse(error)
        except OSError as error:
            self._fail(f"{self._rows.path}: {message_of(error)}")
        return batch

    def _one_by_one(
        self, batch: "list[Row]", work: BatchWork[T_co]
    ) -> "Iterator[tuple[Row, T_co]]":
        for row in batch:
            try:
                [result] = work([row], num_threads=1)
            except CutlineError as error:
                self._fail(f"{self.place(row)}: {error}")
            else:
                yield row, result


def _unchanged(rows: "Sequence[Row]", *, num_threads: int) -> "Sequence[Row]":
    return rows


def _some(rows: "Iterator[Row]") -> "Iterator[Row]":
    """Yield rows for one call: neither many nor long ones."""
    characters = 0
    for row in islice(rows, _ROWS_AT_ONCE):
        yield row
        characters += len(row.text)
        if characters >= _CHARACTERS_AT_ONCE:
            return
