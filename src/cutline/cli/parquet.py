"""Rows of `cutline chunk` as Parquet, written as a stream."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from cutline.chunks import content_hash
from cutline.cli.failure import Failure
from cutline.cli.parallel import in_order
from cutline.cli.rows import LINES, Render, metadata_json
from cutline.cli.sizes import Place, place_of
from cutline.extras import need
from cutline.kernels.base.utf8 import encode_utf8

if TYPE_CHECKING:
    import pyarrow

    from cutline import Chunk

__all__ = ["need_pyarrow", "parquet"]

# Limits of a row group, which is kept in memory.
_GROUP_ROWS = 16_384
_GROUP_CHARACTERS = 1 << 23
_GROUPS_AHEAD = 2
# Columns with few values; to look for repeated texts and hashes takes longer than to write them.
_REPEATED = ["file", "headings.list.element", "metadata"]
_OFFSETS = ("index", "start_index", "end_index")
_STRING_BYTES = (1 << 31) - 1

Group = tuple[list[str], list["Chunk"]]
"""Chunks, and the file of each."""


def need_pyarrow() -> None:
    """Check that pyarrow is installed, or say how to install it.

    Raises:
        Failure: `pyarrow` cannot be imported.
    """
    try:
        need("pyarrow.parquet", "--format parquet", "arrow")
    except ImportError as error:
        raise Failure(str(error)) from error


def schema(sent: bool = False, lines: bool = False, are_families: bool = False) -> "pyarrow.Schema":
    """Return the columns: those of the JSON lines; "metadata" is JSON, since its keys vary.

    With `sent`, also what is sent for each chunk; with `lines`, the lines that it is on; if the
    chunks are families, their places.
    """
    import pyarrow as pa

    number, text = pa.int64(), pa.string()
    types = {"file": text, "index": number, "start_index": number, "end_index": number}
    types |= dict.fromkeys(LINES, number) if lines else {}
    types |= {"token_count": number, "text": text, "headings": pa.list_(pa.field("element", text))}
    types |= {"metadata": text, "content_hash": text, **({"sent": text} if sent else {})}
    types |= {"level": number, "id": text, "parent_id": text} if are_families else {}
    fields = [pa.field(name, kind, nullable=name == "parent_id") for name, kind in types.items()]
    return pa.schema(fields)


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


def parquet(
    results: Iterable[tuple[str, Iterable["Chunk"]]],
    n_jobs: int = 1,
    render: Render | None = None,
    *,
    lines: bool = False,
    are_families: bool = False,
) -> Iterator[bytes]:
    """Yield a Parquet file in parts; without chunks, one that has only columns.

    With several jobs, a thread writes a row group while the next one is cut.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = schema(render is not None, lines, are_families)
    written = _Written()
    with pq.ParquetWriter(
        pa.PythonFile(written, mode="w"), columns, compression="zstd", use_dictionary=_REPEATED
    ) as writer:

        def part(group: Group) -> bytes:
            writer.write_table(_table(group, columns, render, are_families))
            return written.take()

        weight = 0 if n_jobs == 1 else 1
        calls = ((weight, partial(part, group)) for group in _groups(results))
        # Closed before the writer is: its thread may still write.
        with closing(in_order(calls, 1, _GROUPS_AHEAD)) as parts:
            for taken in parts:
                yield taken()
    yield written.take()


def _groups(results: Iterable[tuple[str, Iterable["Chunk"]]]) -> Iterator[Group]:
    files: list[str] = []
    pieces: list[Chunk] = []
    characters = 0
    for file, chunks in results:
        for piece in chunks:
            files.append(file)
            pieces.append(piece)
            characters += len(piece.text)
            if len(pieces) >= _GROUP_ROWS or characters >= _GROUP_CHARACTERS:
                yield files, pieces
                files, pieces, characters = [], [], 0
    if pieces:
        yield files, pieces


def _table(
    group: Group,
    columns: "pyarrow.Schema",
    render: Render | None = None,
    are_families: bool = False,
) -> "pyarrow.Table":
    """Make the columns from buffers: `pyarrow.array` imports pandas, where that is installed."""
    import pyarrow as pa

    files, pieces = group
    lines = [name for name in LINES if name in columns.names]
    places: list[Place] = []
    if are_families:
        found = [*map(place_of, files, pieces)]
        pieces, places = [piece for piece, _ in found], [place for _, place in found]
    texts = [encode_utf8(piece.text) for piece in pieces]
    headings = [piece.headings for piece in pieces]
    hashes = map(content_hash, texts, headings)
    arrays = [
        _strings([file.encode() for file in files]),
        *(_numbers(map(attrgetter(name), pieces), pa.int64()) for name in _OFFSETS),
        *(_numbers((piece.metadata[name] for piece in pieces), pa.int64()) for name in lines),
        _numbers(map(attrgetter("token_count"), pieces), pa.int64()),
        _strings(texts),
        pa.ListArray.from_arrays(
            _numbers(accumulate(map(len, headings), initial=0), pa.int32()),
            _strings([heading.encode() for path in headings for heading in path]),
        ),
        _strings([metadata_json(piece).encode() for piece in pieces]),
        _strings([digest.encode() for digest in hashes]),
    ]
    if render is not None:
        sent = map(render, files, pieces)
        arrays.append(_strings([text.encode() for text in sent]))
    if are_families:
        levels, ids, parents = zip(*places, strict=True)
        arrays.append(_numbers(levels, columns.field("level").type))
        arrays.append(_strings([one.encode() for one in ids]))
        arrays.append(_strings([None if one is None else one.encode() for one in parents]))
    return pa.Table.from_arrays(arrays, schema=columns)


def _numbers(values: Iterable[int], kind: "pyarrow.DataType") -> "pyarrow.Array":
    # Not kind.to_pandas_dtype(): old versions of pyarrow import pandas for it.
    numbers = np.fromiter(values, f"i{kind.bit_width // 8}")
    return _array(kind, len(numbers), numbers)


def _strings(values: Sequence[bytes | None]) -> "pyarrow.Array":
    """Make a column of strings from their UTF-8; None is null."""
    import pyarrow as pa

    known = None
    if None in values:
        known = np.packbits([value is not None for value in values], bitorder="little")
    texts = [value or b"" for value in values]
    ends = np.cumsum([0, *map(len, texts)])
    if ends[-1] > _STRING_BYTES:
        raise Failure("a chunk has about 2 GiB, too much for Parquet: pass a smaller --chunk-size")
    return _array(pa.string(), len(texts), ends.astype(np.int32), b"".join(texts), known=known)


def _array(kind: "pyarrow.DataType", n: int, *buffers: Any, known: Any = None) -> "pyarrow.Array":
    """Make a column; `known` has a bit for each value that is not null, None: all."""
    import pyarrow as pa

    bits = None if known is None else pa.py_buffer(known)
    return pa.Array.from_buffers(kind, n, [bits, *map(pa.py_buffer, buffers)])
