"""The texts in a column of what is in memory: a table, or rows one after the other."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cutline.checks import is_missing
from cutline.errors import SourceError
from cutline.training.rows import ColumnWatch, no_column

__all__ = ["column_names", "texts_in_column"]


def column_names(source: object) -> list[Any] | None:
    """Return the names of a table's columns; None: it is no table.

    pandas and Polars call them `columns`, Arrow and datasets `column_names`; a mapping has keys.

    >>> column_names({"id": [1], "text": ["one"]}), column_names(["one"])
    (['id', 'text'], None)
    """
    if isinstance(source, Mapping):
        return list(source)
    for attribute in ("column_names", "columns"):
        names = getattr(source, attribute, None)
        if isinstance(names, Iterable):
            return list(names)
    return None


def texts_in_column(source: Any, column: str) -> Iterator[Any]:
    """Yield a column's values, None for what is missing.

    Args:
        source: a table, or an iterable of rows, which are mappings, or of tables.
        column: the name.

    Raises:
        TypeError: an item of the iterable is neither row nor table, and is named; or the column of
            a table is one value, as in a row.
        SourceError: (a ValueError) there is no such column, or more than one; or the items are
            texts.

    >>> list(texts_in_column([{"text": "one"}, {"text": None}], "text"))
    ['one', None]
    """
    if (names := column_names(source)) is not None:
        yield from _values(source, names, column)
        return
    watch = ColumnWatch(column)
    for number, row in enumerate(source, start=1):
        names = column_names(row)
        if isinstance(row, Mapping):
            yield _plain(row[column]) if watch.is_in(row, f"item {number}") else None
        elif names is not None:
            yield from _values(row, names, column)
        elif isinstance(row, str):
            raise SourceError(f"texts have no columns: leave out column={column!r}")
        else:
            raise TypeError(
                f"with column={column!r} items must be rows, such as dicts: item {number} is "
                f"{type(row).__name__}"
            )
    watch.finish()


def _values(table: Any, names: list[Any], column: str) -> Iterator[Any]:
    if names.count(column) > 1:
        raise SourceError(f"more than one column {column!r}")
    if column not in names:
        raise SourceError(no_column(column, names))
    values = table[column]
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(
            f"column {column!r} must have many texts, got {type(values).__name__}: pass rows in a "
            "list"
        )
    return map(_plain, values)


def _plain(value: Any) -> Any:
    """Return what an Arrow scalar holds; None for what pandas has for a missing value."""
    value = value.as_py() if hasattr(value, "as_py") else value
    return None if is_missing(value) else value
