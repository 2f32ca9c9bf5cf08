"""`IntervalCounter` as an object: offsets of all kinds, errors, memory, threads, processes."""

import gc
import os
import random
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cutline
from cutline.counting.intervals import IntervalCounter
from cutline.errors import OffsetError
from tests.oracles import DISTINCT, counter
from tests.texts import NAMED_TEXTS, base64_text, long_pieces, random_texts, word_text

TEXT = "hello wörld 日本"  # 14 characters, 19 bytes
MANY_WORDS = "".join(word_text(random.Random(seed)) for seed in range(2_000))
RUN = 30_000


def intervals(text: str = TEXT, *, byte_offsets: bool = False) -> IntervalCounter:
    return cutline.get_encoding("o200k_base").intervals(text, byte_offsets=byte_offsets)


# Byte offsets


@pytest.mark.parametrize("name", DISTINCT)
def test_byte_offsets_give_the_same_answers(name: str) -> None:
    encoding, rng = cutline.get_encoding(name), random.Random(1)
    long_texts = (MANY_WORDS[:3_000], "é" * 1_500, "a" * 600 + "日" + "a" * 600, "a" * 1_100)
    for text in [*NAMED_TEXTS.values(), *random_texts(2, 60), *long_texts]:
        by_characters = encoding.intervals(text)
        by_bytes = encoding.intervals(text, byte_offsets=True)
        places = [len(text[:place].encode()) for place in range(len(text) + 1)]
        assert (by_bytes.total, len(by_bytes)) == (by_characters.total, places[-1])
        for _ in range(40):
            start, end = sorted((rng.randrange(len(places)), rng.randrange(len(places))))
            spans = [(start, end)]
            want = by_characters.count(start, end)
            assert by_bytes.count(places[start], places[end]) == want
            assert by_bytes.count_many([(places[start], places[end])]).tolist() == [want]
            assert by_characters.count_many(spans).tolist() == [want]
            n = rng.randrange(9)
            assert by_bytes.split_at(places[start], n) == places[by_characters.split_at(start, n)]


def test_byte_offsets_inside_a_character_are_refused() -> None:
    text = "aé日😀" * 130
    by_bytes = intervals(text, byte_offsets=True)
    places = {len(text[:place].encode()) for place in range(len(text) + 1)}
    for offset in range(len(by_bytes) + 1):
        if offset in places:
            assert by_bytes.count(offset, offset) == 0
            continue
        calls: list[Callable[[], object]] = [
            lambda offset=offset: by_bytes.count(offset, len(by_bytes)),
            lambda offset=offset: by_bytes.count(0, offset),
            lambda offset=offset: by_bytes.split_at(offset, 3),
            lambda offset=offset: by_bytes.count_many([(0, 1), (0, offset)]),
        ]
        for call in calls[:: 1 if offset < 50 else 3]:
            with pytest.raises(OffsetError, match="inside a character"):
                call()


# Refusals


@pytest.mark.parametrize("byte_offsets", [False, True])
@pytest.mark.parametrize(("start", "end"), [(-1, 3), (0, -1), (-5, -2), (0, 20), (20, 20), (3, 1)])
def test_offsets_outside_or_reversed_are_refused(start: int, end: int, byte_offsets: bool) -> None:
    one = intervals(byte_offsets=byte_offsets)
    with pytest.raises(OffsetError, match=f"from 0|0 <= .* got start {start}, end {end}"):
        one.count(start, end)
    with pytest.raises(OffsetError, match=f"row 2: .* got start {start}, end {end}"):
        one.count_many([(0, 1), (1, 4), (start, end), (-7, -7)])
    assert one.count_many([(0, 5)]).tolist() == [1]
    for outside in (-1, 20, 2**62, -(2**63)):
        with pytest.raises(OffsetError, match=f"{outside}"):
            one.split_at(outside, 3)


def test_text_and_encoding_cannot_be_set() -> None:
    one = intervals()
    for name, value in (("text", "x" * 10), ("encoding", cutline.get_encoding("r50k_base"))):
        with pytest.raises(AttributeError):
            setattr(one, name, value)


