"""Ctrl-C stops a long call before it is done, and what it worked on stays usable and exact."""

import gc
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import numpy as np
import pytest

import cutline
from tests.oracles import real_tiktoken

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")

PROSE: Final = "The quick brown fox, 12 of them; naïve \n" * 250_000
SHORT: Final = PROSE[:400]
ENCODING: Final = cutline.get_encoding("o200k_base")
TIKTOKEN: Final = real_tiktoken("o200k_base")
SLICES: Final = ENCODING.intervals("ab" * 30_000)
SPANS: Final = np.array([[at % 40_000, at % 40_000 + 9_001] for at in range(100_000)])

CALLS: dict[str, Callable[[], Any]] = {
    "encode": lambda: ENCODING.encode_ordinary(PROSE),
    "encode, special tokens": lambda: ENCODING.encode(PROSE, allowed_special="all"),
    "encode_to_numpy": lambda: ENCODING.encode_to_numpy(PROSE),
    "encode_batch": lambda: ENCODING.encode_batch([PROSE], num_threads=1),
    "encode_batch, short texts": lambda: ENCODING.encode_batch([SHORT] * 20_000),
    "count": lambda: ENCODING.count(PROSE),
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
def signals() -> Iterator[list[int]]:
    """A signal each millisecond: the list gets those that Python has handled.

    The handler raises when that is the third.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        handled.append(number)
        if len(handled) == 3:
            raise StopError

    handled: list[int] = []
    before = signal.signal(signal.SIGALRM, handle)
    gc.disable()  # what is raised in a collection is lost
    yield handled
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.enable()
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_long_call_can_be_interrupted(call: Callable[[], Any], signals: list[int]) -> None:
    # A kernel that never looks handles one signal, when it is done.
    signals += [0] * 3
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    call()
    assert len(signals) > 3 + 3
    for kept in (2, 0):
        with pytest.raises(StopError):  # noqa: PT012
            signals[:] = [0] * kept
            call()
        assert ENCODING.encode_ordinary(SHORT) == TIKTOKEN.encode_ordinary(SHORT)
        assert SLICES.count(0, 9_001) == len(TIKTOKEN.encode_ordinary("ab" * 4_500 + "a"))


def test_an_interrupted_append_leaves_no_trace(signals: list[int]) -> None:
    appender = ENCODING.appender()
    appender.append(SHORT)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for kept in (2, 1, 0):
        with pytest.raises(StopError):  # noqa: PT012
            signals[:] = [0] * kept
            appender.append(PROSE)
        signals[:] = [0] * 3
        appender.truncate(len(SHORT))
        assert (appender.text, appender.count) == (SHORT, ENCODING.count(SHORT))
