"""Parser processes end when their time is up, and one thread sees to it."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from cutline.chunking import parse_watchdog
from cutline.chunking.parse_watchdog import Watchdog

Process = subprocess.Popen[bytes]


@pytest.fixture
def sleeper() -> Iterator[Callable[[], Process]]:
    started: list[Process] = []

    def start() -> Process:
        started.append(
            subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_is_not_done_in_time_is_killed(sleeper: Callable[[], Process]) -> None:
    watchdog, late, soon = Watchdog(), sleeper(), sleeper()
    watchdog.start(late, 3600)
    wait_for(lambda: (watchdog._wakes_at or 0) < time.monotonic() + 60)  # the thread sleeps
    start = time.monotonic()
    watchdog.start(soon, 0.05)  # before the thread would look again
    soon.wait(30)
    assert time.monotonic() - start < 0.05 + parse_watchdog._LONGEST_SLEEP / 2
    assert late.poll() is None
    assert not watchdog.done(soon)
    assert watchdog.done(late)
    assert not watchdog.done(late)


def test_what_is_done_is_left_alone_and_one_thread_does_for_all(
    sleeper: Callable[[], Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_watchdog, "_LONGEST_SLEEP", 0.01)
    watchdog, process = Watchdog(), sleeper()
    starts: list[threading.Thread] = []
    start_thread = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        starts.append(thread)
        start_thread(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    for _ in range(100):
        watchdog.start(process, 0.5)
        assert watchdog.done(process)
    time.sleep(0.6)
    assert process.poll() is None
    assert len(starts) == 1


def test_the_thread_ends_when_it_is_idle_and_is_started_again(
    sleeper: Callable[[], Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_watchdog, "_LONGEST_SLEEP", 0.01)
    monkeypatch.setattr(parse_watchdog, "_IDLE_SECONDS", 0.05)
    watchdog, process = Watchdog(), sleeper()
    for _ in range(2):
        watchdog.start(process, 60)
        assert watchdog._wakes_at is not None
        assert watchdog.done(process)
        wait_for(lambda: watchdog._wakes_at is None)
    watchdog.start(process, 0.01)
    process.wait(30)
