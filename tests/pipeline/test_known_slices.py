"""Counts of slices by parts that are looked up, against `tokenizers`, which encodes each slice."""

import random
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import cutline
from cutline.kernels.encode.known_parts import LONGEST_KNOWN, KnownParts
from cutline.kernels.encode.known_slices import KnownSlices
from cutline.pipeline import known_counter, new_parts
from cutline.pipeline.known_counter import AddedCounter, KnownCounter
from cutline.pipeline.slice_counter import SliceCounter
from tests.alarms import StopError, alarm
from tests.conftest import short_or_long
from tests.kernels.encoders import packaged

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
families = pytest.importorskip("tests.pipeline.families")
known = pytest.importorskip("tests.pipeline.test_known_parts")

# What texts are stored in: one, two or four bytes a character.
LETTERS = ["abé ", "ab е\u0301x", "ab 😀e\u0301"]


def some_text(rng: random.Random) -> str:
    parts = [known.some_text(rng)]
    if rng.random() < 0.3:
        parts += [rng.choice("xé日 ") * rng.randint(200, 600), known.some_text(rng)]
    if rng.random() < 0.3:
        parts = ["".join(rng.choices(rng.choice(LETTERS), k=rng.randint(0, 300)))]
    return "".join(parts)


def some_spans(rng: random.Random, n: int) -> list[tuple[int, int]]:
    """Spans of a text of n characters, some of them empty."""
    pairs = [[rng.randint(0, n) for _ in range(2)] for _ in range(rng.choice((0, 2, 30)))]
    near = [[at, min(n, at + rng.randint(0, 5))] for at in (rng.randint(0, n) for _ in range(9))]
    return [(0, n), (0, 0), (n, n), *(tuple(sorted(pair)) for pair in pairs + near)]  # type: ignore[misc]


def check(
    counter: SliceCounter, spans: list[tuple[int, int]], expected: Callable[[str], int]
) -> None:
    wanted = [expected(counter.text[start:end]) for start, end in spans]
    for _ in range(2):  # parts that are new, and then known
        found = counter.count_many(spans)
        assert found.dtype == np.int64
        assert found.tolist() == wanted, ascii((counter.text, spans))
        assert [counter.count(*span) for span in spans] == wanted, ascii((counter.text, spans))


@short_or_long("n_texts", 6, 600)
@pytest.mark.parametrize("name", families.FAMILIES)
def test_slices_are_counted_as_texts(name: str, n_texts: int) -> None:
    rng, tokenizer = random.Random(name), families.build(name)
    encoding, expected = cutline.Encoding.from_tokenizers(tokenizer), families.count_of(tokenizer)
    for _ in range(n_texts):
        text = some_text(rng)
        counter = encoding.intervals(text)
        check(counter, some_spans(rng, len(text)), expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["clip", "deepseek coder", "led by a mark", "words led by blanks"])
