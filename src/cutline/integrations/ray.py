"""Ray datasets: chunks, token counts and piece counts of the texts in a column.

All functions use `Dataset.map_batches` with Arrow batches. Cutline and pyarrow must be installed
on the workers. Errors about a column or a text are raised during Ray's computation, inside its own
errors.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cutline.chunking.chunker import Chunker
from cutline.encoding import Encoding
from cutline.integrations.arrow import chunk_batch, count_batch
from cutline.integrations.piece_tables import PieceTables, piece_schema
from cutline.registry import encoding_of
from cutline.training import PieceCounts
from cutline.vocabulary import O200K_PAT_STR

if TYPE_CHECKING:
    import pyarrow
    from ray.data import Dataset

__all__ = ["chunk_dataset", "count_dataset", "count_pieces"]


def chunk_dataset(
    dataset: "Dataset",
    chunker: Chunker,
    column: str = "text",
    *,
    carry: Sequence[str] | None = None,
    prefix: str = "",
    **options: Any,
) -> "Dataset":
    """Cut the texts of a column into chunks: a row for each chunk.

    Args:
        dataset: the documents.
        chunker: any chunker of cutline; each actor loads it once.
        column: the column of the texts. A null or empty text has no chunks.
        carry: the names of other columns whose values are repeated for each chunk of their
            row; None: all of them. The texts themselves are not carried.
        prefix: a prefix for the names of the new columns.
        options: for `Dataset.map_batches`, such as `compute=ActorPoolStrategy(size=8)`.

    Returns:
        The columns of `cutline.integrations.arrow.chunk_batch`, computed lazily, as in any
        Dataset.

    Cost: that of `chunk_batch`, plus the transfer of the rows between processes.
    Source: docs/integrations/ray.md, whose example is run by the tests.
    """
    arguments = {"chunker": chunker, "column": column, "carry": carry, "prefix": prefix}
    return _map_batches(dataset, chunk_batch, arguments, options)


def count_dataset(
    dataset: "Dataset",
    encoding: Encoding | str,
    column: str = "text",
    *,
    name: str = "token_count",
    **options: Any,
) -> "Dataset":
    """Append a column with the number of tokens of each text.

    Args:
        dataset: the documents.
        encoding: an `Encoding`, or its name; each actor loads it once.
        column: the column of the texts.
        name: the name of the new column, of type int64; null if the text is null.
        options: for `Dataset.map_batches`.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name.

    Source: docs/integrations/ray.md, whose example is run by the tests.
    """
    encoding = encoding_of(encoding)
    arguments = {"encoding": encoding, "column": column, "name": name}
    return _map_batches(dataset, count_batch, arguments, options)


def count_pieces(
    dataset: "Dataset",
    column: str = "text",
    *,
    pat_str: str | None = O200K_PAT_STR,
    special_tokens: Iterable[str] = (),
    num_partitions: int | None = None,
    **options: Any,
) -> PieceCounts:
    """Count the pieces of a column's texts, to train on: `cutline.train_from_counts`.

    Each text is a document; a null is none. A task counts each block, Ray collects the counts of
    equal pieces, and the driver gets each distinct piece once.

    Args:
        dataset: the documents.
        column: the column of the texts.
        pat_str: the split pattern; None: each text is one piece.
        special_tokens: texts that split documents and are not counted.
        num_partitions: the number of groups of pieces, each added up by its own task; None:
            Ray's default, 200, which is many for a small machine.
        options: for `Dataset.map_batches`, such as `num_cpus` of a worker.

    Returns:
        The result of `cutline.count_pieces` for all texts, independent of the blocks.

    Raises:
        SourceError: (a ValueError) there is no text.

    Cost: linear in the text. The distinct pieces must fit into the memory of the driver.
    Source: docs/integrations/ray.md, whose example is run by the tests.
    """
    import pyarrow as pa
    from ray.data import DataContext

    if num_partitions is None:
        num_partitions = DataContext.get_current().default_hash_shuffle_parallelism
    tables = PieceTables(column, pat_str, tuple(special_tokens), num_partitions)
    tables.empty()  # validates the special tokens here, not in a worker
    counted = dataset.select_columns([column]).map_batches(
        tables.counted, batch_format="pyarrow", batch_size=None, **options
    )
    groups = counted.groupby("group", num_partitions)
    added = groups.map_groups(tables.added, batch_format="pyarrow")
    parts = added.iter_batches(batch_size=None, batch_format="pyarrow")
    return tables.summed(pa.concat_tables([piece_schema().empty_table(), *parts]))


def _map_batches(
    dataset: "Dataset",
    function: Callable[..., "pyarrow.Table"],
    arguments: dict[str, Any],
    options: dict[str, Any],
) -> "Dataset":
    made_with = (function, arguments)
    return dataset.map_batches(
        _Actor, batch_format="pyarrow", fn_constructor_args=made_with, **options
    )


class _Actor:
    """Calls a function on batches; its arguments are unpickled once per actor."""

    def __init__(self, function: Callable[..., "pyarrow.Table"], arguments: dict[str, Any]) -> None:
        self._work = partial(function, num_threads=1, **arguments)

    def __call__(self, batch: "pyarrow.Table") -> "pyarrow.Table":
        return self._work(batch)
