"""Cuts of texts counted by parts between safe split points, of which most were met before.

What cuts is compared with a search by counting, and what counts with `tokenizers`.
"""

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cutline
from cutline import TextChunker, TokenChunker
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.kernels.breaks.point_breaks import PointSums
from cutline.kernels.encode.known_parts import KnownParts
from cutline.pipeline import new_parts
from cutline.pipeline.known_counter import AddedCounter, KnownCounter
from cutline.pipeline.slice_counter import SliceCounter
from tests.conftest import short_or_long
from tests.kernels.encoders import packaged
from tests.texts import random_text
from tests.words.test_overlaps import check_breaks, check_tokens

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
families = pytest.importorskip("tests.pipeline.families")

PARTS = [
    *(
        "the ",
        "The in",
        "they'll ",
        "ing",
        "Hello ",
        "cafe\u0301 ",
        "é",
        "e\u0301\u0323",
        " ",
        "  ",
    ),
    *("\t", "\n", "\n\n", "12345", "1,000.5 ", "x_y(z) == 0;\n", "日本語", "你好，", "שלום ", "한"),
    *("\u1100\u1161", "\U0001f468\u200d\U0001f469", "\ufb01", "\u017f", "\u0130", "\x00", "\u00a0"),
    *("\u200d", "``", "<tool_call>", "[_`]", "a" * 40, "- One. "),
    "A sentence of some words, with an end. ",
]


def some_text(rng: random.Random) -> str:
    kinds = (lambda: rng.choice(PARTS), lambda: random_text(rng)[:30])
    return "".join(rng.choice(kinds)() for _ in range(rng.randint(0, 60)))


def between(points: Any) -> Any:
    """The parts between points."""
    return np.stack([points[:-1], points[1:]], axis=1)


def by_parts(counter: object) -> bool:
    """Whether a counter cuts by parts."""
    return isinstance(counter, KnownCounter) and isinstance(counter._sums_for(9), PointSums)


@short_or_long("n_texts", 2, 1_000)
@pytest.mark.parametrize("name", families.FAMILIES)
def test_chunks_are_those_found_by_counting(name: str, n_texts: int) -> None:
    rng, tokenizer = random.Random(name), families.build(name)
    encoding, expected = cutline.Encoding.from_tokenizers(tokenizer), families.count_of(tokenizer)
    for _ in range(n_texts):
        text = some_text(rng)
        for _ in range(2):  # parts that are new, and then known
            check_breaks(rng, encoding, text)
            check_tokens(rng, encoding, text)
        # One character may have some thirty tokens, as compatibility characters have.
        for chunk in TokenChunker(encoding, 40, rng.choice((0, 5)))(text):
            assert chunk.token_count == expected(chunk.text), ascii(chunk.text)


@short_or_long("n_texts", 8, 1_000)
@pytest.mark.parametrize("name", families.FAMILIES)
def test_slices_are_counted_as_texts(name: str, n_texts: int) -> None:
    rng, tokenizer = random.Random(name), families.build(name)
    encoding, expected = cutline.Encoding.from_tokenizers(tokenizer), families.count_of(tokenizer)
    for _ in range(n_texts):
        text = some_text(rng)
        for _ in range(2):
            counter = encoding.intervals(text)
            for _ in range(5):
                start, end = sorted(rng.randint(0, len(text)) for _ in range(2))
                found = counter.count(start, end)
                assert found == expected(text[start:end]), ascii((text, start, end))


def test_most_tokenizers_that_change_texts_are_cut_so() -> None:
    text = "The first sentence of them. `x == 1` and  more,\n\n- 12 items, é.\n" * 20
    found = {
        name
        for name in families.FAMILIES
        if by_parts(cutline.Encoding.from_tokenizers(families.build(name)).intervals(text))
    }
    assert {"lower case", "runs of blanks", "stripped", "clip", "deepseek coder", "falcon"} <= found
    assert len(found) > 20


