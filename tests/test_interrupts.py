"""Ctrl-C stops a long call before it is done, and what it worked on stays usable and exact."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import numpy as np
import pytest

import cutline
from cutline.chunking.markdown_blocks import read_blocks
from cutline.kernels.bpe import build
from cutline.pretokenize.splitting import Splitting, prefix_counts
from cutline.spec import TokenizerSpec
from cutline.tables.bpe_tables import _hash
from cutline.threads import _SharedItems, map_threads
from cutline.vocabulary import Vocabulary
from cutline.words.models import Unigram, WordPiece
from tests.alarms import StopError, alarm
from tests.oracles import real_tiktoken

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")

PROSE: Final = "The quick brown fox, 12 of them; naïve \n" * 250_000
SHORT: Final = PROSE[:400]
ASCII: Final = "The quick brown fox, 12 of them; native \n" * 250_000
# Giant pieces: what windows encode, and what they leave to backtracking.
LINES: Final = "\n" * 1_000_000
LETTERS: Final = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=4_000_000))
AS_AND_BS: Final = "".join(random.Random(1).choices("ab", k=8_000_000))
CHINESE: Final = "".join(random.Random(1).choices("的一是不了人我在有他", k=8_000_000))
ENCODING: Final = cutline.get_encoding("o200k_base")
TIKTOKEN: Final = real_tiktoken("o200k_base")
SPLITTINGS: Final = [
    Splitting(r"\p{N}{1,3}", "isolated", False),
    Splitting(r"\s+", "isolated", False),
]
SLICES: Final = ENCODING.intervals("ab" * 30_000)
SPANS: Final = np.array([[at % 40_000, at % 40_000 + 9_001] for at in range(100_000)])


HASHED: Final = _hash(ENCODING._vocabulary).arrays()
NUMBERS: Final = [b"%d" % number for number in range(100_000, 400_000)]
COUNTS: Final = cutline.PieceCounts.from_pieces(
    ((LETTERS[at : at + 20].encode(), 2) for at in range(0, 1_000_000, 20)), pat_str=None
)
WORDS: Final = TokenizerSpec(
    "words",
    Vocabulary(b"".join(NUMBERS), [6] * 300_000, range(300_000), is_of_words=True),
    None,
    model=WordPiece(0),
)
# One word, each slice of which is counted from its own beginning.
SUMS: Final = TokenizerSpec(
    "sums",
    Vocabulary(b"ab", [1, 1], [0, 1], is_of_words=True),
    None,
    model=Unigram(np.array([-1.0, -2.0]).tobytes(), 1, is_single=True),
)
SUMMED: Final[Any] = cutline.Encoding.from_spec(SUMS).intervals("ab" * 3_000_000)


def in_a_block(chunker: cutline.Chunker) -> None:
    cut_block = chunker._block_cutter()
    assert cut_block is not None
    cut_block([SHORT] * 20_000)


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
    "encode_batch, threads": lambda: ENCODING.encode_batch([PROSE] * 2, num_threads=2),
    "count_batch": lambda: ENCODING.count_batch([PROSE], num_threads=1),
    "count_till_limit": lambda: ENCODING.count_till_limit(PROSE, 10**9),
    "fits": lambda: ENCODING.fits(PROSE, 5_000_000),
    "intervals": lambda: ENCODING.intervals(PROSE),
    "prefix_counts": lambda: prefix_counts(SPLITTINGS, ENCODING, PROSE.encode(), len(PROSE)),
    "count_many": lambda: SLICES.count_many(SPANS),
    "count_many, one word": lambda: SUMMED._kernel.count_many(SPANS[:200] * 9),
    "count, one word": lambda: SUMMED.count(1, 6_000_000),
    "split_at, one word": lambda: SUMMED.split_at(1, 9_000_000),
    "append": lambda: ENCODING.appender().append(PROSE),
    "split": lambda: ENCODING.split(PROSE, 200),
    "truncate": lambda: cutline.truncate(PROSE, 1_000_000, "both", encoding=ENCODING),
    "TextChunker": lambda: cutline.TextChunker(ENCODING, 100).chunk(PROSE),
    "chunk_batch, tokens": lambda: in_a_block(cutline.TokenChunker(ENCODING, 200)),
    "chunk_batch, overlap": lambda: in_a_block(cutline.TokenChunker(ENCODING, 200, 50)),
    "chunk_batch, breaks": lambda: in_a_block(cutline.TextChunker(ENCODING, 200)),
    "never_across": lambda: cutline.TextChunker(ENCODING, 99, never_across="line").chunk(LINES),
    "MarkdownChunker": lambda: cutline.MarkdownChunker(ENCODING, 100).chunk(PROSE),
    "read_blocks, one paragraph": lambda: read_blocks("*a* " * 300_000),
    "pack": lambda: cutline.pack([SHORT] * 20_000, 1_000_000, encoding=ENCODING),
    "token slots": lambda: build.token_slots(*HASHED[:2]),
    "left lengths": lambda: build.monotone_left_lengths(*HASHED),
    "words": lambda: cutline.Encoding.from_spec(WORDS),
    "train_from_counts": lambda: cutline.train_from_counts(COUNTS, 4_000, num_threads=2),
    "count_pieces": lambda: cutline.count_pieces(iter([PROSE] * 3), num_threads=1),
}


def test_threads_end_their_work_when_nobody_waits_for_it() -> None:
    """One fails while another thread counts a text that takes long."""
    done = []

    def work(text: str) -> None:
        if text is SHORT:
            time.sleep(0.02)
            raise StopError
        done.append(ENCODING.count(text))

    for text in (LETTERS * 4, PROSE * 4, CHINESE * 2):
        with pytest.raises(StopError):
            map_threads(work, [SHORT, text], 2)
        assert map_threads(ENCODING.count, [SHORT, SHORT], 2) == [ENCODING.count(SHORT)] * 2
    assert done == []


def test_a_later_item_that_fails_first_does_not_hide_an_earlier_one() -> None:
    def work(place: int) -> None:
        raise ValueError(place)

    class Waiting(deque[int]):
        def popleft(self) -> int:
            place = super().popleft()
            shared.fail(place + 1, ValueError(place + 1))  # as another thread might now
            return place

    shared = _SharedItems(work, [0, 1])
    shared._waiting = Waiting([0, 1])
    shared.work_off()
    with pytest.raises(ValueError, match="0"):
        shared.in_order()


@pytest.fixture
def signals() -> Iterator[list[int]]:
    """Signals one after another: the list gets those that Python has handled.

    The handler raises when that is the third.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        handled.append(number)
        if len(handled) == 3:
            raise StopError

    handled: list[int] = []
    with alarm(handle):
        yield handled


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_long_call_can_be_interrupted(call: Callable[[], Any], signals: list[int]) -> None:
    # A kernel that never looks handles one signal, when it is done.
    signals += [0] * 3
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
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


FIRST_IMPORT: Final = """
import signal, sys, cutline

class Stop(BaseException):
    pass

def stop(*_):
    signal.setitimer(signal.ITIMER_REAL, 0.02)  # where what is raised is lost, as in a callback
    raise Stop

sys.unraisablehook = lambda lost: None
text = "The quick brown fox"
encoding = cutline.get_encoding("o200k_base")
want = encoding.encode(text)
assert "numpy" not in sys.modules
signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
try:
    for _ in range(10**9):
        encoding.encode_to_numpy(text)
except Stop:
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    assert encoding.encode_to_numpy(text).tolist() == want
"""


@pytest.mark.parametrize("milliseconds", [1, 4, 9, 16, 25, 36, 49, 64])
def test_an_interrupt_of_the_first_call_that_needs_numpy_leaves_it_whole(milliseconds: int) -> None:
    """What numpy has compiled cannot be loaded a second time."""
    command = [sys.executable, "-W", "error", "-c", FIRST_IMPORT, str(milliseconds / 1000)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