@pytest.mark.parametrize("at_once", [1, 3, 1 << 12])
def test_many_slices_of_new_parts(name: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_parts, "_FEW", 0)
    monkeypatch.setattr(new_parts, "_AT_ONCE", at_once)
    monkeypatch.setattr(known_counter, "_ROWS", 40)
    rng, tokenizer = random.Random(name), families.build(name)
    expected = families.count_of(tokenizer)
    for _ in range(3):
        text = "".join(rng.choices(known.PARTS, k=40))
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
        spans = [(at, min(len(text), at + rng.randint(0, 20))) for at in range(0, len(text), 3)]
        check(encoding.intervals(text), spans, expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("cache_bits", [(-1, -1), (1, 1), (3, 3)], ids=str)
@pytest.mark.parametrize("name", ["clip", "deepseek coder", "led by a mark"])
def test_parts_may_be_forgotten(name: str, cache_bits: tuple[int, int]) -> None:
    class Small(cutline.Encoding):
        def _bind(self, *given: Any, **named: Any) -> None:
            super()._bind(*given, cache_bits=cache_bits, **named)

    rng, tokenizer = random.Random(name), families.build(name)
    encoding, expected = Small.from_tokenizers(tokenizer), families.count_of(tokenizer)
    for _ in range(4):
        text = "".join(rng.choices(known.PARTS, k=60))
        check(encoding.intervals(text), some_spans(rng, len(text)), expected)  # type: ignore[arg-type]
    counter = encoding.intervals(text)
    assert isinstance(counter, KnownCounter)
    assert len(counter._before)
    assert np.asarray(counter._parts.known()).min() == -1


@pytest.mark.parametrize("changes_starts", [False, True])
@pytest.mark.parametrize("cache_bits", [(-1, -1), (17, 16)], ids=str)
def test_the_kernel_adds_up_what_parts_have(
    changes_starts: bool, cache_bits: tuple[int, int]
) -> None:
    rng, encoder = random.Random(7), packaged("o200k_base", cache_bits)

    def count(part: str, leads: bool) -> int:
        assert part
        return len(part) ** 2 + 5 * leads

    for _ in range(150):
        text = "".join(rng.choices(known.PARTS, k=rng.randint(0, 60)))
        n, share = len(text), rng.choice((0, 0.01, 0.3, 1))
        points = np.array([at for at in range(1, n) if rng.random() < share], dtype=np.int64)
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.diff(points) ** 2)])
        parts = KnownParts(encoder, text, points, count, changes_starts)
        slices = KnownSlices(parts, before)
        spans = some_spans(rng, n)
        rows = np.array(spans, dtype=np.int64)
        counts, new = map(np.asarray, slices.count_many(rows))
        new = new.reshape(-1, 4)
        for row, start, end, leads in new.tolist():
            assert start < end
            assert not (points[(points > start) & (points < end)]).size
            counts[row] += count(text[start:end], bool(leads and changes_starts))
        for (start, end), found in zip(spans, counts.tolist(), strict=True):
            inner = points[(points >= start + changes_starts) & (points <= end)].tolist()
            edges = [start, *inner, end]
            wanted = sum((last - first) ** 2 for first, last in pairwise(edges))
            first = inner[0] if inner else end
            assert found == wanted + 5 * (changes_starts and first > start)
            one = slices.count(start, end)
            is_long = first - start > LONGEST_KNOWN or end - edges[-2] > LONGEST_KNOWN
            assert one == (-3 if is_long else found)


def test_what_was_counted_is_looked_up() -> None:
    encoding = cutline.Encoding.from_tokenizers(families.build("clip"))
    text = "The first sentence of them. `x == 1` and  more,\n\n- 12 items, \u00e9.\n" * 40
    counter = encoding.intervals(text)
    assert isinstance(counter, KnownCounter)
    spans = np.sort(np.random.default_rng(1).integers(0, len(text) + 1, size=(500, 2)), axis=1)
    counts, new = map(np.asarray, counter._slices.count_many(spans))
    assert len(new)
    assert counter.count_many(spans).sum() > counts.sum()
    counts, new = map(np.asarray, counter._slices.count_many(spans))
    assert not len(new)
    np.testing.assert_array_equal(counts, counter.count_many(spans))


def test_slices_with_added_tokens() -> None:
    tokenizer = families.build("deepseek coder")
    encoding, expected = cutline.Encoding.from_tokenizers(tokenizer), families.count_of(tokenizer)
    rng = random.Random(4)
    for _ in range(20):
        parts = ["<tool_call>", "<tool_", "call>", "word ", "日本", "e\u0301", "\n"]
        text = "".join(rng.choices(parts, k=40))
        check(encoding.intervals(text), some_spans(rng, len(text)), expected)  # type: ignore[arg-type]
    tokenizer = families.build("gpt neox, olmo")
    encoding, expected = cutline.Encoding.from_tokenizers(tokenizer), families.count_of(tokenizer)
    for _ in range(20):
        text = "".join(rng.choices(["word", "  ", "   x", " y", ".", "0 "], k=60))
        counter = encoding.intervals(f"{text}   {text}")
        assert isinstance(counter, AddedCounter)
        check(counter, some_spans(rng, len(text)), expected)


