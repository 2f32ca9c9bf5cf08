"""Arrow tables: chunks, token counts and tokens of the texts in a column.

Everything that supports Arrow can use these functions: pandas, Polars, DuckDB, `datasets`, and the
engines that `cutline.integrations.spark` and `cutline.integrations.ray` adapt to.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cutline.chunking.chunker import Chunker
from cutline.encoding import Encoding
from cutline.errors import SourceError
from cutline.integrations.chunk_columns import CHUNK_COLUMNS, chunk_columns, chunk_fields
from cutline.integrations.describing import chunker_of
from cutline.integrations.text_column import TextColumn, need_pyarrow
from cutline.registry import encoding_of
from cutline.threads import cut_into_blocks, map_threads
from cutline.training.file_reader import BLOCK_BYTES, character_start
from cutline.training.rows import text_type
from cutline.training.sources import Document, DocumentSource

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "CHUNK_COLUMNS",
    "ArrowTexts",
    "chunk_batch",
    "chunk_schema",
    "count_batch",
    "encode_batch",
]

Result = TypeVar("Result")
Tabular = TypeVar("Tabular", "pyarrow.RecordBatch", "pyarrow.Table")


def chunk_batch(
    batch: Tabular,
    chunker: Chunker,
    column: str = "text",
    *,
    carry: Sequence[str] | None = None,
    prefix: str = "",
    num_threads: int = 8,
) -> Tabular:
    """Cut the texts of a column into chunks: a row for each chunk.

    Args:
        batch: a `pyarrow.RecordBatch` or `pyarrow.Table`, of any size.
        chunker: any chunker of cutline.
        column: the column of the texts: `string`, `large_string`, `string_view`, or a
            dictionary of these. A null or empty text has no chunks.
        carry: the names of other columns whose values are repeated for each chunk of their
            row; None: all of them. The texts themselves are not carried.
        prefix: a prefix for the names of the new columns.
        num_threads: maximum number of threads.

    Returns:
        A RecordBatch or a Table, like the argument, with the carried columns, then `text`,
        `start_index`, `end_index`, `token_count`, `index`, `headings`, `boundary` and
        `metadata`; see `chunk_schema`. If the chunker has a template, also `sent`, what it makes
        of each chunk; its fields such as {title} are columns of the batch. Texts are in their
        order, and so are their chunks.

    Raises:
        SourceError: (a ValueError) there is no such column, its type is no string, or it has
            invalid UTF-8; names the row.
        ValueError: a carried column has the name of a new one; or the chunks' texts have 2 GiB
            or more in a batch whose column is of type `string`.
        BudgetError: (a ValueError) as the chunker; a note names the row.
        TypeError: it is no batch, or there is no chunker or no encoding.
        ImportError: pyarrow is not installed.

    Cost: that of the chunker. A plain `TokenChunker` (without `strip`, `balance`, `stable`,
    `template`, `count_text` and graphemes) makes no Python object for a chunk; other chunkers make
    their `Chunk` objects, which are then put into columns. Without overlap, the texts of plain
    chunks share one copy of the column. Carried columns are taken by row number, in Arrow.
    Source: docs/integrations/arrow.md.

    >>> import cutline, pyarrow as pa
    >>> table = pa.table({"id": [7, 8], "text": ["Measure twice, cut once.", "Cut."]})
    >>> chunks = chunk_batch(table, cutline.TokenChunker("o200k_base", 4))
    >>> chunks.select(["id", "text", "start_index", "token_count"]).to_pydict()
    {'id': [7, 7, 8], 'text': ['Measure twice, cut', ' once.', 'Cut.'], \
'start_index': [0, 18, 0], 'token_count': [4, 2, 2]}
    """
    pa = need_pyarrow()
    _need_tabular(batch)
    sent = chunker_of(chunker).template is not None
    schema = chunk_schema(batch.schema, column, carry=carry, prefix=prefix, sent=sent)
    parts = _parts(batch, column)
    made = [_chunked(part, texts, chunker, schema, num_threads) for part, texts in parts]
    if isinstance(batch, pa.Table):
        return cast("Tabular", pa.Table.from_batches(made, schema=schema))
    return cast("Tabular", made[0])


def _chunked(
    part: "pyarrow.RecordBatch",
    texts: TextColumn,
    chunker: Chunker,
    schema: "pyarrow.Schema",
    num_threads: int,
) -> "pyarrow.RecordBatch":
    """Cut one record batch; the schema is that of the result."""
    pa = need_pyarrow()
    rows, columns = chunk_columns(texts, chunker, num_threads, part)
    carried = part.select(schema.names[: -len(columns)])
    # A table without columns has no row count.
    taken = carried.take(pa.array(rows)).columns if carried.num_columns else []
    return pa.RecordBatch.from_arrays([*taken, *columns], schema=schema)


def chunk_schema(
    schema: "pyarrow.Schema",
    column: str = "text",
    *,
    carry: Sequence[str] | None = None,
    prefix: str = "",
    sent: bool = False,
) -> "pyarrow.Schema":
    """Return the schema of the result of `chunk_batch` for batches of a schema.

    With `sent` it is that of a chunker with a template.

    Its metadata is dropped, since it may describe columns that are not carried.

    Raises:
        SourceError, ValueError: as `chunk_batch`.

    >>> import pyarrow as pa
    >>> print(chunk_schema(pa.schema({"text": "string", "id": "int32"})).to_string())
    id: int32
    text: string not null
    start_index: int64 not null
    end_index: int64 not null
    token_count: int64 not null
    index: int64 not null
    headings: list<item: string> not null
      child 0, item: string
    boundary: string
    metadata: string not null
    """
    pa = need_pyarrow()
    new = [
        field.with_name(prefix + field.name)
        for field in chunk_fields(text_type(schema, column), sent)
    ]
    carried = [name for name in schema.names if name != column] if carry is None else list(carry)
    both = sorted({field.name for field in new}.intersection(carried))
    if both:
        raise ValueError(
            f"columns {', '.join(map(repr, both))} would occur twice, carried and new: rename the "
            "new ones, as by prefix='chunk_', or choose the columns to carry, as by "
            "carry=['id']"
        )
    for name in carried:
        if schema.names.count(name) != 1:
            raise ValueError(f"cannot carry {name!r}: the columns are {schema.names}")
    return pa.schema([*(schema.field(name) for name in carried), *new])


def count_batch(
    batch: Tabular,
    encoding: Encoding | str,
    column: str = "text",
    *,
    name: str = "token_count",
    num_threads: int = 8,
) -> Tabular:
    """Append a column with the number of tokens of each text.

    Args:
        batch: a `pyarrow.RecordBatch` or `pyarrow.Table`.
        encoding: an `Encoding`, or its name.
        column: the column of the texts; see `chunk_batch`.
        name: the name of the new column, of type int64; null if the text is null.
        num_threads: maximum number of threads.

    Raises:
        SourceError: (a ValueError) as `chunk_batch`.
        ValueError: there is already a column of this name.
        TypeError: it is no batch, or there is no chunker or no encoding.
        ImportError: pyarrow is not installed.

    Cost: that of `Encoding.count_batch`. Texts are read where they lie, unless the encoding changes
    them (`cutline.load` of a tokenizer with a normalizer), or its split pattern has no automaton:
    then each is converted to a str.

    >>> import pyarrow as pa
    >>> table = pa.table({"text": ["hello world", None]})
    >>> count_batch(table, "o200k_base")["token_count"].to_pylist()
    [2, None]
    """
    pa = need_pyarrow()
    encoding = _checked_encoding(batch, encoding)

    def counts_of(texts: TextColumn) -> "pyarrow.Array":
        counts = _in_blocks(encoding._count_column, texts, num_threads)
        return pa.array(np.concatenate(counts), mask=texts.is_null)

    return _with_column(batch, column, pa.field(name, pa.int64()), counts_of)


def encode_batch(
    batch: Tabular,
    encoding: Encoding | str,
    column: str = "text",
    *,
    name: str = "tokens",
    num_threads: int = 8,
) -> Tabular:
    """Append a column with the tokens of each text, as `Encoding.encode_ordinary` gives them.

    Args:
        batch: a `pyarrow.RecordBatch` or `pyarrow.Table`.
        encoding: an `Encoding`, or its name.
        column: the column of the texts; see `chunk_batch`.
        name: the name of the new column, of type `list<uint32>`; null if the text is null. All
            tokens of a record batch lie in one array, `column.values`, as `column.offsets` says.
        num_threads: maximum number of threads.

    Raises:
        SourceError: (a ValueError) as `chunk_batch`.
        ValueError: there is already a column of this name; or the texts of a record batch have
            2**31 tokens or more.
        TypeError: it is no batch, or there is no chunker or no encoding.
        ImportError: pyarrow is not installed.

    Cost: that of `Encoding.encode_to_numpy`; see `count_batch`. No Python object is made for a text
    or a token.

    >>> import pyarrow as pa
    >>> table = pa.table({"text": ["hello world", None]})
    >>> encode_batch(table, "o200k_base")["tokens"].to_pylist()
    [[24912, 2375], None]
    """
    pa = need_pyarrow()
    encoding = _checked_encoding(batch, encoding)

    def tokens_of(texts: TextColumn) -> "pyarrow.Array":
        blocks = _in_blocks(encoding._encode_column, texts, num_threads)
        tokens = np.concatenate([tokens for tokens, _ in blocks])
        if len(tokens) >= 1 << 31:
            raise ValueError(
                f"column {column!r} has {len(tokens)} tokens in one record batch, and a list "
                "column can have less than 2**31: pass fewer rows at a time"
            )
        offsets = np.zeros(len(texts) + 1, dtype=np.int32)
        np.cumsum(np.concatenate([counts for _, counts in blocks]), out=offsets[1:])
        mask = pa.array(texts.is_null) if texts.is_null.any() else None
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(tokens), mask=mask)

    return _with_column(batch, column, pa.field(name, pa.list_(pa.uint32())), tokens_of)


def _checked_encoding(batch: object, encoding: Encoding | str) -> Encoding:
    _need_tabular(batch)
    return encoding_of(encoding)


def _need_tabular(batch: object) -> None:
    pa = need_pyarrow()
    if not isinstance(batch, pa.Table | pa.RecordBatch):
        raise TypeError(
            f"batch must be a pyarrow.Table or RecordBatch, got {type(batch).__name__}: "
            "pyarrow.table(...) makes one of a frame of pandas or Polars; pass the batches of a "
            "reader or a dataset one by one"
        )


def _with_column(
    batch: Tabular,
    column: str,
    field: "pyarrow.Field",
    values_of: "Callable[[TextColumn], pyarrow.Array]",
) -> Tabular:
    """Append a column with a value for each text."""
    pa = need_pyarrow()
    text_type(batch.schema, column)
    if field.name in batch.schema.names:
        raise ValueError(
            f"there is a column {field.name!r} already: choose another name, as by name=..."
        )
    values = [values_of(texts) for _, texts in _parts(batch, column)]
    is_table = isinstance(batch, pa.Table)
    return batch.append_column(
        field, pa.chunked_array(values, field.type) if is_table else values[0]
    )


def _in_blocks(
    work: "Callable[[NDArray[np.uint8], NDArray[np.int64]], Result]",
    texts: TextColumn,
    num_threads: int,
) -> "list[Result]":
    """Apply `work` to blocks of the texts, as UTF-8 with their offsets, in threads."""
    offsets = texts.offsets
    blocks = [offsets[block.start : block.stop + 1] for block in cut_into_blocks(offsets[1:])]
    return map_threads(partial(work, texts.data), blocks, num_threads)


class ArrowTexts(DocumentSource):
    """The texts of a column, as documents to train on: for `count_pieces` and `train`.

    Args:
        batches: a Table, a RecordBatch, a RecordBatchReader or another iterable of record
            batches or tables.
        column: the column of the texts; see `chunk_batch`. A null is no document.
        may_be_empty: whether documents without any text are no error.

    Raises, when its documents are read:
        SourceError: (a ValueError) as `chunk_batch`; or no document has text.

    >>> import cutline, pyarrow as pa
    >>> table = pa.table({"text": ["to be or not to be", None, "to see"]})
    >>> cutline.count_pieces(ArrowTexts(table)).most_common(2)
    [(b' be', 2), (b'to', 2)]
    """

    def __init__(
        self,
        batches: "pyarrow.Table | Iterable[pyarrow.RecordBatch | pyarrow.Table]",
        column: str = "text",
        *,
        may_be_empty: bool = False,
    ) -> None:
        self._batches = batches
        self._column = column
        self._may_be_empty = may_be_empty

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents; again only if the batches can be iterated again."""
        has_text = self._may_be_empty
        for _, texts in _parts(self._batches, self._column):
            has_text |= bool(texts.utf8)
            for row in np.flatnonzero(~texts.is_null).tolist():
                yield _ArrowDocument(texts, row)
        if not has_text:
            raise SourceError(f"no text to train on: nothing in column {self._column!r}")


