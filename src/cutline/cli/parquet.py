"""Rows of `cutline chunk` as Parquet, written as a stream."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cutline.chunks import content_hash
from cutline.cli.failure import Failure
from cutline.cli.rows import metadata_json
from cutline.extras import need
from cutline.kernels.base.utf8 import encode_utf8

if TYPE_CHECKING:
    import pyarrow

    from cutline import Chunk

__all__ = ["need_pyarrow", "parquet"]

# Limits of a row group, which is kept in memory.
_GROUP_ROWS = 16_384
_GROUP_CHARACTERS = 1 << 23
# Columns with few values; to look for repeated texts and hashes takes longer than to write them.
_REPEATED = ["file", "headings.list.element", "metadata"]

Group = list[tuple[str, "Chunk"]]


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


def parquet(results: Iterable[tuple[str, Iterable["Chunk"]]]) -> Iterator[bytes]:
    """Yield a Parquet file in parts; without chunks, one that has only columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = schema()
    written = _Written()
    with pq.ParquetWriter(
        pa.PythonFile(written, mode="w"), columns, compression="zstd", use_dictionary=_REPEATED
    ) as writer:
        for group in _groups(results):
            writer.write_table(_table(group, columns))
            yield written.take()
    yield written.take()


def _groups(results: Iterable[tuple[str, Iterable["Chunk"]]]) -> Iterator[Group]:
    group: Group = []
    characters = 0
    for file, chunks in results:
        for piece in chunks:
            group.append((file, piece))
            characters += len(piece.text)
            if len(group) >= _GROUP_ROWS or characters >= _GROUP_CHARACTERS:
                yield group
                group, characters = [], 0
    if group:
        yield group


def _table(group: Group, columns: "pyarrow.Schema") -> "pyarrow.Table":
    import pyarrow as pa

    files, pieces = zip(*group, strict=True)
    values = (
        files,
        [piece.index for piece in pieces],
        [piece.start_index for piece in pieces],
        [piece.end_index for piece in pieces],
        [piece.token_count for piece in pieces],
        [piece.text for piece in pieces],
        [piece.headings for piece in pieces],
        list(map(metadata_json, pieces)),
        [content_hash(encode_utf8(piece.text), piece.headings) for piece in pieces],
    )
    arrays = [pa.array(part, kind) for part, kind in zip(values, columns.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=columns)
