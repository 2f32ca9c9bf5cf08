"""Ctrl-C stops a long call before it is done, and what it worked on stays usable and exact."""

import gc
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import numpy as np
import pytest

import cutline

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")

PROSE: Final = "The quick brown fox, 12 of them; naïve \n" * 250_000
SHORT: Final = PROSE[:400]
ASCII: Final = "The quick brown fox, 12 of them; native \n" * 250_000
# Giant pieces: what windows encode, and what they leave to backtracking.
LETTERS: Final = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=4_000_000))
AS_AND_BS: Final = "".join(random.Random(1).choices("ab", k=8_000_000))
CHINESE: Final = "".join(random.Random(1).choices("的一是不了人我在有他", k=8_000_000))
ENCODING: Final = cutline.get_encoding("o200k_base")
SLICES: Final = ENCODING.intervals("ab" * 30_000)
SPANS: Final = np.array([[at % 40_000, at % 40_000 + 9_001] for at in range(100_000)])

CALLS: dict[str, Callable[[], Any]] = {
    "encode": lambda: ENCODING.encode_ordinary(PROSE),
    "encode, ascii": lambda: ENCODING.encode_ordinary(ASCII),
    "count, ascii": lambda: ENCODING.count(ASCII),
    "encode, special tokens": lambda: ENCODING.encode(PROSE, allowed_special="all"),
    "encode_to_numpy": lambda: ENCODING.encode_to_numpy(PROSE),
    "encode_batch": lambda: ENCODING.encode_batch([PROSE], num_threads=1),
    "encode_batch, short texts": lambda: ENCODING.encode_batch([SHORT] * 20_000),
    "count": lambda: ENCODING.count(PROSE),
    "count, letters": lambda: ENCODING.count(LETTERS),
    "count, two letters": lambda: ENCODING.count(AS_AND_BS),
    "count, Chinese": lambda: ENCODING.count(CHINESE),
    "intervals, letters": lambda: ENCODING.intervals(LETTERS),
    "append, letters": lambda: ENCODING.appender().append(LETTERS[:2_000_000]),
    "count_batch": lambda: ENCODING.count_batch([PROSE], num_threads=1),
    "count_till_limit": lambda: ENCODING.count_till_limit(PROSE, 10**9),
    "fits": lambda: ENCODING.fits(PROSE, 5_000_000),
    "intervals": lambda: ENCODING.intervals(PROSE),
    "count_many": lambda: SLICES.count_many(SPANS),
    "append": lambda: ENCODING.appender().append(PROSE),
    "split": lambda: ENCODING.split(PROSE, 200),
    "truncate": lambda: cutline.truncate(PROSE, 1_000_000, "both", encoding=ENCODING),
    "TextChunker": lambda: cutline.TextChunker(ENCODING, 100).chunk(PROSE),
    "MarkdownChunker": lambda: cutline.MarkdownChunker(ENCODING, 100).chunk(PROSE),
    "pack": lambda: cutline.pack([SHORT] * 20_000, 1_000_000, encoding=ENCODING),
    "count_pieces": lambda: cutline.count_pieces(iter([PROSE] * 3), num_threads=1),
}


class StopError(BaseException):
    pass


@pytest.fixture
def timer() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise StopError

    before = signal.signal(signal.SIGPROF, stop)
    # Python's collector swallows what is raised while a callback runs, such as that of Hypothesis.
    callbacks = gc.callbacks.copy()
    gc.callbacks.clear()
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)
    gc.callbacks.extend(callbacks)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_long_call_can_be_interrupted_at_any_moment(
    call: Callable[[], Any], timer: None, request: pytest.FixtureRequest
) -> None:
    begun = time.process_time()
    call()
    takes = time.process_time() - begun
    rng = random.Random(request.node.name)
    expected = ENCODING.encode_ordinary(SHORT)
    stopped = 0
    for _ in range(4):
        begun = time.process_time()
        try:
            # Of processor time, which does not depend on what else the machine does.
            signal.setitimer(signal.ITIMER_PROF, rng.uniform(0.1, 0.6) * takes)
            call()
            signal.setitimer(signal.ITIMER_PROF, 0)
        except StopError:
            stopped += time.process_time() - begun < 0.85 * takes
        assert ENCODING.encode_ordinary(SHORT) == expected
        assert SLICES.count(0, 9_001) == ENCODING.count("ab" * 4_500 + "a")
    assert stopped > 0


def test_an_interrupted_append_leaves_no_trace(timer: None) -> None:
    appender = ENCODING.appender()
    appender.append(SHORT)
    for seconds in (0.001, 0.01, 0.03):
        with pytest.raises(StopError):  # noqa: PT012
            signal.setitimer(signal.ITIMER_PROF, seconds)
            while True:
                appender.append(PROSE)
                appender.truncate(len(SHORT))
        appender.truncate(len(SHORT))
        assert (appender.text, appender.count) == (SHORT, ENCODING.count(SHORT))


@pytest.mark.parametrize("text", [PROSE, LETTERS], ids=["prose", "letters"])
def test_an_interrupted_prepend_leaves_no_trace(text: str) -> None:
    """Ctrl-C itself: no other signal is looked for, since handlers cannot run in between."""
    end = text[:400]
    prepender = ENCODING.prepender(end)
    seen, undone = [], 0

    def stop(number: int, frame: FrameType | None) -> None:
        seen.append(prepender.count)
        raise StopError

    before = signal.signal(signal.SIGINT, stop)
    try:
        for seconds in (0.05, 0.1, 0.15):
            killer = subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -INT {os.getpid()}"])
            with pytest.raises(StopError):  # noqa: PT012
                while True:
                    prepender.prepend(text)
                    prepender.truncate(len(end))
            killer.wait()
            undone += prepender.text_length == len(end)
            prepender.truncate(len(end))
            assert (prepender.text, prepender.count) == (end, ENCODING.count(end))
            prepender.prepend("hello")
            assert prepender.count == ENCODING.count("hello" + end)
            prepender.truncate(len(end))
    finally:
        signal.signal(signal.SIGINT, before)
    assert undone > 0
    assert len(seen) == 3


def test_a_prepend_goes_on_after_a_handler_that_raises_nothing() -> None:
    prepender, called = ENCODING.prepender(SHORT), []

    def use(number: int, frame: FrameType | None) -> None:
        called.append(prepender.text_length)
        prepender.prepend("x")

    before = signal.signal(signal.SIGINT, use)
    try:
        with subprocess.Popen(["sh", "-c", f"sleep 0.03; kill -INT {os.getpid()}"]):
            prepender.prepend(PROSE)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(called) == 1
    assert prepender.count == ENCODING.count(prepender.text)
    assert prepender.text in (f"{PROSE}x{SHORT}", f"x{PROSE}{SHORT}")
