"""Batches in threads: in blocks of texts, one kernel call for each."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Generic, SupportsIndex, TypeVar

from cutline.checks import checked_integer, list_of_texts, text_ends
from cutline.errors import shown
from cutline.kernels.base.signals import release, stop

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BLOCK_CHARACTERS",
    "CUT_CHARACTERS",
    "checked_threads",
    "cut_into_blocks",
    "map_blocks",
    "map_sized",
    "map_threads",
]

# About a millisecond of work, more than the overhead of a task: of what a kernel does with a block
# of texts, and of cutting texts one by one.
BLOCK_CHARACTERS = 1 << 18
CUT_CHARACTERS = 1 << 16

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_blocks(
    work: Callable[[list[str]], Result], texts: Sequence[str], num_threads: int
) -> list[Result]:
    """Apply `work` to consecutive blocks of the texts, in threads if there are several.

    Raises:
        TypeError: a text is not a str; names its place. Or `texts` is one str.
        ValueError: num_threads is below 1.
    """
    texts = list_of_texts(texts)
    blocks = [texts[block.start : block.stop] for block in cut_into_blocks(text_ends(texts))]
    return map_threads(work, blocks, num_threads)


def map_sized(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    size_of: Callable[[Item], int],
    num_threads: int,
    block_size: int = BLOCK_CHARACTERS,
) -> list[Result]:
    """Apply `work` to every item like `map_threads`, small ones together.

    Args:
        work: takes an item.
        items: the items.
        size_of: tells how much work an item is, in characters or tokens.
        num_threads: maximum number of threads.
        block_size: how much work is worth a task.
    """
    blocks = cut_into_blocks(list(accumulate(map(size_of, items))), block_size)

    def work_all(block: range) -> list[Result]:
        return [work(items[place]) for place in block]

    return [made for part in map_threads(work_all, blocks, num_threads) for made in part]


def cut_into_blocks(
    ends: Sequence[int] | NDArray[np.int64], block_size: int = BLOCK_CHARACTERS
) -> list[range]:
    """Cut a row of texts into blocks for `map_threads`: at least one.

    Args:
        ends: where each text ends if they lie one after the other, from 0.
        block_size: of as many characters at least, but for the last one.
    """
    n_full = int(ends[-1]) // block_size if len(ends) else 0
    full = (block_size * block for block in range(1, n_full + 1))
    stops = {len(ends), *(bisect_left(ends, end) + 1 for end in full)}
    return [range(start, stop) for start, stop in pairwise([0, *sorted(stops)])]


def checked_threads(num_threads: SupportsIndex) -> int:
    """Return a number of threads as an int.

    Raises:
        TypeError: it is no integer.
        ValueError: it is below 1.
    """
    num_threads = checked_integer(num_threads, "num_threads")
    if num_threads < 1:
        raise ValueError(f"num_threads must be 1 or more, got {shown(num_threads)}")
    return num_threads


def map_threads(
    work: Callable[[Item], Result], items: Sequence[Item], num_threads: int
) -> list[Result]:
    """Apply `work` to every item, in threads unless there is only one; results in order.

    Where an item raises something, or Ctrl-C does, kernels end what they do with the others.
    """
    num_threads = checked_threads(num_threads)
    if len(items) < 2 or num_threads == 1:
        return [work(item) for item in items]
    # Imported here: it imports `logging`, which would add milliseconds to every start.
    from concurrent.futures import ThreadPoolExecutor

    n_threads = min(num_threads, len(items))
    shared = _SharedItems(work, items)
    # One pool for each call: no pool lives on that a fork could break.
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            try:
                for thread in [pool.submit(shared.work_off) for _ in range(n_threads)]:
                    thread.result()
            except BaseException as error:
                shared.fail(-1, error)
    finally:
        release(set(shared.places))
    return shared.in_order()


class _SharedItems(Generic[Item, Result]):
    """Items that threads take one after another.

    As tasks of a pool they would take 13 µs each, and the thread that waits for them would be woken
    for each, to take a processor and the GIL from those that work.
    """

    def __init__(self, work: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._work = work
        self._items = items
        self._waiting = deque(range(len(items)))
        self._results: dict[int, Result] = {}
        self._failed: dict[int, BaseException] = {}
        self.places: dict[int, int] = {}
        """By a thread's identifier the item that it took last."""

    def work_off(self) -> None:
        """Work on items until there are none, or one has failed."""
        from threading import get_ident

        thread = get_ident()
        with suppress(IndexError):  # of popleft: there are none
            while True:
                place = self.places[thread] = self._waiting.popleft()
                # Looked at after saying what is worked on: see `fail`. An earlier one goes on.
                if any(failed < place for failed in tuple(self._failed)):
                    return
                try:
                    self._results[place] = self._work(self._items[place])
                except BaseException as error:
                    self.fail(place, error)

    def fail(self, place: int, error: BaseException) -> None:
        """Give out no more items, and end what kernels do with later ones than that at `place`."""
        self._failed[place] = error
        self._waiting.clear()
        places = self.places.copy()  # at once, while threads add to it
        stop({thread for thread, taken in places.items() if taken > place})

    def in_order(self) -> list[Result]:
        """Return the results, or raise what the first item did that failed."""
        if not self._failed:
            return [self._results[place] for place in range(len(self._items))]
        error = self._failed[min(self._failed)]
        self._failed.clear()  # its traceback holds this
        try:
            raise error
        finally:
            del error
