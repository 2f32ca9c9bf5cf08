"""Threads that take part in what a kernel does in parts."""

from collections.abc import Iterator
from contextlib import contextmanager

from cutline.kernels.base.team import Led
from cutline.training.workers import Threads

__all__ = ["assisted"]


@contextmanager
def assisted(led: Led, n_threads: int) -> Iterator[None]:
    """Have threads take part, besides the calling one; fewer where the system gives no more."""
    threads = Threads()
    try:
        threads.start([led.assist] * (n_threads - 1))
        yield
    finally:
        led.dismiss()
        threads.join()
