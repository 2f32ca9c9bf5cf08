"""Work that begins in several threads at the same time."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def at_once(work: Callable[[int], Any], n_threads: int) -> list[Any]:
    """What each thread, told its number, makes; raises what one of them raised."""
    barrier = threading.Barrier(n_threads)

    def begin(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(begin, range(n_threads)))
