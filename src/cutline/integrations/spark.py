"""Spark DataFrames: chunks, token counts and piece counts of the texts in a column.

All functions use `DataFrame.mapInArrow`, which passes rows to Python workers and back as Arrow
batches. Cutline and pyarrow must be installed on the workers. Errors about a text are raised
during Spark's computation, inside its own errors.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cutline.chunking.chunker import Chunker
from cutline.encoding import Encoding
from cutline.integrations.arrow import chunk_batch, chunk_schema, count_batch
from cutline.integrations.chunk_columns import CHUNK_COLUMNS
from cutline.integrations.piece_tables import PieceTables
from cutline.registry import encoding_of
from cutline.training import PieceCounts
from cutline.vocabulary import O200K_PAT_STR

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    Batches = Iterator[pyarrow.RecordBatch]

__all__ = ["chunk_dataframe", "count_dataframe", "count_pieces"]

_KEPT_PAYLOADS = 16
_PIECE_COLUMNS = "group bigint, arena binary, offsets binary, counts binary"


def chunk_dataframe(
    frame: "DataFrame",
    chunker: Chunker,
    column: str = "text",
    *,
    carry: Sequence[str] | None = None,
    prefix: str = "",
) -> "DataFrame":
    """Cut the texts of a column into chunks: a row for each chunk.

    Args:
        frame: the documents.
        chunker: any chunker of cutline; each worker process loads it once.
        column: the column of the texts, of type string. A null or empty text has no chunks.
        carry: the names of other columns whose values are repeated for each chunk of their
            row; None: all of them. The texts themselves are not carried.
        prefix: a prefix for the names of the new columns.

    Returns:
        The carried columns, then those of `cutline.integrations.arrow.chunk_batch`, computed
        lazily, as in any DataFrame.

    Raises:
        ValueError: there is no such column, its type is no string, or a carried column has
            the name of a new one.

    Cost: that of `chunk_batch`, plus the transfer of the rows to Python and back.
    Source: docs/integrations/spark.md, whose example is run by the tests.
    """
    sent = chunker.template is not None
    schema = _chunk_schema(frame, column, carry, prefix, sent)
    carried = schema.names[: -len(CHUNK_COLUMNS) - sent]

    def chunk(batch: "pyarrow.RecordBatch", loaded: Chunker) -> "pyarrow.RecordBatch":
        return chunk_batch(batch, loaded, column, carry=carried, prefix=prefix, num_threads=1)

    return frame.select(*carried, column).mapInArrow(_on_batches(chunk, chunker), schema)


def count_dataframe(
    frame: "DataFrame", encoding: Encoding | str, column: str = "text", *, name: str = "token_count"
) -> "DataFrame":
    """Append a column with the number of tokens of each text.

    Args:
        frame: the documents.
        encoding: an `Encoding`, or its name; each worker process loads it once.
        column: the column of the texts, of type string.
        name: the name of the new column, of type bigint; null if the text is null.

    Raises:
        ValueError: there is no such column, its type is no string, or there is already a
            column of the new name.

    Source: docs/integrations/spark.md, whose example is run by the tests.
    """
    from pyspark.sql.types import LongType, StructField, StructType

    encoding = encoding_of(encoding)
    chunk_schema(_arrow_schema(frame), column, carry=[])
    if name in frame.columns:
        raise ValueError(f"there is a column {name!r} already: choose another name, as by name=...")

    def count(batch: "pyarrow.RecordBatch", loaded: Encoding) -> "pyarrow.RecordBatch":
        return count_batch(batch, loaded, column, name=name, num_threads=1)

    schema = StructType([*frame.schema.fields, StructField(name, LongType())])
    return frame.mapInArrow(_on_batches(count, encoding), schema)


def count_pieces(
    frame: "DataFrame",
    column: str = "text",
    *,
    pat_str: str | None = O200K_PAT_STR,
    special_tokens: Iterable[str] = (),
) -> PieceCounts:
    """Count the pieces of a column's texts, to train on: `cutline.train_from_counts`.

    Each text is a document; a null is none. A worker counts its partition, Spark collects the
    counts of equal pieces, in `spark.sql.shuffle.partitions` groups, and the driver gets each
    distinct piece once.

    Args:
        frame: the documents.
        column: the column of the texts, of type string.
        pat_str: the split pattern; None: each text is one piece.
        special_tokens: texts that split documents and are not counted.

    Returns:
        The result of `cutline.count_pieces` for all texts, independent of the partitions.

    Raises:
        ValueError: there is no such column, its type is no string, or it has no text.

    Cost: linear in the text. The distinct pieces must fit into the memory of a worker, and of the
    driver: `spark.driver.maxResultSize` limits them to 1 GB unless it is set.
    Source: docs/integrations/spark.md, whose example is run by the tests.
    """
    n_groups = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    tables = PieceTables(column, pat_str, tuple(special_tokens), n_groups)
    tables.empty()  # validates the special tokens here, not in a worker
    chunk_schema(_arrow_schema(frame), column, carry=[])

    def count(batches: "Batches") -> "Batches":
        yield from tables.counted(batches).to_batches()

    def add(table: "pyarrow.Table") -> "pyarrow.Table":
        return tables.added(table)

    counted = frame.select(column).mapInArrow(count, _PIECE_COLUMNS)
    added = counted.groupBy("group").applyInArrow(add, _PIECE_COLUMNS)
    return tables.summed(added.toArrow())


def _on_batches(
    work: "Callable[[pyarrow.RecordBatch, Any], pyarrow.RecordBatch]", needed: object
) -> "Callable[[Batches], Batches]":
    """Make the function that `mapInArrow` calls for a partition; `needed` is pickled."""
    from pyspark import cloudpickle

    payload = cloudpickle.dumps(needed)

    def on_batches(batches: "Batches") -> "Batches":
        loaded = _loaded(payload)
        for batch in batches:
            yield work(batch, loaded)

    return on_batches


@lru_cache(_KEPT_PAYLOADS)
def _loaded(payload: bytes) -> Any:
    """Load a chunker or an encoding once in a worker process, which runs many tasks."""
    return pickle.loads(payload)


def _arrow_schema(frame: "DataFrame") -> "pyarrow.Schema":
    """Return the schema that a worker gets of a DataFrame's batches."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema)


def _chunk_schema(
    frame: "DataFrame", column: str, carry: Sequence[str] | None, prefix: str, sent: bool
) -> "StructType":
    """Build the schema of the chunks, like `cutline.integrations.arrow.chunk_schema`."""
    from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

    names = chunk_schema(_arrow_schema(frame), column, carry=carry, prefix=prefix, sent=sent).names
    text = StringType()
    kinds = (text, *[LongType()] * 4, ArrayType(text), text, text, *[text] * sent)
    carried = [frame.schema[name] for name in names[: -len(kinds)]]
    new = [StructField(name, kind) for name, kind in zip(names[-len(kinds) :], kinds, strict=True)]
    return StructType([*carried, *new])
