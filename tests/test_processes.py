"""Many threads at the first call of a process, forks under load, objects handed to processes."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest

import cutline
from tests.oracles import real_tiktoken

N_THREADS: Final = 64
N_FORKS: Final = 30
TEXT: Final = "The quick brown fox, 12 of them; naïve 名前 \n" * 200
NAMES: Final = ("o200k_base", "cl100k_base")

FIRST_CALLS: Final = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor

n_threads, text, names = json.load(sys.stdin)
sys.setswitchinterval(1e-5)
barrier = threading.Barrier(n_threads)

def first_call(number):
    barrier.wait()
    import cutline
    encoding = cutline.get_encoding(names[number % len(names)])
    mine = text + str(number)
    tokens = encoding.encode_ordinary(mine)
    counts = [encoding.count(mine), encoding.intervals(mine).count(0, len(mine))]
    chunks = [chunk.text for chunk in cutline.TextChunker(encoding, 99).chunk(mine)]
    return tokens, counts, chunks

with ThreadPoolExecutor(n_threads) as pool:
    json.dump(list(pool.map(first_call, range(n_threads))), sys.stdout)
"""


def of_a_process_with_threads(test: Callable[[], None]) -> Callable[[], None]:
    """Mark a test that forks. That is deprecated from Python 3.12 on; users still do it.

    Without the GIL the child may wait for the lock of a dict that a thread of its parent held.
    """
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    can = hasattr(os, "fork") and has_gil
    ignored = "ignore:.*multi-threaded.*fork:DeprecationWarning"
    skipped = pytest.mark.skipif(not can, reason="no fork beside threads on this system")
    return pytest.mark.filterwarnings(ignored)(skipped(test))


