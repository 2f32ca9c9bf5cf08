"""Rows with a column of text: JSON Lines and Parquet."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cutline.errors import SourceError
from cutline.extras import need
from cutline.training.file_reader import FileReader, invalid_utf8

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

__all__ = ["ColumnWatch", "JsonRows", "ParquetRows", "Report", "Row", "no_column", "text_type"]

_BYTE_ORDER_MARK = "\ufeff"
_BATCH_ROWS = 256
_MOST_SHOWN = 20
_MOST_LACKING = 10_000


class Row(NamedTuple):
    """A row with text: its number, from 1, the text, and its other columns."""

    number: int
    text: str
    others: dict[str, Any]


Report: TypeAlias = Callable[[SourceError], None]


class JsonRows:
    """The texts of a JSON Lines file: in each line an object with the text as one of its values.

    Args:
        reader: reads the file.
        column: the key of the text.

    Attributes:
        path: the file's path.
        unit: what a row is called in errors.
    """

    unit = "line"

    def __init__(self, reader: FileReader, column: str) -> None:
        self._reader = reader
        self._column = column
        self.path = reader.path

    @property
    def bytes_read(self) -> int:
        """The bytes of the file on disk that were read so far."""
        return self._reader.bytes_read

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each line, from 1, and its text, except for blank lines and nulls.

        Raises:
            OSError: the file cannot be read.
            SourceError: (a ValueError) a line is no JSON object in UTF-8, or what it has in the
                column is no text; or no line has the column; names the line.
        """
        return ((row.number, row.text) for row in self.records())

    def records(
        self, report: Report | None = None, others: Collection[str] | None = None
    ) -> Iterator[Row]:
        """Yield the rows, as `rows` does, with their other columns.

        Args:
            report: is told of lines that are wrong, which are then left out.
            others: the names of other columns, of which a line may lack some; None: all.

        Raises:
            OSError, SourceError: as `rows`; a wrong line is no error with `report`.
        """
        column = ColumnWatch(self._column)
        for number, line in self._reader.lines():
            if line and not line.isspace():
                try:
                    row = self._row(line, number)
                except SourceError as error:
                    if report is None:
                        raise
                    report(error)
                    continue
                if not column.is_in(row, self._place(number)):
                    continue
                text = row.pop(self._column)
                if text is not None:
                    if others is not None:
                        row = {name: value for name, value in row.items() if name in others}
                    yield Row(number, text, row)
        column.finish()

    def _row(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            decoded = line.decode()
            row = json.loads(decoded.removeprefix(_BYTE_ORDER_MARK) if number == 1 else decoded)
        except UnicodeDecodeError as error:
            raise invalid_utf8(self._place(number), error) from error
        except RecursionError as error:  # each Python says so in other words
            raise self._error(number, "not json: it is nested too deep to be read") from error
        except json.JSONDecodeError as error:  # its own message has a line, which is always 1
            what = error.msg.removesuffix(" at")
            problem = f"not json: {what} at character {error.pos + 1}"
            raise self._error(number, problem) from error
        except ValueError as error:
            raise self._error(number, f"not json: {error}") from error
        if not isinstance(row, dict):
            raise self._error(number, f"expected a json object, got {_json_type(row)}")
        text = row.get(self._column)
        if text is None or isinstance(text, str):
            return row
        problem = f"column {self._column!r} must contain text, got {_json_type(text)}"
        raise self._error(number, problem)

    def _place(self, number: int) -> str:
        return f"{self.path}, {self.unit} {number}"

    def _error(self, number: int, problem: str) -> SourceError:
        return SourceError(f"{self._place(number)}: {problem}")


def _json_type(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else kinds.get(type(value), "a number")


class ColumnWatch:
    """Tells rows without text from a column that there is not.

    A row may lack the column, since exports leave out what is null, if another one has it.

    Args:
        column: the name.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._is_there = False
        self._n_lacking = 0
        self._first: SourceError | None = None

    def is_in(self, row: Mapping[Any, Any], place: str) -> bool:
        """Return whether a row has the column.

        Raises:
            SourceError: (a ValueError) none of the first 10,000 rows has it; names the first one.
        """
        if self._column in row:
            self._is_there = True
            return True
        self._n_lacking += 1
        if self._first is None:
            self._first = SourceError(f"{place}: {no_column(self._column, row)}")
        if self._n_lacking == _MOST_LACKING:
            self.finish()
        return False

    def finish(self) -> None:
        """Say that these were all rows.

        Raises:
            SourceError: (a ValueError) there were some, and none has the column.
        """
        if self._first is not None and not self._is_there:
            raise self._first


def no_column(column: str, columns: Iterable[object]) -> str:
    """Return what errors say where a column is missing: the names of those there are."""
    there = [repr(name) for name in columns]
    shown = ", ".join(there[:_MOST_SHOWN]) + (", ..." if len(there) > _MOST_SHOWN else "")
    return f"no column {column!r}; there is {shown or 'none'}"


def text_type(schema: "pyarrow.Schema", column: str) -> "pyarrow.DataType":
    """Return the type of a column's strings; for a dictionary, that of its values.

    That of a column of nulls alone, which may have a type of its own, is `string`.

    Raises:
        SourceError: (a ValueError) there is no such column, or more than one, or its type is
            no string.
    """
    import pyarrow as pa
    import pyarrow.types as kinds

    if schema.names.count(column) > 1:
        raise SourceError(f"more than one column {column!r}")
    if column not in schema.names:
        raise SourceError(no_column(column, schema.names))
    found = schema.field(column).type
    kind = found.value_type if kinds.is_dictionary(found) else found
    if kinds.is_null(kind):
        return pa.string()
    if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)):
        raise SourceError(f"column {column!r} must contain strings, its type is {found}")
    return kind


class ParquetRows:
    """The texts in a column of a Parquet file.

    Args:
        path: the file.
        column: a top-level name of the schema.

    Attributes:
        path: the file's.
        unit: what a row of it is called.
        bytes_read: the bytes of the file that were read so far, estimated from its rows.

    Raises:
        ImportError: `pyarrow` is not installed.
        OSError: the file cannot be read.
        SourceError: (a ValueError) it is no Parquet file, or has no string column of this
            name; names its columns.
    """

    unit = "row"

    def __init__(self, path: Path, column: str) -> None:
        need("pyarrow.parquet", f"reading {path}", "arrow")
        self.path = path
        self._column = column
        self.bytes_read = 0
        with path.open("rb") as file:
            schema = self._open(file).schema_arrow
        try:
            text_type(schema, column)
        except SourceError as error:
            raise SourceError(f"{path}: {error}") from None

    def _open(self, file: Any) -> "pyarrow.parquet.ParquetFile":
        import pyarrow.parquet

        with self._refused("not a parquet file"):
            # Pre-buffering would hold a whole row group in memory.
            return pyarrow.parquet.ParquetFile(file, pre_buffer=False)

    @contextmanager
    def _refused(self, problem: str) -> Iterator[None]:
        """Add the file's name to pyarrow's errors about its content, not to those of the disk."""
        import pyarrow

        try:
            yield
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise SourceError(f"{self.path}: {problem}: {error}") from error

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each row, from 1, and its text, except for nulls.

        Raises:
            OSError: the file cannot be read.
            SourceError: (a ValueError) it is damaged, or a row is not UTF-8; names the row.
        """
        return ((row.number, row.text) for row in self._rows([self._column]))

    def records(
        self, report: Report | None = None, others: Collection[str] | None = None
    ) -> Iterator[Row]:
        """Yield the rows, as `rows` does, with their other columns.

        Args:
            report: not used: what is wrong in such a file is not in one row.
            others: the names of the other columns that are read; None: all.

        Raises:
            OSError, SourceError: as `rows`; or there is no such column.
        """
        return self._rows(None if others is None else [self._column, *others])

    def _rows(self, columns: list[str] | None) -> Iterator[Row]:
        """Yield the rows with some columns, or all."""
        number = 0
        with self.path.open("rb") as file:
            parquet = self._open(file)
            n_rows, size_bytes = parquet.metadata.num_rows, self.path.stat().st_size
            self._need(columns or (), parquet.schema_arrow.names)
            for batch in self._batches(parquet, columns):
                with self._refused("damaged parquet data"):
                    texts = self._texts(batch.column(self._column), number)
                    others = batch.drop_columns([self._column]).to_pylist()
                for text, other in zip(texts, others, strict=True):
                    number += 1
                    if text is not None:
                        yield Row(number, text, other)
                self.bytes_read = size_bytes * min(number, n_rows) // max(n_rows, 1)
        if number != n_rows:
            raise SourceError(
                f"{self.path}: damaged parquet data: {number} rows instead of {n_rows}"
            )

    def _need(self, columns: Iterable[str], there: Collection[str]) -> None:
        for column in columns:
            if column not in there:
                raise SourceError(f"{self.path}: {no_column(column, there)}")

    def _batches(
        self, parquet: "pyarrow.parquet.ParquetFile", columns: list[str] | None
    ) -> Iterator["pyarrow.RecordBatch"]:
        batches = parquet.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False)
        with self._refused("damaged parquet data"):
            yield from batches

    def _texts(self, values: "pyarrow.Array", n_before: int) -> list[str | None]:
        try:
            return list(values.to_pylist())
        except UnicodeDecodeError:
            for number, text in enumerate(_as_bytes(values), start=n_before + 1):
                try:
                    (text or b"").decode()
                except UnicodeDecodeError as error:
                    place = f"{self.path}, {self.unit} {number}"
                    raise invalid_utf8(place, error) from error
            raise


def _as_bytes(values: "pyarrow.Array") -> list[bytes | None]:
    import pyarrow

    plain = values.dictionary_decode() if hasattr(values, "dictionary_decode") else values
    return list(plain.cast(pyarrow.large_binary()).to_pylist())
