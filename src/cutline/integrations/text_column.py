"""The texts in a column of an Arrow table: checked once, then read as UTF-8 or as str."""

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cutline.errors import SourceError
from cutline.extras import need
from cutline.training.rows import text_type

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TextColumn", "need_pyarrow"]

need_pyarrow = partial(need, "pyarrow", "an Arrow table", "arrow")


class TextColumn:
    """The texts of a record batch, null as the empty text.

    Args:
        batch: has the column once, with strings: `string`, `large_string`, `string_view`, or
            a dictionary of these; may be a slice of a larger one.
        name: the column's name.
        first_row: the number of the batch's first row, for errors.

    Attributes:
        name: the column's name.
        type: the type of its strings.
        is_null: bool, shape (rows,).

    Raises:
        SourceError: (a ValueError) no such column, or its type is no string, or it has invalid
            UTF-8; names the row.

    Cost: linear in the texts; `string_view`, dictionaries and columns with nulls are copied.
    """

    def __init__(self, batch: "pyarrow.RecordBatch", name: str, first_row: int = 0) -> None:
        pa = need_pyarrow()
        self.name = name
        self.type = text_type(batch.schema, name)
        self._first_row = first_row
        found = batch.column(name)
        try:
            # Offsets and UTF-8: Arrow checks neither on construction; the kernels trust both.
            found.validate(full=True)
        except pa.ArrowInvalid as error:
            raise self._invalid(found, error) from error
        texts = found.cast(pa.large_string())
        self.is_null: NDArray[np.bool_] = texts.is_null().to_numpy(zero_copy_only=False)
        self._texts = texts.fill_null("") if texts.null_count else texts

    def __len__(self) -> int:
        return len(self._texts)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each text starts in `utf8`, and the end of the last: int64, shape (rows + 1,)."""
        offsets: NDArray[np.int64] = self._places - self._places[0]
        return offsets

    @cached_property
    def utf8(self) -> bytes:
        """The UTF-8 of all texts, concatenated: a copy."""
        return self.data.tobytes()

    @cached_property
    def data(self) -> NDArray[np.uint8]:
        """The same where it lies, in Arrow's memory."""
        first, end = int(self._places[0]), int(self._places[-1])
        if first == end:
            return np.empty(0, dtype=np.uint8)
        return np.frombuffer(self._texts.buffers()[2], np.uint8, end - first, first)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Offsets into the data buffer, of which the column may be a slice."""
        if not len(self):
            return np.zeros(1, dtype=np.int64)
        buffer, first = self._texts.buffers()[1], self._texts.offset
        return np.frombuffer(buffer, np.int64, len(self) + 1, 8 * first)

    def text(self, row: int) -> str:
        """Return one of the texts."""
        return str(self._texts[row].as_py())

    def place(self, row: int) -> str:
        """Name the place of a text."""
        return f"row {self._first_row + row} of column {self.name!r}"

    def _invalid(self, found: Any, error: Exception) -> SourceError:
        """Name the first row that is not UTF-8; for other damage, repeat Arrow's message."""
        pa = need_pyarrow()
        damaged = SourceError(f"column {self.name!r}: {error}")
        if isinstance(found, pa.DictionaryArray):
            return damaged
        bytes_of = {
            pa.string(): pa.binary(),
            pa.large_string(): pa.large_binary(),
            pa.string_view(): pa.binary_view(),
        }
        try:
            found.view(bytes_of[found.type]).validate(full=True)
        except pa.ArrowInvalid:  # bad offsets: reading a row could crash
            return damaged
        for row in range(len(found)):
            try:
                found[row].as_py()
            except UnicodeDecodeError as wrong:
                return SourceError(
                    f"{self.place(row)}: invalid utf-8 at byte offset {wrong.start} (byte "
                    f"{wrong.object[wrong.start]:#04x}: {wrong.reason}); Arrow does not check "
                    "its strings: have the column made of binary by a cast, which does"
                )
        return damaged