@pytest.mark.parametrize("name", ["clip", "deepseek coder", "led by a mark", "single words"])
def test_counts_are_the_same_whether_parts_are_new_or_known(name: str) -> None:
    rng, tokenizer = random.Random(name), families.build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = "".join(rng.choices(PARTS, k=900))
    counter = encoding.intervals(text)
    assert isinstance(counter, KnownCounter)
    bulk = SliceCounter._count_before(counter)
    assert np.asarray(counter._parts.known()).max() < 0
    np.testing.assert_array_equal(counter._before, bulk)
    known = np.asarray(counter._parts.known())
    is_short = np.diff(counter._point_offsets) <= 255
    np.testing.assert_array_equal(known, np.where(is_short, np.diff(bulk), -1))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    counter = encoding.intervals(text)
    assert isinstance(counter, KnownCounter)
    parts = between(counter._point_offsets)
    np.testing.assert_array_equal(counter._parts.count(parts, False), np.diff(bulk))


@short_or_long("n_texts", 12, 1_000)
@pytest.mark.parametrize("name", families.FAMILIES)
def test_new_parts_are_counted_by_a_text_that_has_each_once(
    name: str, n_texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_parts, "_FEW", 0)
    rng = random.Random(name)
    encoding = cutline.Encoding.from_tokenizers(families.build(name))
    counted = asked_for = 0
    for _ in range(n_texts):
        counter = encoding.intervals(some_text(rng))
        if not isinstance(counter, KnownCounter) or len(counter._point_offsets) < 2:
            continue
        spans = between(counter._point_offsets)
        of_each = np.diff(SliceCounter._count_before(counter))
        asked = np.array([rng.random() < 0.7 for _ in of_each])
        tokens = new_parts.count_side_by_side(
            counter._pipeline, encoding, counter.text, spans[asked]
        )
        is_known = tokens >= 0
        np.testing.assert_array_equal(tokens[is_known], of_each[asked][is_known])
        counted += np.count_nonzero(is_known)
        asked_for += len(tokens)
        found = counter._count_new(spans[asked & (spans[:, 1] - spans[:, 0] <= 255)])
        np.testing.assert_array_equal(
            found, of_each[asked & (spans[:, 1] - spans[:, 0] <= 255)], ascii(counter.text)
        )
    assert counted * 4 >= asked_for


def test_to_count_all_of_a_text_may_take_less_time() -> None:
    encoding = cutline.Encoding.from_tokenizers(families.build("clip"))
    rng = random.Random(4)
    new = " ".join("".join(rng.choices("abcdefgh", k=9)) for _ in range(200))
    for text, is_all in ((new, True), (new[:300] * 9, False)):
        counter = encoding.intervals(text)
        assert isinstance(counter, KnownCounter)
        spans = between(counter._point_offsets)
        assert (counter._count_parts(spans) is None) is is_all
        np.testing.assert_array_equal(counter._before, SliceCounter._count_before(counter))


@pytest.mark.parametrize("cache_bits", [(-1, -1), (1, 1), (3, 3), (17, 16)], ids=str)
def test_any_cache_size(cache_bits: tuple[int, int]) -> None:
    rng, encoder = random.Random(5), packaged("o200k_base", cache_bits)
    asked = list[str]()

    def count(part: str, leads: bool) -> int:
        asked.append(part)
        return len(part) ** 2 + leads

    for _ in range(60):
        text = "".join(rng.choices(PARTS, k=rng.randint(1, 90)))
        points = np.array([at for at in range(1, len(text)) if rng.random() < 0.3], dtype=np.int64)
        tokens = np.diff(points) ** 2
        parts = KnownParts(encoder, text, points, count, changes_starts=True)
        for turn in range(2):
            asked.clear()
            known = np.asarray(parts.known())
            unknown = np.flatnonzero(known < 0)
            np.testing.assert_array_equal(known[known >= 0], tokens[known >= 0])
            # Some were forgotten, if there is little room for them.
            if turn and cache_bits[0] != 3 and len(points) > 40:
                assert bool(len(unknown)) == (cache_bits[0] < 3)
            spans = between(points)[unknown]
            if rng.random() < 0.3:
                parts.keep(spans, tokens[unknown])
            else:
                np.testing.assert_array_equal(parts.count(spans, False), tokens[unknown])
                assert len(asked) == len(unknown)


