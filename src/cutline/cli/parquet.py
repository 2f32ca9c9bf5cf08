"""Rows of `cutline chunk` as Parquet, written as a stream."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate, chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.checks import without_surrogates
from cutline.chunks import Chunk, content_hash, text_hashes
from cutline.cli.failure import Failure
from cutline.cli.parallel import in_order
from cutline.cli.rows import LINES, Found, Render, boundary_json, metadata_json
from cutline.cli.sizes import Place, place_of
from cutline.extras import need
from cutline.kernels.base.utf8 import encode_utf8

if TYPE_CHECKING:
    import pyarrow

    from cutline.chunking.chunk_run import ChunkRun

__all__ = ["parquet"]

# Limits of a row group, which is kept in memory.
_GROUP_ROWS = 16_384
_GROUP_CHARACTERS = 1 << 23
_GROUPS_AHEAD = 2
# Columns with few values; to look for repeated texts and hashes takes longer than to write them.
_REPEATED = ["file", "headings.list.element", "metadata"]
_NUMBERS = attrgetter("index", "start_index", "end_index", "token_count")
_STRING_BYTES = (1 << 31) - 1
_LONG_BYTES = 1 << 16  # of texts: to copy them takes longer than to write another array

Part = tuple[str, "list[Chunk] | ChunkRun"]
"""Chunks of a file."""


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

    def take(self) -> list[bytes]:
        taken, self._parts = self._parts, []
        return taken


def parquet(
    results: Iterable[tuple[str, Found]],
    n_jobs: int = 1,
    render: Render | None = None,
    *,
    lines: bool = False,
    are_families: bool = False,
) -> Iterator[bytes]:
    """Yield a Parquet file in parts; without chunks, one that has only columns.

    With several jobs, a thread writes a row group while the next one is cut and made into columns.

    Raises:
        Failure: `pyarrow` cannot be imported, or a chunk is too large.
    """
    try:
        pq = need("pyarrow.parquet", "--format parquet", "arrow")
    except ImportError as error:
        raise Failure(str(error)) from error
    import pyarrow as pa

    columns = schema(render is not None, lines, are_families)
    written = _Written()
    with pq.ParquetWriter(
        pa.PythonFile(written, mode="w"), columns, compression="zstd", use_dictionary=_REPEATED
    ) as writer:

        def part(table: pa.Table) -> list[bytes]:
            writer.write_table(table)
            return written.take()

        weight = 0 if n_jobs == 1 else 1
        tables = (_table(group, columns, render, are_families) for group in _groups(results))
        calls = ((weight, partial(part, table)) for table in tables)
        # Closed before the writer is: its thread may still write.
        with closing(in_order(calls, 1, _GROUPS_AHEAD)) as parts:
            for taken in parts:
                yield from taken()
    yield from written.take()


def _groups(results: Iterable[tuple[str, Found]]) -> Iterator[list[Part]]:
    """Yield the chunks of each row group."""
    group = _Group()
    for file, found in results:
        for item in found:
            rest: Chunk | ChunkRun | None = item
            while rest is not None:
                rest = group.take(file, rest)
                if group.is_full:
                    yield group.parts
                    group = _Group()
    if group.parts:
        yield group.parts


class _Group:
    """The chunks of a row group; its last chunk reaches a limit."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._rows, self._characters = _GROUP_ROWS, _GROUP_CHARACTERS  # that are missing

    @property
    def is_full(self) -> bool:
        return self._rows <= 0 or self._characters <= 0

    def take(self, file: str, item: "Chunk | ChunkRun") -> "ChunkRun | None":
        """Take a chunk, or of a run as many as it takes. Returns the others, if there are any."""
        if isinstance(item, Chunk):
            last = self.parts[-1][1] if self.parts and self.parts[-1][0] == file else None
            if isinstance(last, list):
                last.append(item)
            else:
                self.parts.append((file, [item]))
            self._rows -= 1
            self._characters -= len(item.text)
            return None
        sums = list(accumulate(item.lengths))
        n = min(self._rows, bisect_left(sums, self._characters) + 1, len(item))
        self.parts.append((file, item.part(0, n)))
        self._rows -= n
        self._characters -= sums[n - 1]
        return item.part(n, len(item)) if n < len(item) else None


class _Texts(NamedTuple):
    """Texts in UTF-8."""

    parts: list[bytes]  # of one or more each
    sizes: NDArray[np.int64]  # in bytes, of each text


class _Values(NamedTuple):
    """What rows have, by column."""

    numbers: NDArray[np.int64]  # index, start, end and tokens of each
    texts: _Texts
    heading_counts: NDArray[np.int64]
    headings: _Texts
    metadata: _Texts
    hashes: _Texts


def _values(part: "list[Chunk] | ChunkRun") -> _Values:
    if not isinstance(part, list):
        return _values_of_run(part)
    texts = [encode_utf8(piece.text) for piece in part]
    headings = [piece.headings for piece in part]
    return _Values(
        np.array([_NUMBERS(piece) for piece in part], np.int64).reshape(-1, 4),
        _texts(texts),
        np.fromiter(map(len, headings), np.int64),
        _texts([heading.encode() for path in headings for heading in path]),
        _texts([metadata_json(piece).encode() for piece in part]),
        _texts([content_hash(*pair).encode() for pair in zip(texts, headings, strict=True)]),
    )