def test_threads_at_the_first_call_of_a_process() -> None:
    """Also the import, which each of them begins."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS],
        input=json.dumps([N_THREADS, TEXT, NAMES]),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert len(found) == N_THREADS
    for number, (tokens, counts, chunks) in enumerate(found):
        name, mine = NAMES[number % len(NAMES)], TEXT + str(number)
        assert tokens == real_tiktoken(name).encode_ordinary(mine)
        assert counts == [len(tokens)] * 2
        assert chunks == chunks_of(cutline.TextChunker(cutline.get_encoding(name), 99), mine)


@of_a_process_with_threads
def test_forks_while_threads_work() -> None:
    encoding = cutline.get_encoding("o200k_base")
    intervals, appender = encoding.intervals(TEXT), encoding.appender(TEXT)
    want = real_tiktoken("o200k_base").encode_ordinary(TEXT)
    chunks = chunks_of(cutline.TextChunker(encoding, 99), TEXT)
    errors = []

    def work() -> None:
        if encoding.encode_ordinary_batch([TEXT] * 3, num_threads=2) != [want] * 3:
            errors.append("batch")
        if encoding.count(TEXT) != intervals.count(0, len(TEXT)):
            errors.append("count")

    def is_right_in_child() -> bool:
        return (
            encoding.encode_ordinary_batch([TEXT] * 3, num_threads=2) == [want] * 3
            and encoding.count(TEXT) == intervals.count(0, len(TEXT)) == appender.count == len(want)
            and chunks_of(cutline.TextChunker(encoding, 99), TEXT) == chunks
        )

    codes = codes_of_forks_beside(work, 4, is_right_in_child)
    assert codes == [0] * N_FORKS
    assert errors == []


@of_a_process_with_threads
def test_a_growing_text_that_a_fork_met_in_the_making_is_refused_in_the_child() -> None:
    """It would wait for a thread that the child does not have."""
    encoding = cutline.get_encoding("o200k_base")
    appender, apart = encoding.appender(), encoding.appender(TEXT)

    def work() -> None:
        appender.append(TEXT * 30)
        appender.truncate(0)

    def is_whole_or_refused() -> bool:
        apart.append(TEXT)
        try:
            appender.truncate(0)
            appender.append("one two")
        except RuntimeError as error:
            os._exit(9 if "was forked" in str(error) else 3)
        return (appender.count, apart.count) == (2, encoding.count(TEXT * 2))

    codes = codes_of_forks_beside(work, 1, is_whole_or_refused)
    assert set(codes) <= {0, 9}
    assert 9 in codes
    appender.append("one two")
    assert appender.count == 2


@of_a_process_with_threads
def test_a_conversation_that_a_fork_met_in_use_is_refused_in_the_child() -> None:
    """Its lock is of a thread that the child does not have."""
    chat = cutline.ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}", "o200k_base")
    message = {"role": "user", "content": TEXT}
    used, apart = cutline.Conversation(chat, [message]), cutline.Conversation(chat, [message])
    want = chat.count([message])
    used.fits(message, 9)  # Python's own locks of imports stay locked in a child: import before

    def is_whole_or_refused() -> bool:
        try:
            right = used.count == want and len(used) == len(used.messages) == 1
        except RuntimeError as error:
            apart.append(message)
            right = "was forked" in str(error) and apart.count == chat.count([message] * 2)
            os._exit(9 if right else 3)
        used.append(message)
        return right and used.count == chat.count([message] * 2)

    codes = codes_of_forks_beside(lambda: used.fits(message, 9), 1, is_whole_or_refused)
    assert set(codes) <= {0, 9}
    assert 9 in codes
    used.append(message)
    assert used.count == chat.count([message] * 2)


def codes_of_forks_beside(
    work: Callable[[], object], n_threads: int, is_right: Callable[[], bool]
) -> list[int]:
    """Exit codes of children that are forked while threads work on."""
    stopped = threading.Event()

    def work_on() -> None:
        while not stopped.is_set():
            work()

    workers = [threading.Thread(target=work_on) for _ in range(n_threads)]
    for worker in workers:
        worker.start()
    try:
        return [exit_code_of_fork(is_right) for _ in range(N_FORKS)]
    finally:
        stopped.set()
        for worker in workers:
            worker.join()


def exit_code_of_fork(is_right: Callable[[], bool]) -> int:
    """0: it was right; 1: it was not; 2: it raised; -14: it hung."""
    child = os.fork()
    if child == 0:
        code = 2
        signal.alarm(30)
        try:
            code = 0 if is_right() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


METHODS: Final = {"spawn", "forkserver"} & set(multiprocessing.get_all_start_methods())


@pytest.mark.parametrize("method", sorted(METHODS))
def test_another_process_is_handed_an_encoding_and_chunkers(method: str) -> None:
    pytest.importorskip("pyromark", reason="reads the Markdown")
    encoding = cutline.get_encoding("o200k_base")
    chunkers = [cutline.TextChunker(encoding, 99), cutline.MarkdownChunker(encoding, 99)]
    with multiprocessing.get_context(method).Pool(1) as pool:
        tokens, *chunks = pool.apply(work, (encoding, chunkers, TEXT))
    assert tokens == real_tiktoken("o200k_base").encode_ordinary(TEXT)
    assert chunks == [chunks_of(chunker, TEXT) for chunker in chunkers]


def work(encoding: cutline.Encoding, chunkers: list[Any], text: str) -> list[Any]:
    return [encoding.encode_ordinary(text), *(chunks_of(chunker, text) for chunker in chunkers)]


def chunks_of(chunker: Any, text: str) -> list[str]:
    return [chunk.text for chunk in chunker.chunk(text)]


def test_a_second_interpreter_is_refused_at_the_import() -> None:
    """As docs/limits.md says: modules of Cython are of one interpreter."""
    pytest.importorskip("_xxsubinterpreters", reason="a module of CPython up to 3.12")
    code = """
import _xxsubinterpreters as interpreters
import cutline
cutline.get_encoding("gpt2").count("a")
try:
    interpreters.run_string(interpreters.create(), "import cutline")
except interpreters.RunFailedError as error:
    assert "ImportError" in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
