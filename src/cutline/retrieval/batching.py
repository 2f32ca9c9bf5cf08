"""Batches for embedding: the fewest requests that keep a service's limits, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import index
from typing import Any, TypeVar

from cutline.checks import checked_integer, need_several
from cutline.errors import BudgetError, shown

__all__ = ["batches"]

T = TypeVar("T")
_SHOWN = 40


def batches(
    chunks: Iterable[T],
    *,
    max_tokens: int = 300_000,
    max_items: int = 2_048,
    max_item_tokens: int = 8_192,
    count: Callable[[T], int] | None = None,
) -> Iterator[list[T]]:
    """Yield the chunks in lists, each for one request: as few as the limits allow, in order.

    The defaults are the limits of OpenAI's embedding models.

    Args:
        chunks: in any number; read one at a time. Chunks, or other objects that have a
            `token_count`; pairs of a text and its number of tokens; or with `count` anything.
        max_tokens: the maximum number of tokens of a request, of all its items together.
        max_items: the maximum number of items of a request.
        max_item_tokens: the maximum number of tokens of one item.
        count: returns the tokens that are sent for an item: `encoding.count` for texts; for
            chunks that are sent with more than their text, the `count_text` of their chunker.

    Raises:
        BudgetError: (a ValueError) an item alone is over a limit; names it. What came before it
            and was not yet yielded is not sent.
        TypeError: an item's number of tokens is not known, or no integer.
        ValueError: a limit is below 1, or a number of tokens is negative.

    Cost: linear; it holds one batch at a time.

    >>> import cutline
    >>> chunks = cutline.TextChunker("o200k_base", 5)("One, two. Three, four. Five, six.")
    >>> [[chunk.token_count for chunk in batch] for batch in batches(chunks, max_tokens=10)]
    [[5, 5], [4]]
    >>> list(batches(["a b", "c", "d e"], max_items=2, count=str.__len__))
    [['a b', 'c'], ['d e']]
    """
    limits = {"max_tokens": max_tokens, "max_items": max_items, "max_item_tokens": max_item_tokens}
    for name, limit in limits.items():
        if checked_integer(limit, name) < 1:
            raise ValueError(f"{name} must be 1 or more, got {limit}")
    need_several(chunks, "chunks")
    if count is not None and not callable(count):
        raise TypeError(
            f"count must be a function, such as encoding.count, got {type(count).__name__}"
        )
    # Limits are checked now, not when the first batch is asked for.
    return _batches(chunks, max_tokens, max_items, max_item_tokens, count or _known_count)


def _batches(
    items: Iterable[T],
    max_tokens: int,
    max_items: int,
    max_item_tokens: int,
    count: Callable[[T], int],
) -> Iterator[list[T]]:
    # A request that takes all that fits never leads to more requests than one that takes less.
    batch: list[T] = []
    total = 0
    most = min(max_tokens, max_item_tokens)
    for place, item in enumerate(items):
        tokens = _checked_count(count(item), item, place)
        if tokens > most:
            limit = "max_item_tokens" if most == max_item_tokens else "max_tokens"
            raise BudgetError(
                f"{_shown(item, place)} has {tokens} tokens, more than {limit}={most}: cut it "
                "into smaller chunks"
            )
        if batch and (len(batch) == max_items or total + tokens > max_tokens):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += tokens
    if batch:
        yield batch


def _known_count(item: Any) -> Any:
    """Return the number of tokens that comes with an item."""
    if isinstance(item, tuple) and len(item) == 2:
        return item[1]
    try:
        return item.token_count
    except AttributeError:
        hint = "pass count=encoding.count for texts"
        if isinstance(item, Mapping):
            hint = "pass count=operator.itemgetter('token_count') for rows that have it"
        elif hasattr(item, "chunk"):
            hint = "pass its chunk"
        raise TypeError(
            f"an item must be a chunk, or a pair of a text and its number of tokens, got "
            f"{type(item).__name__}: {hint}"
        ) from None


def _checked_count(tokens: Any, item: object, place: int) -> int:
    try:
        known = index(tokens)
    except TypeError:
        raise TypeError(
            f"the number of tokens of {_shown(item, place)} must be an integer, got {shown(tokens)}"
        ) from None
    if known < 0:
        raise ValueError(f"the number of tokens of {_shown(item, place)} is {known}, below 0")
    return known


def _shown(item: object, place: int) -> str:
    """Name an item: its place, where it lies in its text, and how it begins."""
    text = item[0] if isinstance(item, tuple) and item else getattr(item, "text", item)
    shown = f"item {place}"
    start, end = getattr(item, "start_index", None), getattr(item, "end_index", None)
    if start is not None and end is not None:
        shown += f" (characters {start} to {end})"
    if not isinstance(text, str):
        return shown
    return f"{shown}, {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'!r},"
