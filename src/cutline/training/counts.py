"""`PieceCounts`: the distinct pieces of a corpus, with their counts."""

import json
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from cutline.atomic import replacing
from cutline.checks import checked_integer, need_several, plain_text
from cutline.errors import CorruptDataError, SurrogateError, shown
from cutline.extras import need
from cutline.kernels.base.utf8 import has_surrogates
from cutline.kernels.train.piece_counter import Tally
from cutline.kernels.train.piece_sort import PieceSort
from cutline.training.assisting import assisted
from cutline.training.counts_file import read_counts, write_counts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PieceCounts", "checked_special_texts"]

# To sort: a fraction of a millisecond. Fewer are not worth a thread.
_THREAD_PIECES = 1 << 14
_METADATA_KEY = b"cutline.piece_counts"
_ARRAYS = {"arena": np.uint8, "offsets": np.int64, "counts": np.int64}


class PieceCounts:
    r"""The counts of the distinct pieces of a corpus; from `count_pieces`. Immutable.

    Training needs nothing else of a corpus. Counts can be saved, and those of many machines
    added up. Pieces are sorted by their bytes, so equal counts have equal arrays.

    Args:
        arena: uint8, the pieces' bytes, concatenated.
        offsets: int64, the start of each piece, and the end of the last.
        counts: int64, the number of occurrences of each piece, 1 or more.
        pat_str: the split pattern that made the pieces.
        special_tokens: the texts that were removed before counting.

    Raises:
        ValueError: the arrays are inconsistent, a count is below 1, a piece is empty or
            occurs twice, or the sum of all counts exceeds 2**63 - 1.

    >>> counts = PieceCounts.from_pieces([(b"to", 2), (b" be", 2), (b" or", 1)], pat_str=r" ?\w+")
    >>> len(counts), counts.total, counts.most_common(1)
    (3, 5, [(b' be', 2)])
    >>> (counts + counts).total
    10
    """

    __slots__ = ("_arena", "_counts", "_offsets", "_pat_str", "_special_tokens")

    _arena: NDArray[np.uint8]
    _offsets: NDArray[np.int64]
    _counts: NDArray[np.int64]
    _pat_str: str | None
    _special_tokens: tuple[str, ...]

    def __init__(
        self,
        arena: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        *,
        pat_str: str | None,
        special_tokens: Iterable[str] = (),
    ) -> None:
        _check_arrays(arena, offsets, counts)
        tally = Tally(None)
        try:
            tally.add_pieces(
                np.ascontiguousarray(arena),
                np.ascontiguousarray(offsets),
                np.ascontiguousarray(counts),
            )
        except OverflowError as error:
            raise ValueError(f"{error}") from None
        if tally.distinct != len(counts):
            raise ValueError(
                f"{len(counts) - tally.distinct} pieces occur twice: add their counts up first"
            )
        self._set([tally], pat_str, special_tokens)

    @classmethod
    def from_tallies(
        cls,
        tallies: Iterable[Tally],
        *,
        pat_str: str | None,
        special_tokens: Iterable[str] = (),
        num_threads: int = 1,
    ) -> Self:
        """Make counts of the sum of a kernel's."""
        made = cls.__new__(cls)
        made._set(tallies, pat_str, special_tokens, num_threads)
        return made

    @classmethod
    def from_pieces(
        cls,
        pieces: Mapping[bytes, int] | Iterable[tuple[bytes, int]],
        *,
        pat_str: str | None,
        special_tokens: Iterable[str] = (),
    ) -> Self:
        """Make counts from a mapping, or from pairs such as those of `items`, each piece once.

        Raises:
            ValueError: as the constructor.
            TypeError: a piece is no bytes, or a count no integer.

        >>> PieceCounts.from_pieces({b"to": 2, b"be": 2}, pat_str=None).total
        4
        """
        rows = list(pieces.items() if isinstance(pieces, Mapping) else pieces)
        for piece, _ in rows:
            _checked_piece(piece)
        offsets = np.cumsum([0, *(len(piece) for piece, _ in rows)], dtype=np.int64)
        arena = np.frombuffer(b"".join(piece for piece, _ in rows), dtype=np.uint8)
        try:
            counts = np.array([index(count) for _, count in rows], dtype=np.int64)
        except OverflowError as error:
            raise ValueError("a count exceeds 2**63 - 1") from error
        return cls(arena, offsets, counts, pat_str=pat_str, special_tokens=special_tokens)

    def _set(
        self,
        tallies: Iterable[Tally],
        pat_str: str | None,
        special_tokens: Iterable[str],
        num_threads: int = 1,
    ) -> None:
        sort = PieceSort()
        for tally in tallies:
            tally.put_into(sort)
        n_threads = max(1, min(num_threads, sort.n_rows // _THREAD_PIECES))
        with assisted(sort, n_threads):
            arena, offsets, counts = sort.pieces(n_threads)
        for array in (arena, offsets, counts):
            array.setflags(write=False)
        checked = checked_special_texts(special_tokens)
        values = (arena, counts, offsets, pat_str, checked)
        for attribute, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, attribute, value)

    # Contents

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return arena, offsets and counts, as the constructor takes them; read-only."""
        return self._arena, self._offsets, self._counts

    @property
    def pat_str(self) -> str | None:
        """The split pattern that made the pieces; None if each text is one piece."""
        return self._pat_str

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The texts that were removed before counting."""
        return self._special_tokens

    @property
    def total(self) -> int:
        """The total number of pieces, repeated ones included."""
        return int(self._counts.sum())

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        return self.items()

    def __contains__(self, piece: object) -> bool:
        """Return whether this is one of the pieces; `dict(counts)` has the count of each.

        Raises:
            TypeError: it is no bytes.

        Cost: O(log pieces).

        >>> b"to" in PieceCounts.from_pieces({b"to": 2}, pat_str=None)
        True
        """
        place = bisect_left(range(len(self)), _checked_piece(piece), key=self._piece)
        return place < len(self) and self._piece(place) == piece

    def _piece(self, place: int) -> bytes:
        return self._arena[self._offsets[place] : self._offsets[place + 1]].tobytes()

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each piece with its count, sorted by the pieces' bytes."""
        data = self._arena.tobytes()
        start = 0
        for end, count in zip(self._offsets[1:].tolist(), self._counts.tolist(), strict=True):
            yield data[start:end], count
            start = end

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """Return the n most frequent pieces with their counts; on ties, the smaller piece first.

        Args:
            n: the number of pieces; None: all.
        """
        if n is not None and checked_integer(n, "n") < 0:
            raise ValueError(f"n must be 0 or more, got {n}")
        order = np.argsort(-self._counts, kind="stable")[:n]
        return [(self._piece(place), int(self._counts[place])) for place in order.tolist()]

    # Arithmetic

    def __add__(self, other: object) -> "PieceCounts":
        """Add up the counts of two corpora with the same pattern and special tokens.

        Raises:
            ValueError: split patterns or special tokens differ.
            OverflowError: the sum of all counts exceeds 2**63 - 1.
        """
        if not isinstance(other, PieceCounts):
            return NotImplemented
        for what in ("pat_str", "special_tokens"):
            ours, theirs = getattr(self, what), getattr(other, what)
            if ours != theirs:
                raise ValueError(
                    f"counts can't be added: {what} is {ours!r} in one and {theirs!r} in the "
                    "other; count both with the same"
                )
        tally = Tally(None)
        tally.add_pieces(self._arena, self._offsets, self._counts)
        tally.add_pieces(other._arena, other._offsets, other._counts)
        return PieceCounts.from_tallies(
            [tally], pat_str=self._pat_str, special_tokens=self._special_tokens
        )

    def __radd__(self, other: object) -> "PieceCounts":
        """Let `sum` add up counts: it begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def drop_below(self, n: int) -> "PieceCounts":
        """Return the counts without pieces that occur less than n times.

        Training from them takes less memory and time, but is no longer exact: pairs in the
        dropped pieces are not counted.
        """
        kept = self._counts >= index(n)
        lengths = np.diff(self._offsets)
        return PieceCounts(
            self._arena[np.repeat(kept, lengths)],
            np.append(0, np.cumsum(lengths[kept])),
            self._counts[kept],
            pat_str=self._pat_str,
            special_tokens=self._special_tokens,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PieceCounts):
            return NotImplemented
        return (
            self._pat_str == other._pat_str
            and self._special_tokens == other._special_tokens
            and np.array_equal(self._counts, other._counts)
            and np.array_equal(self._offsets, other._offsets)
            and np.array_equal(self._arena, other._arena)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<PieceCounts: {len(self)} distinct pieces, {self.total} in all>"

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(f"piece counts are immutable; cannot set {attribute!r}")

    def __delattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(f"piece counts are immutable; cannot delete {attribute!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(type(self), pat_str=self._pat_str, special_tokens=self._special_tokens)
        return make, self.arrays()

    # Files and tables

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a file for `load`, atomically.

        Raises:
            OSError: the file cannot be written.

        Source: `cutline/training/counts_file.py` has the format.
        """
        with replacing(path) as sink:
            self.write(sink)

    def write(self, sink: BinaryIO, **note: object) -> None:
        """Write the content of `save` to an open file, with a note for `load_with_note`.

        Args:
            sink: the file.
            note: values that JSON can represent, by name.
        """
        write_counts(sink, self._header() | {"note": note}, self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises:
            CorruptDataError: (a ValueError) the file is damaged, truncated or of another kind;
                names it.
            OSError: the file cannot be read.
        """
        return cls.load_with_note(path)[0]

    @classmethod
    def load_with_note(cls, path: str | os.PathLike[str]) -> tuple[Self, dict[str, Any]]:
        """Read a file that `write` wrote: the counts and the note, empty if there was none.

        Raises:
            CorruptDataError, OSError: as `load`.
        """
        try:
            header, arrays = read_counts(path)
            counts = cls(*arrays, **_checked_header(header))
            note = header.get("note", {})
            if not isinstance(note, dict):
                raise ValueError(f"its note is {note!r}")
        except (ValueError, TypeError) as error:
            raise CorruptDataError(
                f"{os.fspath(path)!r} contains no piece counts, or is damaged: {error}; count again"
            ) from error
        return counts, note

    def to_arrow(self) -> "pa.Table":
        """Return an Arrow table: `piece` (large_binary) and `count` (int64), sorted by piece.

        Split pattern and special tokens are in the schema's metadata. Bytes and counts are
        not copied.

        Raises:
            ImportError: pyarrow is not installed.
        """
        pa = need("pyarrow", "an Arrow table", "arrow")
        pieces = pa.Array.from_buffers(
            pa.large_binary(),
            len(self),
            [None, pa.py_buffer(self._offsets), pa.py_buffer(self._arena)],
        )
        schema = pa.schema(
            [
                pa.field("piece", pa.large_binary(), nullable=False),
                pa.field("count", pa.int64(), nullable=False),
            ],
            metadata={_METADATA_KEY: json.dumps(self._header()).encode()},
        )
        return pa.Table.from_arrays([pieces, pa.array(self._counts)], schema=schema)

    @classmethod
    def from_arrow(cls, table: "pa.Table") -> Self:
        """Make counts from a table such as that of `to_arrow`; rows may be in any order.

        Raises:
            ValueError: metadata or columns are missing or of another type, a value is null, or
                as the constructor.
            ImportError: pyarrow is not installed.
        """
        pa = need("pyarrow", "an Arrow table", "arrow")
        header = (table.schema.metadata or {}).get(_METADATA_KEY)
        if header is None:
            raise ValueError(
                "the table does not say which split pattern made its pieces: give it the metadata "
                "of a table that does, table.replace_schema_metadata(other.schema.metadata)"
            )
        columns = []
        for name, kind in (("piece", pa.large_binary()), ("count", pa.int64())):
            if table.column_names.count(name) != 1:
                raise ValueError(f"the table needs a column {name!r}, got {table.column_names}")
            column = table.column(name)
            if column.null_count:
                raise ValueError(f"column {name!r} of the table has {column.null_count} nulls")
            try:
                columns.append(column.cast(kind).combine_chunks())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise ValueError(f"column {name!r} of the table: {error}") from error
        arena, offsets = _binary_arrays(columns[0])
        counts = columns[1].to_numpy(zero_copy_only=False)
        return cls(arena, offsets, counts, **_parsed_metadata(header))

    def _header(self) -> dict[str, Any]:
        """Return the data besides the arrays."""
        return {"pat_str": self._pat_str, "special_tokens": self._special_tokens}


def checked_special_texts(special_tokens: Iterable[str]) -> tuple[str, ...]:
    """Return the texts of the special tokens, checked.

    Raises:
        TypeError: they are one str or a mapping, or one of them is no str.
        ValueError: one is empty, occurs twice or has a surrogate code point.
    """
    need_several(special_tokens, "special_tokens")
    if isinstance(special_tokens, Mapping):
        raise TypeError(
            "special_tokens must be texts, got a mapping: their ids follow the last merge, in "
            "the order of a list"
        )
    texts: dict[str, None] = {}
    for text in special_tokens:
        plain = plain_text(text, "a special token")
        if not plain:
            raise ValueError("a special token must not be empty")
        if plain in texts:
            raise ValueError(f"special token {shown(plain)} occurs twice")
        if has_surrogates(plain):
            raise SurrogateError(f"special token {shown(plain)} has a surrogate code point")
        texts[plain] = None
    return tuple(texts)


def _checked_piece(piece: object) -> bytes:
    if isinstance(piece, bytes):
        return piece
    raise TypeError(f"pieces must be bytes, got {shown(piece)}")


def _check_arrays(arena: NDArray[Any], offsets: NDArray[Any], counts: NDArray[Any]) -> None:
    """Refuse arrays that kernels must not get."""
    for name, array in (("arena", arena), ("offsets", offsets), ("counts", counts)):
        if not isinstance(array, np.ndarray) or array.dtype != _ARRAYS[name] or array.ndim != 1:
            got = f"{array.dtype}, {array.ndim}-d" if isinstance(array, np.ndarray) else array
            raise ValueError(f"{name} must be {np.dtype(_ARRAYS[name])}, 1-d, got {shown(got)}")
    if len(offsets) != len(counts) + 1:
        raise ValueError(f"{len(counts)} counts need one more offset, got {len(offsets)}")
    if offsets[0] != 0 or offsets[-1] != len(arena):
        raise ValueError(
            f"offsets run from {offsets[0]} to {offsets[-1]}, the pieces' bytes from 0 to "
            f"{len(arena)}"
        )
    fallen = np.flatnonzero(offsets[1:] <= offsets[:-1])
    if fallen.size:
        raise ValueError(f"piece {fallen[0]} has no bytes, or offsets that fall")
    low = np.flatnonzero(counts < 1)
    if low.size:
        raise ValueError(f"counts must be 1 or more, got {counts[low[0]]} for piece {low[0]}")


def _parsed_metadata(data: bytes) -> dict[str, Any]:
    """Read the header in the metadata of a table. Raises ValueError."""
    try:
        header = json.loads(data)
    except RecursionError as error:
        raise ValueError(f"the table's metadata is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"the table's metadata is {header!r}")
    return _checked_header(header)


def _checked_header(header: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `_header` from a header, checked. Raises ValueError."""
    pat_str, special_tokens = header.get("pat_str", ""), header.get("special_tokens")
    if pat_str == "" or not isinstance(pat_str, str | None) or not isinstance(special_tokens, list):
        raise ValueError(f"the header is {header!r}")
    return {"pat_str": pat_str, "special_tokens": special_tokens}


def _binary_arrays(column: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Bytes and offsets of a large_binary array, which may be a slice of a larger one."""
    _, offset_buffer, data_buffer = column.buffers()
    if not len(column):
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)
    offsets = offsets[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    return data[offsets[0] : offsets[-1]], offsets - offsets[0]
