"""The chunks of a column of texts, as columns; if possible without an object for each chunk."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cutline.checks import need_unchanged
from cutline.chunking import TokenChunker
from cutline.chunking.chunker import Chunker
from cutline.chunking.text_blocks import CutBlock, block_size
from cutline.chunks import Chunk
from cutline.encoding import Encoding
from cutline.integrations.text_column import TextColumn, need_pyarrow
from cutline.kernels.cut.windows import code_points, cut_column
from cutline.threads import cut_into_blocks, map_threads

if TYPE_CHECKING:
    import pyarrow

__all__ = ["CHUNK_COLUMNS", "SENT_COLUMN", "chunk_columns", "chunk_fields"]

CHUNK_COLUMNS = (
    "text",
    "start_index",
    "end_index",
    "token_count",
    "index",
    "headings",
    "boundary",
    "metadata",
)

SENT_COLUMN = "sent"
"""What a template sends for a chunk."""

# The row of each chunk's text, and the columns.
Columns = tuple[NDArray[np.int64], "list[pyarrow.Array]"]


def chunk_fields(text_type: "pyarrow.DataType", sent: bool = False) -> "list[pyarrow.Field]":
    """Return the fields of `CHUNK_COLUMNS`, for texts of a type; and of what is sent, if asked."""
    pa = need_pyarrow()
    types = (text_type, *[pa.int64()] * 4, pa.list_(pa.string()), pa.string(), pa.string())
    fields = [
        pa.field(name, kind, nullable=name == "boundary")
        for name, kind in zip(CHUNK_COLUMNS, types, strict=True)
    ]
    return [*fields, pa.field(SENT_COLUMN, text_type, nullable=False)] if sent else fields


def chunk_columns(
    column: TextColumn, chunker: Chunker, num_threads: int, batch: "pyarrow.RecordBatch"
) -> Columns:
    """Cut texts; return the row of each chunk's text, and the columns of `chunk_fields`.

    Fields of the chunker's template are the batch's columns.

    Raises:
        BudgetError, UnsupportedPatternError: as the chunker; a note names the row.
        ValueError: the chunks' texts have 2 GiB or more and the column is of type `string`.
    """
    if (encoding := _plain_encoding(chunker)) is not None:
        cuts = _cut(column, chunker, encoding, num_threads)
        return cuts.rows, _columns_of_cuts(column, cuts)
    # One bad document must not end a whole job.
    chunker = chunker._apart()
    template_of = _templates(chunker, batch)
    cut_block = chunker._block_cutter()
    blocks = cut_into_blocks(column.offsets[1:], block_size(cut_block))
    chunk_rows = partial(_chunk_rows, column, template_of, chunker, cut_block)
    parts = map_threads(chunk_rows, blocks, num_threads)
    chunks = [one for part in parts for one in part]
    rows = np.repeat(np.arange(len(column)), np.fromiter(map(len, chunks), np.int64, len(column)))
    columns = _columns_of_chunks(column, list(chain.from_iterable(chunks)))
    if chunker.template is not None:
        pa = need_pyarrow()
        sent = [
            text
            for row, few in enumerate(chunks) if few
            for text in map(template_of(row).render, few)
        ]  # fmt: skip
        columns.append(_as_type(pa.array(sent, pa.large_string()), column))
    return rows, columns


def _templates(chunker: Chunker, batch: "pyarrow.RecordBatch") -> Callable[[int], Any]:
    """Return a function from a row to the chunker's template, filled from the row."""
    template = chunker.template
    missing = template.missing if template is not None else ()
    if template is None or not missing:
        return lambda row: template
    known = {name: batch.column(name).to_pylist() for name in missing if name in batch.schema.names}
    if len(known) < len(missing):
        template.fill_from(dict.fromkeys(batch.schema.names))  # raises
    return lambda row: template.fill(**{name: values[row] for name, values in known.items()})


def _plain_encoding(chunker: Chunker) -> Encoding | None:
    """Return the encoding of a chunker that is equivalent to its kernel; else None."""
    encoding = chunker.encoding
    # Subclasses may split differently.
    if type(chunker) is not TokenChunker or type(encoding) is not Encoding:
        return None
    return encoding if chunker._is_plain and not encoding._changes_texts else None


def _chunk_rows(
    column: TextColumn, template_of: Callable[[int], Any], chunker: Chunker,
    cut_block: CutBlock | None, block: range,
) -> list[list[Chunk]]:  # fmt: skip
    """Cut the texts of some rows: together those that can be, the others one by one."""
    found: list[list[Chunk] | None] = [None] * len(block)
    if cut_block is not None and len(block) > 1:
        found = chunker._chunk_together([column.text(row) for row in block], cut_block)
    return [
        _chunk_row(column, template_of, chunker, row) if chunks is None else chunks
        for row, chunks in zip(block, found, strict=True)
    ]


def _chunk_row(
    column: TextColumn, template_of: Callable[[int], Any], chunker: Chunker, row: int
) -> list[Chunk]:
    try:
        template = template_of(row)
        if template is not chunker.template:
            chunker = chunker.with_template(template)
        return chunker.chunk(column.text(row))
    except (TypeError, ValueError) as error:
        error.add_note(f"in {column.place(row)}")
        raise


# Chunks as objects


