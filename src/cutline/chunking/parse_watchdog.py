"""One thread that ends the parser processes whose time is up.

A thread for each document would cost more than parsing a short one.
"""

from subprocess import Popen
from threading import Condition, Thread
from time import monotonic
from typing import Final

__all__ = ["Watchdog"]

_LONGEST_SLEEP: Final = 1.0
"""Seconds between looks, so that a document that has longer need not wake the thread."""
_IDLE_SECONDS: Final = 10.0
"""After so long without documents the thread ends."""


class Watchdog:
    """Kills processes that are not done in time. Thread-safe."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._ends: dict[Popen[bytes], float] = {}
        self._wakes_at: float | None = None  # None: there is no thread

    def start(self, process: Popen[bytes], seconds: float) -> None:
        """Kill a process in so many seconds, unless it is done before."""
        end = monotonic() + seconds
        with self._changed:
            if self._wakes_at is None:
                Thread(target=self._watch, name="cutline-parsers", daemon=True).start()
                self._wakes_at = end
            elif end < self._wakes_at:
                self._changed.notify()
            self._ends[process] = end

    def done(self, process: Popen[bytes]) -> bool:
        """Leave a process alone. Returns whether it was done in time."""
        with self._changed:
            return self._ends.pop(process, None) is not None

    def _watch(self) -> None:
        busy = monotonic()
        with self._changed:
            while True:
                now = monotonic()
                if self._ends:
                    busy = now
                elif now - busy > _IDLE_SECONDS:
                    self._wakes_at = None
                    return
                for process in [process for process, end in self._ends.items() if end <= now]:
                    del self._ends[process]
                    process.kill()
                self._wakes_at = min([now + _LONGEST_SLEEP, *self._ends.values()])
                self._changed.wait(self._wakes_at - now)