@pytest.mark.parametrize(
    "name", ["clip", "deepseek coder", "stripped", "led by a mark", "words led by blanks"]
)
def test_slices_with_long_ends(name: str) -> None:
    tokenizer = families.build(name)
    encoding, expected = cutline.Encoding.from_tokenizers(tokenizer), families.count_of(tokenizer)
    for long in ("x" * 900, "\u00e9x" * 450, "word" + "\u0323" * 900):
        text = f"one, two.{long}.three, four "
        spans = [
            (start, end)
            for start in (0, 3, 8, 9, 10, 200)
            for end in (264, 265, 266, 800, len(text) - 13, len(text) - 5, len(text))
        ]
        check(encoding.intervals(text), spans, expected)  # type: ignore[arg-type]
        check(encoding.intervals(long), [(0, 255), (0, 256), (3, 700)], expected)  # type: ignore[arg-type]


def test_wrong_spans_are_named() -> None:
    counter = cutline.Encoding.from_tokenizers(families.build("clip")).intervals("one two three")
    assert isinstance(counter, KnownCounter)
    for wrong in ((-1, 3), (3, 2), (0, 14)):
        with pytest.raises(cutline.OffsetError, match=f"got start {wrong[0]}, end {wrong[1]}"):
            counter.count_many([(0, 3), wrong])
        with pytest.raises(cutline.OffsetError, match=f"got start {wrong[0]}, end {wrong[1]}"):
            counter.count(*wrong)
    for huge in ((0, 1 << 64), (-(1 << 70), 2), (1 << 63, 1 << 63)):
        with pytest.raises(cutline.OffsetError, match=f"got start {huge[0]}, end {huge[1]}"):
            counter.count_many([(0, 3), huge])
    for other in ([(0.0, 3.0)], [0, 3], [(0, 3, 4)], [("0", "3")], [(True, 3.5)]):
        with pytest.raises(ValueError, match=r"spans must be integers of shape \(k, 2\)"):
            counter.count_many(other)
    assert counter.count_many([]).tolist() == []
    assert counter.count_many(np.array([(0, 3)], dtype=np.uint8)).tolist() == [counter.count(0, 3)]
    with pytest.raises(ValueError, match="points need as many counts"):
        KnownSlices(counter._parts, np.zeros(1, dtype=np.int64))


def test_threads_count_slices_of_one_text() -> None:
    encoding = cutline.Encoding.from_tokenizers(families.build("clip"))
    counter = encoding.intervals("".join(random.Random(5).choices(known.PARTS, k=300)))
    spans = [some_spans(random.Random(seed), len(counter)) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(counter.count_many, spans)]
    for rows, counts in zip(spans, found, strict=True):
        assert counts.tolist() == [encoding.count(counter.text[at:end]) for at, end in rows]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
@pytest.mark.parametrize("name", ["clip", "led by a mark"])
def test_counting_many_slices_can_be_interrupted(name: str) -> None:
    encoding = cutline.Encoding.from_tokenizers(families.build(name))
    text = "".join(random.Random(5).choices("abcdefgh ,.\n", k=300_000))
    counter = encoding.intervals(text)
    spans = np.sort(np.random.default_rng(1).integers(0, len(text) + 1, (1_000_000, 2)), axis=1)
    counter.count(0, 1)
    with alarm(), pytest.raises(StopError):  # noqa: PT012
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        counter.count_many(spans)
    assert counter.count(5, 900) == encoding.count(text[5:900])
    few = spans[:50]
    wanted = [encoding.count(text[start:end]) for start, end in few.tolist()]
    assert counter.count_many(few).tolist() == wanted
