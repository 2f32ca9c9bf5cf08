"""Sources of text: files, patterns of file names, or texts; and their documents."""

import errno
import glob
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from cutline.checks import REPAIR, hint_for, plain_text
from cutline.errors import SourceError, SurrogateError
from cutline.training.columns import column_names, texts_in_column
from cutline.training.file_reader import BLOCK_BYTES, FileReader, kind_of
from cutline.training.rows import JsonRows, ParquetRows

__all__ = [
    "Document",
    "DocumentSource",
    "FileDocument",
    "FileSource",
    "Files",
    "TextSource",
    "find_files",
    "is_of_rows",
    "open_source",
    "rows_of",
    "size_of",
]

Files: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_JSON_SUFFIXES = (".jsonl", ".ndjson")
_PARQUET_SUFFIXES = (".parquet",)
_ROW_SUFFIXES = _JSON_SUFFIXES + _PARQUET_SUFFIXES
_OTHER_ARCHIVES = (".tar", ".tgz", ".zip", ".bz2", ".xz", ".7z", ".lz4", ".br")
_MOST_SHOWN = 5
_SHOWN_CHARACTERS = 255  # the usual limit of a file name


class Document(Protocol):
    """One text: no piece extends into the next document."""

    @property
    def text(self) -> str | None:
        """The whole text if it is in memory, None if it must be read by `blocks`."""

    def blocks(self) -> Iterator[bytes]:
        """Yield the parts of the document, each of some MB at most.

        Each consists of whole characters in UTF-8.
        """


class TextDocument:
    """A document that is in memory: an item of an iterable, or a row of a file."""

    __slots__ = ("_number", "_unit", "text")

    def __init__(self, text: str, unit: str, number: int) -> None:
        self.text = text
        self._unit = unit
        self._number = number

    @property
    def name(self) -> str:
        """Such as "item 12", or "corpus.jsonl, line 12"."""
        return f"{self._unit} {self._number}"

    def blocks(self) -> Iterator[bytes]:
        """Yield the parts of the text.

        Raises:
            SurrogateError: (a ValueError) it has a surrogate code point; names the place.
        """
        for start in range(0, len(self.text), BLOCK_BYTES):
            try:
                yield self.text[start : start + BLOCK_BYTES].encode()
            except UnicodeEncodeError as error:
                offset = start + error.start
                raise SurrogateError(
                    f"{self.name} has a surrogate code point, {self.text[offset]!r}, at offset "
                    f"{offset}; no tokenizer is trained on such text: {REPAIR}"
                ) from None


class FileDocument:
    """A file of text as one document."""

    __slots__ = ("_reader", "has_text")

    text = None

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self.has_text = False

    @property
    def name(self) -> str:
        """The path."""
        return str(self._reader.path)

    def blocks(self) -> Iterator[bytes]:
        """Yield the file's text.

        Raises:
            OSError: the file cannot be read.
            SourceError: (a ValueError) it is not UTF-8, or compressed data is damaged.
        """
        for block in self._reader.utf8_blocks():
            self.has_text = True
            yield block


class DocumentSource(ABC):
    """A sequence of documents; each one's blocks are read before the next document is.

    Attributes:
        size_bytes: the size of all files on disk, without pipes and the like; None without files.
    """

    size_bytes: int | None = None

    @property
    def bytes_read(self) -> int | None:
        """The bytes of these files that were read so far; None without files."""
        return None

    @abstractmethod
    def __iter__(self) -> Iterator[Document]:
        """Yield the documents."""


