"""Threads that work through a queue of jobs, while the thread that makes these helps."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["Job", "Workers"]

Tool = TypeVar("Tool")


class Job(Generic[Tool]):
    """What any thread may do, given a tool of its own."""

    __slots__ = ("error", "is_done", "run")

    def __init__(self, run: Callable[[Tool], None]) -> None:
        self.run = run
        self.is_done = False
        self.error: BaseException | None = None


class Workers(Generic[Tool]):
    """Threads that do jobs, the oldest first. Not `concurrent.futures`, which takes long to import.

    The methods are for one thread, which does jobs, too: the newest, as others begin with the
    oldest. So all is done also where the system gives no threads.

    Args:
        tools: what each thread works with, and nobody else meanwhile; one for each thread.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools
        self._threads: list[threading.Thread] = []
        self._jobs: deque[Job[Tool]] = deque()
        self._changed = threading.Condition()
        self._is_closed = False

    def put(self, job: Job[Tool]) -> None:
        """Let a thread do a job; all start with the first one."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._work, args=(tool,)) for tool in self._tools
            ]
            with suppress(RuntimeError):  # no more threads: the calling one does all
                for thread in self._threads:
                    thread.start()

    def do_newest(self, tool: Tool) -> bool:
        """Do the newest job that no thread has begun, in this thread; False: there is none."""
        with self._changed:
            if not self._jobs:
                return False
            job = self._jobs.pop()
        job.run(tool)
        job.is_done = True
        return True

    def has_done(self, job: Job[Tool]) -> bool:
        """Return whether a job is done.

        Raises:
            BaseException: what it raised.
        """
        with self._changed:
            if job.error is not None:
                raise job.error
            return job.is_done

    def wait(self, job: Job[Tool]) -> None:
        """Wait for a job that a thread has begun."""
        with self._changed:
            while not job.is_done:
                self._changed.wait()

    def close(self) -> None:
        """End the threads; what they have not begun is not done."""
        with self._changed:
            self._jobs.clear()
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:  # it was started
                thread.join()

    def _work(self, tool: Tool) -> None:
        while (job := self._next()) is not None:
            error = None
            try:
                job.run(tool)
            except BaseException as raised:  # for the thread that asks
                error = raised
            with self._changed:
                job.is_done, job.error = True, error
                self._changed.notify_all()

    def _next(self) -> Job[Tool] | None:
        with self._changed:
            while not self._jobs and not self._is_closed:
                self._changed.wait()
            return None if self._is_closed else self._jobs.popleft()
