"""Threads that take part in what a kernel does in parts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from cutline.training.workers import Threads

__all__ = ["assisted"]


class Assisted(Protocol):
    """What one thread leads, and others take part in."""

    def assist(self) -> None:
        """Take part until `dismiss` is called."""

    def dismiss(self) -> None:
        """Let those who take part go."""


@contextmanager
def assisted(led: Assisted, n_threads: int) -> Iterator[None]:
    """Have threads take part, besides the calling one; fewer where the system gives no more."""
    threads = Threads()
    try:
        threads.start([led.assist] * (n_threads - 1))
        yield
    finally:
        led.dismiss()
        threads.join()
