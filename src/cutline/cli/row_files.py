"""Files of rows, whatever they are encoded in; imported where there are rows."""

from collections.abc import Iterator
from pathlib import Path

from cutline.cli.decoding import InputError, TextReader
from cutline.cli.streams import STDIN, binary_stream
from cutline.errors import SourceError
from cutline.training.file_reader import FileReader
from cutline.training.rows import JsonRows, ParquetRows
from cutline.training.sources import rows_of

__all__ = ["open_rows"]


class _Recoded(FileReader):
    """A file, or standard input, in UTF-8, whatever it is in."""

    def __init__(self, path: Path, reader: TextReader) -> None:
        super().__init__(path)
        self._reader = reader

    def blocks(self) -> Iterator[bytes]:
        try:
            yield from self._reader.recoded(self._read())
        except InputError as error:
            raise SourceError(f"{self.path}: {error}") from error

    def _read(self) -> Iterator[bytes]:
        if str(self.path) != STDIN:
            return super().blocks()
        stream = binary_stream("stdin")
        return iter(lambda: stream.read(self._block_bytes), b"")


def open_rows(path: Path, column: str, reader: TextReader) -> JsonRows | ParquetRows:
    """Open a file that has rows, or standard input, which is JSON Lines.

    Raises:
        ImportError, OSError, SourceError: as `rows_of`.
    """
    found = _Recoded(path, reader)
    return JsonRows(found, column) if str(path) == STDIN else rows_of(found, column)
