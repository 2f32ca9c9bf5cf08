"""Workers do all jobs that they are given, once, whoever does them."""

import _thread
import signal
import threading
import time
from contextlib import closing, suppress
from functools import partial
from typing import Any

import pytest

from cutline.training.workers import Job, Workers
from tests.alarms import StopError, alarm

Done = list[int]


def note(number: int, done: Done) -> None:
    time.sleep(0.0001)
    done.append(number)


def end(workers: Workers[Done], jobs: list[Job[Done]], own: Done) -> None:
    """Do the rest as a caller does."""
    while workers.do_newest(own):
        pass
    for job in jobs:
        workers.wait(job)
        assert workers.has_done(job)
    workers.close()


@pytest.mark.parametrize("n_threads", [0, 1, 3])
def test_every_job_is_done_once(n_threads: int) -> None:
    tools: list[Done] = [[] for _ in range(n_threads)]
    own: Done = []
    workers, before = Workers(tools), _thread._count()
    jobs = [Job[Done](partial(note, number)) for number in range(200)]
    for job in jobs:
        workers.put(job)
    end(workers, jobs, own)
    assert sorted(number for done in (own, *tools) for number in done) == list(range(200))
    # Others begin with the oldest, the caller with the newest.
    assert all(done == sorted(done) for done in tools)
    assert own == sorted(own, reverse=True)
    assert _thread._count() == before


def test_all_is_done_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    own: Done = []
    workers = Workers[Done]([[], []])
    jobs = [Job[Done](partial(note, number)) for number in range(5)]
    for job in jobs:
        workers.put(job)
    end(workers, jobs, own)
    assert own == [4, 3, 2, 1, 0]


def test_an_error_is_raised_where_it_is_asked_for() -> None:
    def fail(done: Done) -> None:
        raise ValueError("no")

    workers = Workers[Done]([[]])
    job = Job[Done](fail)
    workers.put(job)
    workers.wait(job)
    with pytest.raises(ValueError, match="no"):
        workers.has_done(job)
    workers.close()


def test_what_is_not_begun_is_not_done_after_close() -> None:
    may_go, done = threading.Event(), [0]
    workers = Workers([done])
    first = Job[Done](lambda done: may_go.wait(10) and done.append(1))
    workers.put(first)
    while workers._jobs:
        time.sleep(0.001)
    workers.put(Job(partial(note, 2)))
    closing = threading.Thread(target=workers.close)
    closing.start()
    while workers._jobs:
        time.sleep(0.001)
    may_go.set()
    closing.join()
    assert done == [0, 1]
    assert not workers.do_newest(done)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
def test_an_interrupt_at_any_place_leaves_no_thread_waiting() -> None:
    before = _thread._count()
    with alarm():
        for number in range(300):
            workers = Workers[Done]([[], []])
            with closing(workers), suppress(StopError):
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + number))
                try:
                    while True:
                        job = Job[Done](lambda done: None)
                        workers.put(job)
                        if not workers.has_done(job) and not workers.do_newest([]):
                            workers.wait(job)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    assert _thread._count() == before