def _columns_of_chunks(column: TextColumn, chunks: list[Chunk]) -> "list[pyarrow.Array]":
    pa = need_pyarrow()
    texts = pa.array([chunk.text for chunk in chunks], pa.large_string())
    return [
        _as_type(texts, column),
        *(
            pa.array([getattr(chunk, field.name) for chunk in chunks], field.type)
            for field in chunk_fields(column.type)[1:-2]
        ),
        pa.array([chunk.metadata.get("boundary") for chunk in chunks], pa.string()),
        pa.array([_other_metadata(chunk) for chunk in chunks], pa.string()),
    ]


def _other_metadata(chunk: Chunk) -> str:
    if len(chunk.metadata) == ("boundary" in chunk.metadata):
        return "{}"
    others = {key: value for key, value in chunk.metadata.items() if key != "boundary"}
    return json.dumps(others, ensure_ascii=False)


def _as_type(texts: "pyarrow.Array", column: TextColumn) -> "pyarrow.Array":
    """Cast the chunks' texts to the type of their column."""
    pa = need_pyarrow()
    try:
        return texts.cast(column.type)
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"the chunks of column {column.name!r} have more text than an array of type "
            f"{column.type} holds ({error}): pass fewer rows at a time, or cast the column to "
            "large_string"
        ) from error


# Chunks as arrays


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Chunks of a column's texts: arrays of int64, shape (chunks,).

    Attributes:
        rows: the rows of the texts.
        starts, ends: offsets in the bytes of all texts.
        tokens: token counts.
        places: indices in the text, from 0.
        is_last: bool, whether it is the last chunk of its text.
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    tokens: NDArray[np.int64]
    places: NDArray[np.int64]
    is_last: NDArray[np.bool_]


def _cut(column: TextColumn, chunker: Chunker, encoding: Encoding, num_threads: int) -> _Cuts:
    need_unchanged(encoding, "split(text)")
    blocks = cut_into_blocks(column.offsets[1:])
    parts = map_threads(partial(_cut_block, column, chunker, encoding), blocks, num_threads)
    cuts = np.concatenate([np.empty((0, 4), dtype=np.int64), *(cuts for cuts, _ in parts)])
    counts = np.concatenate([np.empty(0, dtype=np.int64), *(counts for _, counts in parts)])
    rows = np.repeat(np.arange(len(column)), counts)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    base = column.offsets[rows]
    return _Cuts(
        rows, cuts[:, 0] + base, cuts[:, 1] + base, cuts[:, 2], places, cuts[:, 3].astype(np.bool_)
    )


def _cut_block(
    column: TextColumn, chunker: Chunker, encoding: Encoding, block: range
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut the texts of some rows; return their cuts as `cut_column` does, and how many each has."""
    numbers, n_cuts = cut_column(
        column.utf8, column.offsets[block.start : block.stop + 1], encoding, chunker.chunk_size,
        chunker.chunk_overlap,
    )  # fmt: skip
    counts = np.asarray(n_cuts, dtype=np.int64)
    for row in np.flatnonzero(counts < 0)[:1].tolist():
        # Raises for what does not fit.
        _chunk_row(column, lambda _: chunker.template, chunker, block.start + row)
    return np.asarray(numbers, dtype=np.int64).reshape(-1, 4), counts


def _columns_of_cuts(column: TextColumn, cuts: _Cuts) -> "list[pyarrow.Array]":
    import pyarrow.compute as pc

    pa = need_pyarrow()
    n_chunks = len(cuts.rows)
    no_headings = pa.array(np.zeros(n_chunks + 1, dtype=np.int32))
    return [
        _as_type(_slices(column.utf8, cuts.starts, cuts.ends), column),
        pa.array(_in_code_points(column, cuts, cuts.starts)),
        pa.array(_in_code_points(column, cuts, cuts.ends)),
        pa.array(cuts.tokens),
        pa.array(cuts.places),
        pa.ListArray.from_arrays(no_headings, pa.array([], pa.string())),
        pc.if_else(pa.array(cuts.is_last), "end", "character"),
        pa.repeat("{}", n_chunks),
    ]


def _slices(utf8: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> "pyarrow.Array":
    """Return slices of a text as a large_string array, which shares its buffer if they tile it."""
    pa = need_pyarrow()
    lengths = ends - starts
    offsets = np.append(0, np.cumsum(lengths))
    data = pa.py_buffer(utf8)
    if not np.array_equal(offsets[:-1], starts):
        values = pa.Array.from_buffers(pa.uint8(), len(utf8), [None, data])
        views = pa.LargeListViewArray.from_arrays(pa.array(starts), pa.array(lengths), values)
        gathered = views.flatten()
        data = gathered.buffers()[1].slice(gathered.offset)
    return pa.Array.from_buffers(
        pa.large_string(), len(starts), [None, pa.py_buffer(offsets), data]
    )


def _in_code_points(
    column: TextColumn, cuts: _Cuts, places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Convert ascending offsets in the bytes of all texts to offsets in their own text."""
    if column.utf8.isascii():
        return places - column.offsets[cuts.rows]
    before = np.asarray(code_points(column.utf8, column.offsets))
    found: NDArray[np.int64] = np.asarray(code_points(column.utf8, places)) - before[cuts.rows]
    return found
