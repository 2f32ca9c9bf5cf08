"""Piece counts of parts of a corpus, as Arrow tables that an engine adds up.

A worker counts the texts that it is given in the kernel, `counted`; the engine groups the rows of
all tables by `piece` and sums their `count`; the driver makes `PieceCounts` of them, `summed`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutline.errors import SourceError
from cutline.integrations.arrow import ArrowTexts
from cutline.integrations.text_column import need_pyarrow
from cutline.training import PieceCounts, count_pieces

if TYPE_CHECKING:
    import pyarrow

__all__ = ["PieceTables"]


@dataclass(frozen=True, slots=True)
class PieceTables:
    r"""How pieces are counted: what workers and driver have in common.

    Args:
        column: where the texts are.
        pat_str: the split pattern.
        special_tokens: texts that cut documents and are not counted.

    >>> import pyarrow as pa
    >>> tables = PieceTables("text", r" ?\w+", ())
    >>> part = tables.counted([pa.record_batch({"text": ["to be"]})])
    >>> tables.summed(part).most_common()
    [(b' be', 1), (b'to', 1)]
    """

    column: str
    pat_str: str | None
    special_tokens: tuple[str, ...]

    def empty(self) -> PieceCounts:
        """Return the counts of no text.

        Raises:
            ValueError, TypeError: special tokens are empty or there twice, or no str.
        """
        return PieceCounts.from_pieces([], pat_str=self.pat_str, special_tokens=self.special_tokens)

    def counted(self, batches: "pyarrow.Table | Iterable[pyarrow.RecordBatch]") -> "pyarrow.Table":
        """Count the pieces of some texts, which may be none: a row for each distinct piece."""
        counts = count_pieces(
            ArrowTexts(batches, self.column, may_be_empty=True),
            pat_str=self.pat_str,
            special_tokens=self.special_tokens,
            num_threads=1,
        )
        return counts.to_arrow()

    def summed(self, table: "pyarrow.Table") -> PieceCounts:
        """Make counts of rows with distinct pieces.

        Raises:
            SourceError: (a ValueError) there are none.
        """
        need_pyarrow()
        if not len(table):
            raise SourceError(f"no text to train on: no pieces in column {self.column!r}")
        metadata = self.empty().to_arrow().schema.metadata
        return PieceCounts.from_arrow(table.replace_schema_metadata(metadata))
