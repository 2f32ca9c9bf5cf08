"""A pool of parser processes: reused, and replaced when a document crashes one or times out.

A worker has its own limits on memory, and on processor time for each text. It gets a text and
returns numbers, so that the worst it can do is not to answer.
"""

import atexit
import json
import os
import subprocess
import sys
from threading import Lock
from typing import Final

from cutline.chunking.parse_messages import read_message, structure_from, write_messages
from cutline.chunking.parse_watchdog import Watchdog
from cutline.chunking.structure import Structure

__all__ = ["ParserError", "ask"]

LEAST_SECONDS: Final = 5.0
CHARACTERS_A_SECOND: Final = 1_000_000
"""Minimum speed on a long text: a fifth of that of parsers."""

_WALL_CLOCK_FACTOR: Final = 4
"""Elapsed time allowed per second of processor time: the machine may be busy."""

_START: Final = (
    "import sys; sys.path[:] = {paths}; from cutline.chunking.parse_worker import main; main()"
)
_IS_WORKER: Final = "CUTLINE_PARSE_WORKER"
_ENVIRONMENT: Final = {
    _IS_WORKER: "1",
    # BLAS threads would only cost memory in a worker.
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}


class ParserError(Exception):
    """A parser gave no answer; the message says why."""


class _Worker:
    """A process that parses one text after the other."""

    def __init__(self) -> None:
        if not sys.executable or getattr(sys, "frozen", False) or _IS_WORKER in os.environ:
            # sys.executable would start this program again, not Python.
            raise ValueError(f"sys.executable is {sys.executable!r}, no Python to run")
        paths = ascii([path for path in sys.path if isinstance(path, str)])
        # -P keeps the working directory off sys.path.
        arguments = [sys.executable, "-P", "-c", _START.format(paths=paths)]
        # Ctrl-C is for the program only; the worker ends when the program does.
        self.process = subprocess.Popen(
            arguments,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    def ask(self, text: str, language: str, watchdog: Watchdog) -> bytes:
        """Have a text parsed, in the time that the watchdog gives.

        Raises:
            ParserError: the process died or took too long.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        seconds = max(LEAST_SECONDS, len(text) / CHARACTERS_A_SECOND)
        head = json.dumps([language, seconds]).encode()
        source = text.encode("utf-8", "surrogatepass")
        watchdog.start(self.process, _WALL_CLOCK_FACTOR * seconds)
        try:
            write_messages(self.process.stdin.fileno(), head, source)
            return read_message(self.process.stdout.fileno())
        except (OSError, EOFError):
            timed_out = not watchdog.done(self.process)
            self.close()
            if timed_out or self.process.returncode == -_signal_of_time():
                raise ParserError("its parser took too long") from None
            raise ParserError("its parser crashed, or ran out of memory") from None
        except BaseException:  # Ctrl-C: the reply is still in the pipe
            self.close()
            raise
        finally:
            watchdog.done(self.process)

    def close(self) -> None:
        """End the process."""
        self._close_pipes()
        self.process.kill()
        self.process.wait()

    def forget(self) -> None:
        """Forget the process: it belongs to the parent of this forked process."""
        self._close_pipes()
        self.process.returncode = 0  # not our child: do not wait for it

    def _close_pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def _signal_of_time() -> int:
    """Return the signal that ends a worker whose processor time is up."""
    import signal

    return getattr(signal, "SIGPROF", 0)


class _Pool:
    """Idle workers; a thread takes one, or starts one, and puts it back."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[_Worker] = []
        self._most_idle = os.cpu_count() or 1  # on Linux this reads a file
        self.watchdog = Watchdog()

    def take(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.process.poll() is None:
                    return worker
                worker.close()  # killed from outside
        try:
            return _Worker()
        except (OSError, ValueError) as error:
            raise ParserError(f"no process could be started for its parser: {error}") from error

    def put_back(self, worker: _Worker) -> None:
        with self._lock:
            if len(self._idle) < self._most_idle:
                self._idle.append(worker)
                return
        worker.close()

    def close(self) -> None:
        """End all idle workers."""
        while self._idle:
            self._idle.pop().close()

    def forget(self) -> None:
        """Start empty in a forked process, whatever other threads were doing."""
        self._lock = Lock()
        for worker in self._idle:
            worker.forget()
        self._idle = []
        self.watchdog = Watchdog()  # threads do not fork


_pool = _Pool()
atexit.register(_pool.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)


def ask(text: str, language: str) -> Structure:
    """Have a text parsed by a worker, with the result of `parsing.parse`.

    Raises:
        ParserError: the parser crashed, failed, or took too much time or memory.
        ImportError: the parser is not installed.

    Cost: 0.1 to 0.3 s for a new worker; then that of parsing and of transferring the text.
    """
    worker = _pool.take()
    reply = worker.ask(text, language, _pool.watchdog)
    _pool.put_back(worker)
    kind, data = reply[:1], reply[1:]
    if kind == b"m":
        raise ImportError(data.decode())
    if kind == b"f":
        raise ParserError(data.decode())
    return structure_from(data)