@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", ">u4", ">i8", ">u8", "<i8"]
)
def test_spans_of_any_integer_dtype_count_alike(dtype: str) -> None:
    rng, one = random.Random(3), intervals("one two " * 12)
    pairs = [sorted((rng.randrange(97), rng.randrange(97))) for _ in range(40)]
    want = [one.count(start, end) for start, end in pairs]
    spans = np.array(pairs, dtype=dtype)
    layouts = [
        spans,
        np.asfortranarray(spans),
        np.repeat(spans, 2, 0)[::2],
        spans[:, ::-1][:, ::-1],
    ]
    for layout in layouts:
        got = one.count_many(layout)
        assert (got.dtype, got.tolist()) == (np.int64, want)
    frozen = spans.copy()
    frozen.flags.writeable = False
    assert one.count_many(frozen).tolist() == want
    assert np.array_equal(spans, np.array(pairs))


def test_spans_may_be_lists_and_none_at_all() -> None:
    one = intervals()
    assert one.count_many([(0, 5), [5, 11]]).tolist() == [1, 3]
    assert one.count_many(((0, 5),)).tolist() == [1]
    for nothing in ([], (), np.empty((0, 2), dtype=np.uint8), np.empty((0, 2))):
        got = one.count_many(nothing)
        assert (got.dtype, got.shape) == (np.int64, (0,))


@pytest.mark.parametrize("offset", [2**63, 2**64, 2**70, -(2**70)])
def test_rows_beyond_any_array_are_named(offset: int) -> None:
    with pytest.raises(OffsetError, match=f"row 1: .* got start 2, end {offset}"):
        intervals().count_many([(0, 1), (2, offset), (offset, 3)])


@pytest.mark.parametrize(
    "spans",
    [
        [(0.0, 1.0)],
        np.zeros((2, 2), dtype=bool),
        np.zeros((2, 2), dtype="m8[s]"),
        np.zeros((2, 2), dtype=object),
        [(0, 1, 2)],
        [(0, 1), (2,)],
        [0, 1],
        5,
        None,
        "ab",
        {(0, 1)},
        np.zeros((2, 2, 2), dtype=np.int64),
        [(0.5, 1), (0, 2**70)],
    ],
    ids=repr,
)
def test_what_is_no_list_of_spans_is_refused(spans: object) -> None:
    with pytest.raises(ValueError, match=r"shape|sequence"):
        intervals().count_many(spans)  # type: ignore[arg-type]


def test_unsigned_offsets_beyond_any_text_are_refused() -> None:
    for offset in (2**63, 2**64 - 1, 2**63 - 1):
        spans = np.array([(0, 1), (0, offset)], dtype=np.uint64)
        with pytest.raises(OffsetError, match=str(offset)):
            intervals().count_many(spans)


# What it is


def test_an_empty_text_has_one_slice() -> None:
    for byte_offsets in (False, True):
        one = intervals("", byte_offsets=byte_offsets)
        assert (one.total, len(one), one.count(0, 0), one.split_at(0, 9)) == (0, 0, 0, 0)
        assert one.count_many([(0, 0)]).tolist() == [0]
        with pytest.raises(OffsetError):
            one.count(0, 1)


def test_it_says_what_it_is() -> None:
    assert repr(intervals()) == "<IntervalCounter 'o200k_base': 14 code points, 5 tokens>"
    assert (
        repr(intervals(byte_offsets=True)) == "<IntervalCounter 'o200k_base': 19 bytes, 5 tokens>"
    )
    assert (len(intervals()), len(intervals(byte_offsets=True))) == (14, 19)
    assert intervals().text == TEXT
    assert intervals().encoding is cutline.get_encoding("o200k_base")
    assert not hasattr(intervals(), "__dict__")


def test_the_text_lives_as_long_as_its_counter() -> None:
    counters = []
    for seed in range(30):
        for last in ("", "é", "日", "😀"):
            text = base64_text(3_000)[seed:] + " x" * 200 + last
            counters.append((intervals(text), cutline.get_encoding("o200k_base").count(text[5:])))
            del text
    gc.collect()
    churn = [bytes(3_200 + size) for size in range(2_000)]
    for one, tokens in counters:
        assert one.count(5, len(one)) == tokens
        assert one.split_at(5, tokens) == len(one)
    assert len(churn) == 2_000


