"""Rows of `cutline chunk` as Parquet, written as a stream."""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cutline.cli.failure import Failure
from cutline.extras import need

if TYPE_CHECKING:
    import pyarrow

__all__ = ["need_pyarrow", "parquet"]

# Limits of a row group, which is kept in memory.
_GROUP_ROWS = 16_384
_GROUP_CHARACTERS = 1 << 23


def need_pyarrow() -> None:
    """Check that pyarrow is installed, or say how to install it.

    Raises:
        Failure: `pyarrow` cannot be imported.
    """
    try:
        need("pyarrow.parquet", "--format parquet", "arrow")
    except ImportError as error:
        raise Failure(str(error)) from error


def schema() -> "pyarrow.Schema":
    """Return the columns: those of the JSON lines; "metadata" is JSON, since its keys vary."""
    import pyarrow as pa

    number, text = pa.int64(), pa.string()
    types = {"file": text, "index": number, "start_index": number, "end_index": number}
    types |= {"token_count": number, "text": text, "headings": pa.list_(pa.field("element", text))}
    types |= {"metadata": text, "content_hash": text}
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])


class _Written:
    """A file object whose content is taken out in parts."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def write(self, content: Any) -> int:
        part = bytes(content)
        self._parts.append(part)
        self._size_bytes += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size_bytes

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        """Do nothing: the rest can still be taken."""

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


def parquet(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield a Parquet file in parts; without rows, one that has only columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = schema()
    written = _Written()
    with pq.ParquetWriter(pa.PythonFile(written, mode="w"), columns, compression="zstd") as writer:
        for group in _groups(rows):
            writer.write_table(pa.Table.from_pylist(group, schema=columns))
            yield written.take()
    yield written.take()


def _groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    characters = 0
    for row in rows:
        metadata = json.dumps(row["metadata"], ensure_ascii=False)
        group.append({**row, "metadata": metadata})
        characters += len(row["text"])
        if len(group) >= _GROUP_ROWS or characters >= _GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group
