"""Chunks of texts with a structure, many at a time, compared with those found one by one."""

import random
from array import array
from itertools import pairwise
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline import Encoding, Template, get_encoding
from cutline.chunking import DataChunker, TextChunker
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.chunking.outline import Outline
from cutline.chunking.plain_finder import PlainFinder
from cutline.chunking.structure import Structure, nested_bitmaps, tidy_units
from cutline.counting import few_slices as counting_few
from cutline.counting.few_slices import few_slices
from cutline.kernels.breaks.outlined import Places, cut_at_places
from tests.conftest import short_or_long
from tests.texts import NAMED_TEXTS, random_text, word_text
from tests.vocabularies import SCANS, encoding_of, random_ranks

NAMES = ("section", "block", "row", "cell")


def random_units(rng: random.Random, start: int, end: int, depth: int) -> list[tuple[int, int]]:
    """Spans that nest or are disjoint, also some that begin or end where others do."""
    if start >= end or not depth:
        return []
    places = sorted(rng.choices(range(start, end + 1), k=rng.randint(0, 3)))
    units = [(start, end)] if rng.random() < 0.5 else []
    for first, last in zip([start, *places], [*places, end], strict=True):
        units += random_units(rng, first, last, depth - 1)
    return units


def random_structure(rng: random.Random, text: str) -> Structure:
    length, n_levels = len(text), rng.randint(0, 4)
    shares = sorted(rng.random() ** 4 for _ in range(n_levels))
    levels = [[at for at in range(length + 1) if rng.random() < share] for share in shares]
    units = tidy_units(random_units(rng, 0, length, rng.randint(0, 5)))
    regions = tuple((*unit, rng.choice(("code", "list"))) for unit in units if rng.random() < 0.3)
    headings = tuple((at, (f"at {at}",)) for at in range(length) if rng.random() < 0.05)
    bitmaps = nested_bitmaps(length, levels)
    return Structure(NAMES[:n_levels], bitmaps, units, headings, regions)


def check(rng: random.Random, encoding: Encoding, text: str, size: int, **options: Any) -> bool:
    """Compare; return whether there were chunks, and all were found many at a time."""
    rules = TextChunker(encoding, size, **options)._rules
    outline = Outline(random_structure(rng, text))
    found, n_searches = [], 0
    for is_slow in (False, True):
        finder = ChunkFinder(text, encoding.intervals(text), rules, outline, encoding=encoding)
        if is_slow:
            finder._plain = None
        else:
            assert isinstance(finder._plain, PlainFinder)
        stream = ChunkStream(rules)
        runs = [finder.next_chunks(0, 0, len(text), 0)]
        n_searches += runs[0] is None
        found.append([*stream.chunks(finder, 0, len(text), final=True)])
    assert found[0] == found[1]
    if "chunk_overlap" not in options:
        assert "".join(chunk.text for chunk in found[0]) == text
        few = few_slices(encoding, text)
        if few is not None:
            finder = ChunkFinder(text, few, rules, outline, encoding=encoding)
            assert isinstance(finder._plain, PlainFinder)
            assert found[0] == [*ChunkStream(rules).chunks(finder, 0, len(text), final=True)]
    return n_searches == 1


@pytest.fixture(autouse=True, params=[1e9, -50.0])
def share_that_is_counted_again(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting_few, "COUNTED_AGAIN", request.param)


