"""Threads that take part in what a kernel does in parts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

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
    threads = [threading.Thread(target=led.assist) for _ in range(n_threads - 1)]
    try:
        with suppress(RuntimeError):  # no more threads: those there are take all
            for thread in threads:
                thread.start()
        yield
    finally:
        led.dismiss()
        for thread in threads:
            if thread.ident is not None:  # it was started
                thread.join()
