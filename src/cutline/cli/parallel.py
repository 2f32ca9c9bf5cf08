"""Work on several processors, with results in order: for many files, and within a large one."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["ahead", "begun", "in_order", "processor_count", "small_in_order"]

_BATCH_WEIGHT = 64
_BATCHES_AHEAD = 24
_CALLS_AHEAD = 4  # for each thread
_BYTES_TOGETHER = 1 << 15  # of small files that a thread is given at once
_MOST_TOGETHER = 64

Item = TypeVar("Item")
Result = TypeVar("Result")


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    calls: Iterable[tuple[int, Callable[[], Result]]], n_threads: int, most: int
) -> Generator[Callable[[], Result]]:
    """Make calls in threads, and yield for each a function that returns its result, or raises.

    Args:
        calls: a weight and a call; a weight of 0 keeps the call out of threads: it is made when
            its result is asked for, and not before those of all earlier ones.
        n_threads: with 1, all calls are made so.
        most: what calls weigh together that are made before their result is asked for.
    """
    # Imported here: it takes milliseconds, and a single file needs none.
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[tuple[int, Future[Result]]] = deque()
    weight = 0
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for size, call in calls:
                while waiting and (
                    not size or weight + size > most or len(waiting) == _CALLS_AHEAD * n_threads
                ):
                    yield waiting[0][1].result
                    weight -= waiting.popleft()[0]
                if size:
                    waiting.append((size, pool.submit(call)))
                    weight += size
                else:
                    yield call
            while waiting:
                yield waiting.popleft()[1].result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def small_in_order(
    calls: Iterable[tuple[int, Callable[[], Result]]], n_threads: int, most: int
) -> Generator[Callable[[], Result]]:
    """Make calls as `in_order` does, several small ones together.

    Handing a call over to a thread takes as long as reading and cutting a small file.
    """
    made = in_order(_together(calls), n_threads, most)
    with closing(made):
        for results in made:
            yield from results()


def _together(
    calls: Iterable[tuple[int, Callable[[], Result]]],
) -> Iterator[tuple[int, Callable[[], list[Callable[[], Result]]]]]:
    """Yield calls that make several calls, with their weight; those of weight 0 stay alone."""
    group: list[Callable[[], Result]] = []
    weight = 0
    for size, call in calls:
        if group and (not size or weight + size > _BYTES_TOGETHER or len(group) == _MOST_TOGETHER):
            yield weight, partial(_results, group)
            group, weight = [], 0
        if size:
            group.append(call)
            weight += size
        else:
            # Made when its result is asked for: not here.
            yield 0, partial(list, [call])
    if group:
        yield weight, partial(_results, group)


def _results(calls: list[Callable[[], Result]]) -> list[Callable[[], Result]]:
    return [_result(call) for call in calls]


def _result(call: Callable[[], Result]) -> Callable[[], Result]:
    """Make a call, and return a function that returns its result, or raises."""
    try:
        result = call()
    except BaseException as error:
        return partial(_raise, error)
    return lambda: result


def _raise(error: BaseException) -> NoReturn:
    raise error


def begun(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, the first of which is taken now: what takes others ahead begins with it."""
    rest = iter(items)
    return chain([*islice(rest, 1)], rest)


def ahead(
    items: Iterable[Item], weight_of: Callable[[Item], int] = lambda item: 1
) -> Iterator[Item]:
    """Yield the items, which another thread takes before they are asked for.

    Args:
        items: the items.
        weight_of: how much one weighs; hundreds are taken before.
    """
    from queue import Queue
    from threading import Thread

    batches: Queue[list[Item] | BaseException | None] = Queue(_BATCHES_AHEAD)
    is_over = False

    def take() -> None:
        batch: list[Item] = []
        weight = 0
        end = None
        try:
            for item in items:
                batch.append(item)
                weight += weight_of(item)
                if weight >= _BATCH_WEIGHT:
                    batches.put(batch)
                    batch, weight = [], 0
                    if is_over:
                        return
        except BaseException as error:
            end = error
        batches.put(batch)
        batches.put(end)

    thread = Thread(target=take, daemon=True)  # must not outlive a program that fails
    thread.start()
    try:
        while isinstance(batch := batches.get(), list):
            yield from batch
        if batch is not None:
            raise batch
    finally:
        is_over = True
        while thread.is_alive():
            while not batches.empty():
                batches.get()  # what waits to put a batch can end
            thread.join(0.01)
