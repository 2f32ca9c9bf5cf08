"""Threads that work through a queue of jobs, while the thread that makes these helps."""

import _thread
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Generic, TypeVar

__all__ = ["Job", "Threads", "Workers"]

Tool = TypeVar("Tool")


class Job(Generic[Tool]):
    """What any thread may do, given a tool of its own."""

    __slots__ = ("error", "is_done", "run")

    def __init__(self, run: Callable[[Tool], None]) -> None:
        self.run = run
        self.is_done = False
        self.error: BaseException | None = None


class Threads:
    """Threads that one thread starts and joins, which an interrupt may end between any two calls.

    So it holds no lock that the others would wait for without end, as `threading.Thread.start` and
    `threading.Condition` do: each step is one call into C.
    """

    def __init__(self) -> None:
        self._n_started = 0
        self._ended: SimpleQueue[None] = SimpleQueue()

    def start(self, targets: Sequence[Callable[[], None]]) -> None:
        """Start a thread for each, or fewer where the system gives no more."""
        with suppress(RuntimeError):
            for target in targets:
                _thread.start_new_thread(self._run, (target,))
                self._n_started += 1

    def join(self) -> None:
        """Wait until all have ended."""
        while self._n_started:
            self._ended.get()
            self._n_started -= 1

    def _run(self, target: Callable[[], None]) -> None:
        try:
            target()
        finally:
            self._ended.put(None)


class Workers(Generic[Tool]):
    """Threads that do jobs, the oldest first. Not `concurrent.futures`, which takes long to import.

    The methods are for one thread, which does jobs, too: the newest, as others begin with the
    oldest. So all is done also where the system gives no threads.

    Args:
        tools: what each thread works with, and nobody else meanwhile; one for each thread.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools
        self._threads: Threads | None = None
        self._jobs: deque[Job[Tool]] = deque()
        # True for each job that was put, whoever does it; False: it is over.
        self._calls: SimpleQueue[bool] = SimpleQueue()
        self._done: SimpleQueue[None] = SimpleQueue()  # one for each job that a thread did

    def put(self, job: Job[Tool]) -> None:
        """Let a thread do a job; all start with the first one."""
        self._jobs.append(job)
        self._calls.put(True)
        if self._threads is None:
            self._threads = Threads()
            self._threads.start([partial(self._work, tool) for tool in self._tools])

    def do_newest(self, tool: Tool) -> bool:
        """Do the newest job that no thread has begun, in this thread; False: there is none."""
        try:
            job = self._jobs.pop()
        except IndexError:
            return False
        job.run(tool)
        job.is_done = True
        return True

    def has_done(self, job: Job[Tool]) -> bool:
        """Return whether a job is done.

        Raises:
            BaseException: what it raised.
        """
        if job.is_done and job.error is not None:
            raise job.error
        return job.is_done

    def wait(self, job: Job[Tool]) -> None:
        """Wait for a job that a thread has begun."""
        while not job.is_done:
            self._done.get()

    def close(self) -> None:
        """End the threads; what they have not begun is not done."""
        self._calls.put(False)
        self._jobs.clear()
        if self._threads is not None:
            self._threads.join()

    def _work(self, tool: Tool) -> None:
        while self._calls.get():
            try:
                job = self._jobs.popleft()
            except IndexError:  # the calling thread does it
                continue
            try:
                job.run(tool)
            except BaseException as raised:  # for the thread that asks
                job.error = raised
            job.is_done = True
            self._done.put(None)
        self._calls.put(False)  # for the next one