@short_or_long("many", 300, 20_000)
def test_random_structures(many: int) -> None:
    rng, n_quick = random.Random(5), 0
    encoding = get_encoding("o200k_base")
    for _ in range(many):
        text = "".join(rng.choice((random_text, word_text))(rng) for _ in range(rng.randint(1, 12)))
        fill = rng.choice((0.0, 0.25, 0.5, 1.0))
        size, boundary = rng.choice((4, 5, 9, 30, 100)), rng.choice(("grapheme", "character"))
        levels = rng.choice(
            ((), ("line", "word"), ("paragraph", "entry", "line", "sentence", "phrase", "word"))
        )
        options: dict[str, Any] = {"min_fill": fill, "boundary": boundary, "levels": levels}
        options["balance"] = rng.random() < 0.3
        if rng.random() < 0.6:
            options["chunk_overlap"] = rng.choice((1, size // 4, size // 2, size - 1))
        n_quick += check(rng, encoding, text, size, **options)
    assert n_quick > many // 2


@short_or_long("many", 100, 5_000)
def test_random_vocabularies(many: int) -> None:
    rng = random.Random(6)
    for number in range(many):
        encoding = encoding_of(random_ranks(rng, b"ab \n"), SCANS[number % len(SCANS)])
        text = "".join(rng.choice("aab  \n") for _ in range(rng.randint(0, 400)))
        size, fill = rng.choice((4, 8, 30)), rng.choice((0.0, 0.5, 1.0))
        check(rng, encoding, text, size, min_fill=fill, chunk_overlap=rng.randrange(size))


@pytest.mark.parametrize("name", NAMED_TEXTS)
def test_named_texts(name: str) -> None:
    rng, encoding = random.Random(name), get_encoding("cl100k_base")
    for size in (4, 7, 64):
        for overlap in (0, size // 3):
            check(rng, encoding, NAMED_TEXTS[name][:5_000], size, chunk_overlap=overlap)


@settings(max_examples=100)
@given(
    depth=st.integers(0, 300),
    size=st.sampled_from([4, 16, 64]),
    seed=st.integers(0, 1_000),
)
def test_deep_nesting(depth: int, size: int, seed: int) -> None:
    text, rng = "[1, " * depth + "2" + "]" * depth, random.Random(seed)
    units = [(4 * at, len(text) - at) for at in range(depth) if rng.random() < 0.9]
    encoding = get_encoding("o200k_base")
    bitmaps = nested_bitmaps(len(text), [range(0, len(text), 40), range(0, len(text), 4)])
    outline = Outline(Structure(NAMES[:2], bitmaps, tidy_units(units)))
    rules = TextChunker(encoding, size)._rules
    few = few_slices(encoding, text)
    assert few is not None
    counters = (few, encoding.intervals(text), encoding.intervals(text))
    finders = [ChunkFinder(text, counter, rules, outline) for counter in counters]
    finders[2]._plain = None
    few_quick, quick, slow = (
        [*ChunkStream(rules).chunks(finder, 0, len(text), final=True)] for finder in finders
    )
    assert few_quick == quick == slow


@pytest.mark.parametrize(
    "options",
    [{"strip": True}, {"template": Template("a{text}")}, {"stable": True}, {"levels": ["x"]}],
)
def test_what_the_kernel_does_not_know_is_searched(options: dict[str, Any]) -> None:
    import re

    if "levels" in options:
        options = {"levels": [re.compile("x")]}
    encoding, text = get_encoding("o200k_base"), "one two " * 9
    rules = TextChunker(encoding, 8, **options)._rules
    outline = Outline(Structure(("a",), nested_bitmaps(len(text), [[8, 24]])))
    assert ChunkFinder(text, encoding.intervals(text), rules, outline)._plain is None


def test_places_of_another_text_are_refused() -> None:
    counter = get_encoding("o200k_base").intervals("a" * 64)
    with pytest.raises(ValueError, match="a level has fewer places than the text of 64"):
        cut_at_places(counter, Places([b"\0" * 8], ()), 0, 0, 64, 4, 0.25, array("i"))
    units = ((5, 65), (6, 20))
    with pytest.raises(ValueError, match="a unit ends at 65, after the text of 64"):
        cut_at_places(counter, Places([b"\0" * 9], units), 0, 0, 64, 4, 0.25, array("i"))
    with pytest.raises(ValueError, match="0 <= start <= floor <= length must hold, got 0 and -1"):
        cut_at_places(counter, Places([], ()), 0, -1, 64, 4, 0.25, array("i"))


def test_units_too_large_to_stay_whole_are_counted_once_for_a_chunk() -> None:
    # Before each of many breaks in small units are thousands of units around it.
    deep = 4_000
    text = "[1," * deep + "[1,\n\n 2]," * deep + '"' + "a b c d e " * 4 * deep + '"' + "]" * deep
    chunker = DataChunker("json", get_encoding("o200k_base"), 11 * deep, min_fill=1.0)
    start = process_time()
    assert len(chunker(text)) == 3
    assert process_time() - start < 2


def test_chunks_of_thousands_of_pieces() -> None:
    """So many that pieces are forgotten, also where a unit begins that was counted before."""
    rng, encoding = random.Random(12), get_encoding("o200k_base")
    text = "".join(f"{rng.choice(('one', 'two', 'x1', '名前'))} " for _ in range(30_000))
    starts = [text.index(" ", at) + 1 for at in range(0, len(text) - 9, 5_000)]
    outline = Outline(
        Structure(
            NAMES[:1],
            nested_bitmaps(len(text), [starts]),
            tidy_units(pairwise([*starts, len(text)])),
        )
    )
    for size in (1_500, 2_000, 9_000):
        rules = TextChunker(encoding, size)._rules
        few = few_slices(encoding, text)
        assert few is not None
        found = []
        for counter in (few, encoding.intervals(text)):
            finder = ChunkFinder(text, counter, rules, outline, encoding=encoding)
            found.append([*ChunkStream(rules).chunks(finder, 0, len(text), final=True)])
        assert found[0] == found[1]