class TextSource(DocumentSource):
    """The documents of an iterable of texts.

    Args:
        texts: the texts.
        is_column: they are those of a column, where None is no document.
    """

    def __init__(self, texts: Iterable[Any], *, is_column: bool = False) -> None:
        self._texts = texts
        self._is_column = is_column

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents; again only if the texts can be iterated again.

        Raises:
            TypeError: an item is no str; names it.
            SourceError: (a ValueError) at the end, if no item had text.
        """
        number = n_characters = 0
        unit = "row" if self._is_column else "item"
        for number, text in enumerate(self._texts, start=1):
            if text is None and self._is_column:
                continue
            if not isinstance(text, str):
                problem = f"{unit} {number} is {_type_name(text)}{_hint_for_item(text)}"
                raise TypeError(f"documents must be str, {problem}")
            n_characters += len(text)
            yield TextDocument(plain_text(text), unit, number)
        if not n_characters:
            raise SourceError(f"no text to train on: {number} documents, and none has text")


class FileSource(DocumentSource):
    """The documents of files: the text of a file, or the texts of its rows.

    Args:
        paths: the files, none of them a folder.
        column: the column with the text of rows.
        may_be_empty: whether files without any text are no error.
        block_bytes: the size of a read.

    Raises:
        ImportError: an optional package is needed and not installed.
        OSError: a Parquet file cannot be read.
        SourceError: (a ValueError) a column is missing for a file with columns, or given for
            one without.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        column: str | None,
        *,
        may_be_empty: bool = False,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._paths = paths
        self._parts = [_open_file(path, column, block_bytes) for path in paths]
        self._current: FileReader | JsonRows | ParquetRows | None = None
        self._bytes_before = 0
        self._has_text = may_be_empty
        self.size_bytes: int = sum(size_of(path) or 0 for path in paths)

    @property
    def bytes_read(self) -> int:
        """The bytes of all files on disk that were read so far."""
        return self._bytes_before + (self._current.bytes_read if self._current else 0)

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents in the order of the files; read one's blocks before the next one.

        Raises:
            OSError: a file cannot be read.
            SourceError: (a ValueError) a file is not of the kind of its name, or not UTF-8;
                names the place. At the end, if no file had text.
        """
        self._bytes_before = 0
        for part in self._parts:
            self._current = part
            if isinstance(part, FileReader):
                document = FileDocument(part)
                yield document
                self._has_text |= document.has_text
            else:
                unit = f"{part.path}, {part.unit}"
                for number, text in part.rows():
                    self._has_text |= bool(text)
                    yield TextDocument(text, unit, number)
            self._bytes_before += part.bytes_read
            self._current = None
        if not self._has_text:
            shown = ", ".join(map(str, self._paths[:_MOST_SHOWN]))
            more = ", ..." if len(self._paths) > _MOST_SHOWN else ""
            raise SourceError(f"no text to train on: nothing in {shown}{more}")


def open_source(
    source: Files | Iterable[Any] | DocumentSource, column: str | None = None
) -> DocumentSource:
    """Return the documents of a source.

    Args:
        source: a file name, or a pattern such as "corpus/**/*.txt"; or a list or tuple of
            these; or any other iterable of texts. So a `str` is always a file name and never
            a text, in a list too: pass a list of texts as `iter(texts)`. A pattern's files
            are sorted. A file is text in UTF-8, unless its name ends in .jsonl, .ndjson or
            .parquet: then each row is a document. All but Parquet may be compressed: .gz, .zst
            or .zstd. Or, with `column`, a table: of pandas, Polars, Arrow or datasets, or a dict
            of columns; or rows: dicts or Arrow's batches, one after the other. A
            `DocumentSource` is returned unchanged.
        column: the column of the rows that has the text.

    Returns:
        The documents, and how much of them was read.

    Raises:
        FileNotFoundError: no file has this name or matches the pattern.
        IsADirectoryError: it is a folder.
        ImportError: an optional package is needed and not installed.
        TypeError: it is no source.
        SourceError: (a ValueError) see `FileSource`; or the list is empty.

    >>> [document.text for document in open_source(iter(["one", "two"]))]
    ['one', 'two']
    """
    if isinstance(source, DocumentSource):
        return source
    if isinstance(source, (list, tuple)) and source and column_names(source[0]) is not None:
        source = iter(source)
    if isinstance(source, (str, os.PathLike, list, tuple)):
        try:
            return FileSource(find_files(source), column)
        except FileNotFoundError as error:
            hint = "a str is a file name, in a list too: for texts pass iter([text, ...])"
            problem = f"{error.strerror} ({hint})"
            raise FileNotFoundError(error.errno, problem, error.filename) from None
    names = column_names(source)
    is_several = isinstance(source, Iterable) or names is not None  # a table of Arrow is none
    if isinstance(source, (bytes, bytearray)) or not is_several:
        raise TypeError(
            "source must be a file name, a list of file names or an iterable of str, "
            f"got {_type_name(source)}"
        )
    if column is not None:
        return TextSource(texts_in_column(source, column), is_column=True)
    if names is not None:
        raise SourceError(
            f"which column of the {_type_name(source)} has the text? pass its name as column, "
            "or an iterator of texts"
        )
    return TextSource(source)


def find_files(files: Files) -> list[Path]:
    """Find the files of names and patterns; those of a pattern sorted.

    A file that is named twice is returned twice.

    Raises:
        FileNotFoundError: no file has this name or matches the pattern.
        IsADirectoryError: it is a folder.
        TypeError: a name is neither str nor os.PathLike.
        SourceError: (a ValueError) the list is empty.
    """
    if isinstance(files, (str, os.PathLike)):
        return _files_of(files)
    if not files:
        raise SourceError(f"no text to train on: the {_type_name(files)} of files is empty")
    return [path for name in files for path in _files_of(name)]


def _files_of(name: object) -> list[Path]:
    written = os.fspath(name) if isinstance(name, (str, os.PathLike)) else None
    if not isinstance(written, str):
        raise TypeError(f"file names must be str or os.PathLike, got {_type_name(name)}")
    path = Path(written)
    if written and _exists(path):
        if path.is_dir():
            problem = "is a folder: name its files, as by the patterns *.txt or **/*.txt in it"
            raise IsADirectoryError(errno.EISDIR, problem, written)
        return [path]
    if glob.has_magic(written):
        found = sorted(map(Path, glob.glob(written, recursive=True)))  # noqa: PTH207 (any pattern)
        if files := [path for path in found if not path.is_dir()]:
            return files
        problem = "no file matches this pattern"
    else:
        problem = "no such file"
    shown = written if len(written) <= _SHOWN_CHARACTERS else f"{written[:_SHOWN_CHARACTERS]}..."
    raise FileNotFoundError(errno.ENOENT, problem, shown)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long for a file name
        return False


def size_of(path: Path) -> int | None:
    """Return the size on disk in bytes; None if it is no regular file."""
    status = path.stat()
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _open_file(
    path: Path, column: str | None, block_bytes: int
) -> FileReader | JsonRows | ParquetRows:
    """Choose how to read a file, by its name."""
    reader = FileReader(path, block_bytes)
    if reader.kind in _OTHER_ARCHIVES:
        raise SourceError(
            f"{path}: of packed files .gz, .zst and .zstd are read: unpack it, or pass an iterator "
            "of its texts"
        )
    has_rows = reader.kind in _ROW_SUFFIXES
    if has_rows and column is None:
        raise SourceError(f"{path}: which column has the text? pass its name as column")
    if not has_rows and column is not None:
        raise SourceError(
            f"{path}: read as plain text, which has no column {column!r}: leave column out, "
            "or rename the file to .jsonl or .parquet"
        )
    return reader if column is None else rows_of(reader, column)


def is_of_rows(path: Path) -> bool:
    """Return whether a file has rows, by its name."""
    return kind_of(path)[0] in _ROW_SUFFIXES


def rows_of(reader: FileReader, column: str) -> JsonRows | ParquetRows:
    """Return the rows of a file that has columns, by its name.

    Raises:
        ImportError: an optional package is needed and not installed.
        OSError: a Parquet file cannot be read.
        SourceError: (a ValueError) it is no such file, or has no such column.
    """
    if reader.kind in _JSON_SUFFIXES:
        return JsonRows(reader, column)
    if reader.kind not in _PARQUET_SUFFIXES:
        reader.path.stat()  # first, that it is there
        raise SourceError(
            f"{reader.path}: its name is that of no file with rows: JSON Lines end in .jsonl, "
            "Parquet in .parquet"
        )
    if reader.packing:
        problem = "parquet has its own compression: decompress this file first"
        raise SourceError(f"{reader.path}: {problem}")
    return ParquetRows(reader.path, column)


def _hint_for_item(item: object) -> str:
    """Return how what is no text becomes one."""
    if isinstance(item, (bytes, bytearray)):
        return ": decode it"
    if isinstance(item, os.PathLike):
        return ": pass a list of file names"
    if column_names(item) is not None:
        return ": pass the name of the column that has the text as column"
    if hasattr(item, "as_py"):
        return ": pass an Arrow table, and the name of its column as column"
    return hint_for(item)


def _type_name(value: object) -> str:
    return type(value).__name__