def test_a_subclass_counts_too() -> None:
    class Named(IntervalCounter):
        pass

    one = Named(cutline.get_encoding("o200k_base"), TEXT)
    one.name = one  # type: ignore[attr-defined]
    assert (one.count(0, 5), one.split_at(0, 1)) == (1, 5)
    del one
    gc.collect()


# Memory


def test_memory_grows_only_where_a_run_is_cut() -> None:
    words = intervals(MANY_WORDS[:50_000])
    before, rng = words.nbytes, random.Random(4)
    starts = [rng.randrange(50_000) for _ in range(5_000)]
    words.count_many([(start, min(50_000, start + rng.randrange(900))) for start in starts])
    assert words.nbytes == before
    run = intervals("x" + "-" * RUN + "x" + "=" * RUN + "x")
    before = run.nbytes
    assert before < 1.1 * len(run)
    run.count_many([(3, RUN - 5)] * 40)
    assert run.nbytes == before  # a tree of dashes helps no slice from inside
    run.count_many([(RUN + 2, 2 * RUN - 5)] * 10)
    assert run.nbytes == before  # not before it is worth its time
    run.count_many([(RUN + 2, 2 * RUN - 5)] * 10)
    assert 16 * RUN <= run.nbytes - before <= 16 * RUN + 64


def test_memory_is_what_the_counter_says() -> None:
    for text in (MANY_WORDS, "plain words in a row " * 20_000):
        intervals(text[:100])
        gc.collect()
        tracemalloc.start()
        one = intervals(text)
        traced, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # What C allocates is not traced: the long pieces.
        assert traced <= one.nbytes + 4_096
        assert one.nbytes <= 0.8 * len(text.encode())


def test_corpora_take_less_than_a_byte_for_each_byte(corpus: str) -> None:
    one, rng = intervals(corpus), random.Random(5)
    assert one.nbytes < 0.8 * len(corpus.encode())
    starts = [rng.randrange(len(corpus)) for _ in range(20_000)]
    one.count_many([(start, min(len(corpus), start + rng.randrange(999))) for start in starts])
    assert one.nbytes < len(corpus.encode())


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc to read memory from")
@pytest.mark.parametrize("unit", ["some words here ", "é日 ", "a" * 65 + " ", "a"])
def test_resident_memory_is_what_the_counter_says(unit: str) -> None:
    text = unit * (20_000_000 // len(unit))
    intervals(text[:100_000])
    gc.collect()
    before = resident_bytes()
    one = intervals(text)
    assert resident_bytes() - before <= 1.3 * one.nbytes


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_counters_give_their_memory_back() -> None:
    text = "x" + "-" * RUN + "日"
    one = intervals(text)
    one.count(3, RUN - 5)
    gc.collect()
    tracemalloc.start()
    start, _ = tracemalloc.get_traced_memory()
    for _ in range(20):
        one = intervals(text)
        one.count(3, RUN - 5)
    with pytest.raises(OffsetError):
        one.count_many([(0, 5), (5, 0)])
    del one
    gc.collect()
    end, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert end - start < 100_000


# Threads and processes


def test_count_many_releases_the_gil() -> None:
    one = cutline.get_encoding("cl100k_base").intervals("1" * 300_001)
    spans = np.tile(np.array([(1, 300_000)]), (100, 1))
    got: list[int] = []
    worker = threading.Thread(target=lambda: got.extend(one.count_many(spans).tolist()))
    interval, steps = sys.getswitchinterval(), 0
    # No thread is made to give way: whoever runs beside the worker does so as it released the GIL.
    sys.setswitchinterval(1_000)
    try:
        worker.start()
        while worker.is_alive() and steps < 10:
            worker.join(0.001)
            steps += 1
    finally:
        sys.setswitchinterval(interval)
    worker.join()
    assert steps == 10
    assert set(got) == {cutline.get_encoding("cl100k_base").count("1" * 299_999)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_goes_on_with_the_counter() -> None:
    text = long_pieces()
    one, want = intervals(text), counter("o200k_base")(text[5:9_001])
    one.count(70, 2_000)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, f"{one.count(5, 9_001)} {one.count(70, 2_000)}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(reader, 100).decode()
    os.close(reader)
    os.close(writer)
    assert (
        answer
        == f"{want} {one.count(70, 2_000)}"
        == f"{one.count(5, 9_001)} {one.count(70, 2_000)}"
    )