def test_what_counts_a_part_may_raise() -> None:
    encoding = cutline.Encoding.from_tokenizers(families.build("clip"))
    counter = encoding.intervals("one two three " * 40)
    assert isinstance(counter, KnownCounter)

    def fail(part: str, leads: bool) -> int:
        raise KeyboardInterrupt(part)

    def count(part: str, leads: bool) -> int:
        return 1 if len(part) < 8 else fail(part, leads)

    points = counter._point_offsets
    parts = KnownParts(encoding, counter.text, points, fail, changes_starts=False)
    with pytest.raises(KeyboardInterrupt, match=r"^ $"):
        parts.count(between(points), leads=False)
    long = "one two " * 40 + "x" * 90 + " end" * 40
    points = encoding._pipeline.safe_points.all_of(long)  # type: ignore[union-attr]
    parts = KnownParts(encoding, long, points, count, changes_starts=False)
    with pytest.raises(KeyboardInterrupt, match="xxx"):
        parts.count(between(points), leads=False)


def test_points_need_their_counts() -> None:
    encoding = cutline.Encoding.from_tokenizers(families.build("clip"))
    counter = encoding.intervals("one two three")
    assert isinstance(counter, KnownCounter)
    few = np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="2 parts need as many counts, got 1"):
        counter._parts.keep(np.array([(0, 3), (4, 7)]), few)
    for start, end in ((-1, 2), (2, 2), (3, 14)):
        with pytest.raises(ValueError, match=f"no part from {start} to {end} of 13 characters"):
            counter._parts.keep(np.array([(start, end)]), few)
        with pytest.raises(ValueError, match=f"no part from {start} to {end} of 13 characters"):
            counter._parts.count(np.array([(start, end)]), leads=False)
    with pytest.raises(ValueError, match="points need as many counts"):
        PointSums(encoding, counter.text, 9.0, counter._parts, few, counter._longest_after)


@pytest.mark.parametrize("name", ["clip", "deepseek coder"])
def test_a_long_part_does_not_slow_what_is_around_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding = cutline.Encoding.from_tokenizers(families.build(name))
    text = "one two three, four. " * 400 + "x" * 3_000 + " one two three, four." * 400
    chunker = TextChunker(encoding, 64)
    chunker.chunk(text)
    looked_for = list[int]()
    search = ChunkFinder.next_cut

    def noted(self: ChunkFinder, start: int, *others: Any) -> Any:
        looked_for.append(start)
        return search(self, start, *others)

    monkeypatch.setattr(ChunkFinder, "next_cut", noted)
    chunks = chunker.chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.token_count == encoding.count(chunk.text) <= 64 for chunk in chunks)
    first = text.index("x")
    assert looked_for
    assert all(first - 400 < start < first + 5_000 for start in looked_for)


def test_threads_and_pickles() -> None:
    encoding = cutline.Encoding.from_tokenizers(families.build("deepseek coder"))
    texts = [some_text(random.Random(seed)) for seed in range(60)]
    chunker = TextChunker(encoding, 12, 3)
    one_by_one = [chunker.chunk(text) for text in texts]
    assert chunker.chunk_batch(texts, num_threads=4) == one_by_one
    counter = encoding.intervals(texts[0] * 9)
    assert isinstance(counter, KnownCounter)
    assert not isinstance(counter, AddedCounter) or counter._added is None
    spans = [(at, min(len(counter), at + 40)) for at in range(0, len(counter), 7)]
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda span: counter.count(*span), spans)]
    assert found == [encoding.count(counter.text[start:end]) for start, end in spans]
    for same in (pickle.loads(pickle.dumps(counter)), copy.copy(counter)):
        assert same.count(3, len(same)) == counter.count(3, len(counter))


def test_what_is_asked_for_a_part_does_not_take_what_is_known() -> None:
    """Counting a part takes an encoder's caches, too: those with the parts are used next."""
    encoding = cutline.Encoding.from_tokenizers(families.build("clip"))
    text = "".join(random.Random(3).choices(PARTS, k=2_000))
    chunker = TextChunker(encoding, 64)
    chunker.chunk(text)
    counter = encoding.intervals(text)
    assert isinstance(counter, KnownCounter)
    short = np.diff(counter._point_offsets) <= 255
    assert np.asarray(counter._parts.known())[short].min() >= 0