class _ArrowDocument:
    """One text of a column, read as UTF-8."""

    __slots__ = ("_row", "_texts")

    def __init__(self, texts: TextColumn, row: int) -> None:
        self._texts = texts
        self._row = row

    @property
    def text(self) -> str:
        """The whole text."""
        return self._texts.text(self._row)

    def blocks(self) -> Iterator[bytes]:
        """Yield the parts of the text."""
        start, end = self._texts.offsets[self._row : self._row + 2].tolist()
        utf8 = self._texts.utf8
        while start < end:
            stop = min(character_start(utf8, start + BLOCK_BYTES), end)
            yield utf8[start:stop]
            start = stop


def text_columns(
    batches: "pyarrow.Table | Iterable[pyarrow.RecordBatch | pyarrow.Table]", column: str
) -> Iterator[TextColumn]:
    """Yield the texts of each record batch; raises as `ArrowTexts`."""
    return (texts for _, texts in _parts(batches, column))


def _parts(
    batches: "pyarrow.Table | Iterable[pyarrow.RecordBatch | pyarrow.Table]", column: str
) -> "Iterator[tuple[pyarrow.RecordBatch, TextColumn]]":
    """Yield record batches, each with its texts."""
    pa = need_pyarrow()
    first_row = 0
    # Iterating over a Table or RecordBatch would yield its columns.
    for part in [batches] if isinstance(batches, (pa.Table, pa.RecordBatch)) else batches:
        for batch in part.to_batches() if isinstance(part, pa.Table) else [part]:
            yield batch, TextColumn(batch, column, first_row)
            first_row += batch.num_rows
