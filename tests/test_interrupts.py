"""Ctrl-C stops a long call before it is done, and what it worked on stays usable and exact."""

import gc
import random
import signal
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
