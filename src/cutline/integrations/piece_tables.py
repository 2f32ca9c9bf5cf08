"""Distributed piece counts: small tables that an engine groups and workers add up.

A worker counts its texts in the kernel (`counted`), with a row for each group of pieces, not for
each piece, since engines are slow with many small rows. The engine collects the rows of each
group, a worker adds them up in the kernel (`added`), and the driver makes `PieceCounts` from all
groups (`summed`). No piece is in two groups.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cutline.errors import SourceError, UnsupportedPatternError
from cutline.integrations.arrow import ArrowTexts, text_columns
from cutline.integrations.text_column import need_pyarrow
from cutline.kernels.scan.scan import ScanTables
from cutline.kernels.train.piece_counter import Tally
from cutline.tables import build_scan_tables
from cutline.training import PieceCounts
from cutline.training.counting import tally_pieces

if TYPE_CHECKING:
    import pyarrow

    from cutline.kernels.train.piece_sort import Pieces

__all__ = ["PieceTables", "piece_schema"]

_KEPT_TABLES = 8

# Arena, offsets and counts, as in `PieceCounts`.
_ARRAYS = {"arena": np.uint8, "offsets": np.int64, "counts": np.int64}


def piece_schema() -> "pyarrow.Schema":
    """Return the schema of all tables here: a group's number, and three arrays as their bytes."""
    pa = need_pyarrow()
    return pa.schema({"group": pa.int64(), **dict.fromkeys(_ARRAYS, pa.binary())})


@dataclass(frozen=True, slots=True)
class PieceTables:
    r"""The counting of pieces, as shared by workers and driver.

    Args:
        column: the column of the texts.
        pat_str: the split pattern.
        special_tokens: texts that split documents and are not counted.
        n_groups: the number of groups of pieces.

    >>> import pyarrow as pa
    >>> tables = PieceTables("text", r" ?\w+", (), n_groups=3)
    >>> part = tables.counted([pa.record_batch({"text": ["to be or not to be"]})])
    >>> part["group"].to_pylist()
    [0, 1, 2]
    >>> tables.summed(part).most_common(2)
    [(b' be', 2), (b' not', 1)]
    """

    column: str
    pat_str: str | None
    special_tokens: tuple[str, ...]
    n_groups: int

    def empty(self) -> PieceCounts:
        """Return the counts of no text.

        Raises:
            ValueError, TypeError: a special token is empty, occurs twice, or is no str.
        """
        return PieceCounts.from_pieces([], pat_str=self.pat_str, special_tokens=self.special_tokens)

    def counted(self, batches: "pyarrow.Table | Iterable[pyarrow.RecordBatch]") -> "pyarrow.Table":
        """Count the pieces of any number of texts; return a row for each group that has some."""
        groups = enumerate(self._tally(batches).groups(self.n_groups))
        return _table((group, pieces) for group, pieces in groups if pieces is not None)

    def _tally(self, batches: "pyarrow.Table | Iterable[pyarrow.RecordBatch]") -> Tally:
        try:
            scan_tables = None if self.special_tokens else _scan_tables(self.pat_str)
        except UnsupportedPatternError:
            scan_tables = None
        if scan_tables is None:
            texts = ArrowTexts(batches, self.column, may_be_empty=True)
            (tally,) = tally_pieces(texts, self.pat_str, self.special_tokens, num_threads=1)
            return tally
        tally = Tally(scan_tables)
        for column in text_columns(batches, self.column):
            tally.add_documents(column.data, column.offsets)
        return tally

    def added(self, table: "pyarrow.Table") -> "pyarrow.Table":
        """Add up the rows of one group to one row."""
        (pieces,) = _tally(table).groups(1)
        assert pieces is not None  # as in every row
        return _table([(table["group"][0].as_py(), pieces)])

    def summed(self, table: "pyarrow.Table") -> PieceCounts:
        """Make counts from all rows.

        Raises:
            SourceError: (a ValueError) there are none.
        """
        if not len(table):
            raise SourceError(f"no text to train on: no pieces in column {self.column!r}")
        return PieceCounts.from_tallies(
            [_tally(table)], pat_str=self.pat_str, special_tokens=self.special_tokens
        )


@lru_cache(_KEPT_TABLES)
def _scan_tables(pat_str: str | None) -> ScanTables:
    """Build the tables once in a worker process, which runs many tasks."""
    return build_scan_tables(pat_str)


def _table(rows: "Iterable[tuple[int, Pieces]]") -> "pyarrow.Table":
    pa = need_pyarrow()
    names = piece_schema().names
    return pa.Table.from_pylist(
        [
            dict(zip(names, (group, *(array.tobytes() for array in arrays)), strict=True))
            for group, arrays in rows
        ],
        schema=piece_schema(),
    )


def _tally(table: "pyarrow.Table") -> Tally:
    """Add up all rows."""
    tally = Tally(None)
    for cells in zip(*(table[name] for name in _ARRAYS), strict=True):
        arrays = zip(cells, _ARRAYS.values(), strict=True)
        # Copied to bytes: buffers inside an Arrow array need not be aligned.
        tally.add_pieces(*(np.frombuffer(cell.as_py(), kind) for cell, kind in arrays))
    return tally