def _values_of_run(run: "ChunkRun") -> _Values:
    utf8, byte_ends = run.utf8()
    metadata = [boundary_json(name).encode() for name in run.boundary_names]
    kinds = np.asarray(run.boundaries)
    hashes = text_hashes(utf8, byte_ends)
    return _Values(
        np.asarray(run.numbers).reshape(-1, 4),
        _Texts([utf8], np.diff(np.asarray(byte_ends), prepend=0)),
        np.zeros(len(run), np.int64),
        _texts([]),
        _Texts([*map(metadata.__getitem__, kinds.tolist())], _texts(metadata).sizes[kinds]),
        _Texts([hashes], np.full(len(run), len(hashes) // len(run))),
    )


def _texts(values: list[bytes]) -> _Texts:
    return _Texts(values, np.fromiter(map(len, values), np.int64, len(values)))


def _names(group: list[Part]) -> _Texts:
    """Return the names of files, one for each chunk."""
    names = [without_surrogates(file).encode() for file, _ in group]
    counts = [len(part) for _, part in group]
    repeated = [name * count for name, count in zip(names, counts, strict=True)]
    return _Texts(repeated, np.repeat(_texts(names).sizes, counts))


def _table(
    group: list[Part],
    columns: "pyarrow.Schema",
    render: Render | None = None,
    are_families: bool = False,
) -> "pyarrow.Table":
    """Make the columns from buffers: `pyarrow.array` imports pandas, where that is installed."""
    import pyarrow as pa

    lines = [name for name in LINES if name in columns.names]
    pairs: list[tuple[str, Chunk]] = []
    places: list[Place] = []
    if lines or are_families or render is not None:
        pairs = [(file, piece) for file, part in group for piece in part]
    if are_families:
        found = [place_of(file, piece) for file, piece in pairs]
        places = [place for _, place in found]
        pairs = [(file, piece) for (file, _), (piece, _) in zip(pairs, found, strict=True)]
    parts = [[piece for _, piece in pairs]] if pairs else [part for _, part in group]
    numbers, texts, counts, headings, metadata, hashes = zip(*map(_values, parts), strict=True)
    index, start, end, tokens = np.concatenate(numbers).T
    arrays = [
        _column(_names(group)),
        *(_numbers(values, pa.int64()) for values in (index, start, end)),
        *(_numbers((piece.metadata[name] for _, piece in pairs), pa.int64()) for name in lines),
        _numbers(tokens, pa.int64()),
        _long_column(texts),
        pa.ListArray.from_arrays(
            _numbers(_offsets(np.concatenate(counts)), pa.int32()), _column(*headings)
        ),
        _column(*metadata),
        _column(*hashes),
    ]
    if render is not None:
        arrays.append(_strings([render(file, piece).encode() for file, piece in pairs]))
    if are_families:
        levels, ids, parents = zip(*places, strict=True)
        arrays.append(_numbers(levels, columns.field("level").type))
        arrays.append(_strings([without_surrogates(one).encode() for one in ids]))
        arrays.append(
            _strings([one if one is None else without_surrogates(one).encode() for one in parents])
        )
    return pa.Table.from_arrays(arrays, schema=columns)


def _numbers(values: Iterable[int], kind: "pyarrow.DataType") -> "pyarrow.Array":
    # Not kind.to_pandas_dtype(): old versions of pyarrow import pandas for it.
    is_array = isinstance(values, np.ndarray)
    numbers = (
        np.ascontiguousarray(values) if is_array else np.fromiter(values, f"i{kind.bit_width // 8}")
    )
    return _array(kind, len(numbers), numbers)


def _strings(values: Sequence[bytes | None]) -> "pyarrow.Array":
    """Make a column of strings from their UTF-8; None is null."""
    known = None
    if None in values:
        known = np.packbits([value is not None for value in values], bitorder="little")
    return _column(_texts([value or b"" for value in values]), known=known)


def _long_column(texts: Sequence[_Texts]) -> "pyarrow.Array | pyarrow.ChunkedArray":
    """Make a column of strings; of long runs without a copy of them."""
    import pyarrow as pa

    if (
        len(texts) == 1
        or sum(len(part) for one in texts for part in one.parts) // len(texts) < _LONG_BYTES
    ):
        return _column(*texts)
    return pa.chunked_array([_column(part) for part in texts])


def _column(*texts: _Texts, known: Any = None) -> "pyarrow.Array":
    """Make a column of strings that follow one another; `known` as for `_array`."""
    import pyarrow as pa

    parts = [*chain.from_iterable(one.parts for one in texts)]
    utf8 = parts[0] if len(parts) == 1 else b"".join(parts)
    if len(utf8) > _STRING_BYTES:
        raise Failure("a chunk has about 2 GiB, too much for Parquet: pass a smaller --chunk-size")
    offsets = _offsets(np.concatenate([one.sizes for one in texts]))
    return _array(pa.string(), len(offsets) - 1, offsets, utf8, known=known)


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return where each of the values begins that follow one another, and where the last ends."""
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _array(kind: "pyarrow.DataType", n: int, *buffers: Any, known: Any = None) -> "pyarrow.Array":
    """Make a column; `known` has a bit for each value that is not null, None: all."""
    import pyarrow as pa

    bits = None if known is None else pa.py_buffer(known)
    return pa.Array.from_buffers(kind, n, [bits, *map(pa.py_buffer, buffers)])
