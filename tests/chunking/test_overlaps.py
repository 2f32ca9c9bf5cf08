"""Chunks that overlap, many at a time, compared with those found one by one."""

import random
from itertools import pairwise
from typing import Any

import pytest

from cutline import Template, get_encoding
from cutline.chunking import TextChunker
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.chunking.outline import PLAIN, Outline
from cutline.chunking.plain_finder import PlainFinder
from cutline.errors import BudgetError
from tests.conftest import short_or_long
from tests.texts import NAMED_TEXTS, random_text, word_text
from tests.vocabularies import SCANS, encoding_of, random_ranks

LEVELS = (
    (),
    ("line", "word"),
    ("paragraph", "entry", "line", "sentence", "phrase", "word"),
    ("sentence",),
)
PARTS = (
    "One two. ",
    "A longer sentence, of some words. ",
    "Mr. X. ",
    "(so) ",
    "... ",
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "1234",
    "e\u0301",
    "\u0301\u0301",
    "👩\u200d👧 ",
    "🇩🇪🇫🇷",
    "日本語。",
    "a" * 40,
    "=" * 30,
)
PROSE = "It rains. We stay in, and read what there is to read. Tea is ready; the cat sleeps.\n\n"


def some_text(rng: random.Random) -> str:
    kind = rng.randrange(3)
    if kind == 0:
        return "".join(
            rng.choice(PARTS) * rng.choice((1, 1, 1, 2, 20)) for _ in range(rng.randint(0, 50))
        )
    if kind == 1:
        return PROSE * rng.randint(1, 9) + rng.choice(PARTS)
    return "".join(rng.choice((random_text, word_text))(rng) for _ in range(rng.randint(1, 12)))


def some_options(rng: random.Random) -> dict[str, Any]:
    return {
        "min_fill": rng.choice((0.0, 0.25, 0.5, 1.0)),
        "boundary": rng.choice(("grapheme", "character")),
        "levels": rng.choice(LEVELS),
        "lines": rng.choice(("auto", "keep", "join")),
        "balance": rng.random() < 0.2,
    }


def some_template(rng: random.Random) -> dict[str, Any]:
    """Nothing, or what is sent before each chunk: such that its last token goes on, or is apart."""
    before = rng.choice((None, "query: ", "passage:", "a", "\n", "One", "e", "\u1100", "  "))
    return {} if before is None else {"template": Template(f"{before}{{text}}")}


def some_sizes(rng: random.Random, sizes: tuple[int, ...] = (4, 5, 9, 30, 100)) -> tuple[int, int]:
    size = rng.choice(sizes)
    return size, rng.choice((0, 1, 1 + size // 8, 1 + size // 4, size // 2, size - 1))


def found_by(finder: ChunkFinder, chunker: Any, text: str) -> Any:
    """The chunks, as what must be equal; or what is wrong."""
    try:
        chunks = [*ChunkStream(chunker._rules).chunks(finder, 0, len(text), final=True)]
    except BudgetError as error:
        return str(error)
    return [(*vars_of(chunk),) for chunk in chunks]


def vars_of(chunk: Any) -> tuple[object, ...]:
    return (
        chunk.index, chunk.start_index, chunk.end_index, chunk.text, chunk.token_count,
        chunk.headings, chunk.metadata,
    )  # fmt: skip


def check(chunker: Any, text: str, outline: Outline = PLAIN) -> int:
    """Compare the ways; return how many chunks were found at once before the first search."""
    encoding, first = chunker.encoding, 0
    found = []
    for is_slow in (False, True):
        finder = ChunkFinder(
            text, encoding.intervals(text), chunker._rules, outline, encoding=encoding
        )
        if is_slow:
            finder._plain = None
        else:
            assert isinstance(finder._plain, PlainFinder)
            first = len(finder.next_chunks(0, 0, len(text), 0) or ())
        found.append(found_by(finder, chunker, text))
    assert found[0] == found[1]
    return first


@short_or_long("many", 300, 20_000)
def test_random_texts(many: int) -> None:
    rng = random.Random(41)
    for number in range(many):
        encoding = get_encoding(("o200k_base", "r50k_base")[number % 2])
        options = some_options(rng) | some_template(rng) | {"stable": rng.random() < 0.2}
        if rng.random() < 0.2:
            limit = rng.choice(("characters", "bytes", "gpt2"))
            options["also_fits"] = {limit: rng.choice((9, 30, 100))}
        sizes = some_sizes(rng)
        chunker = TextChunker(encoding, *sizes, **options)
        text = some_text(rng)
        check(chunker, text)
        has_room = sizes[0] > 9 or "template" not in options
        if number % 5 == 0 and "also_fits" not in options and has_room:
            check_parts(rng, chunker, text)


def check_parts(rng: random.Random, chunker: TextChunker, text: str) -> None:
    """The same chunks of a text that comes in parts, or among others."""
    want = chunker.chunk(text)
    places = sorted(rng.choices(range(len(text) + 1), k=3))
    parts = [text[start:end] for start, end in pairwise((0, *places, len(text)))]
    assert [*chunker.iter_chunks(parts)] == want
    assert chunker.chunk_batch(["one two", text, text[::-1]])[1] == want


@short_or_long("many", 100, 5_000)
def test_random_vocabularies(many: int) -> None:
    rng = random.Random(42)
    for number in range(many):
        encoding = encoding_of(random_ranks(rng, b"ab .\n"), SCANS[number % len(SCANS)])
        text = "".join(rng.choice("aab .  \n") for _ in range(rng.randint(0, 400)))
        options = some_options(rng) | some_template(rng)
        check(TextChunker(encoding, *some_sizes(rng), **options), text)


@pytest.mark.parametrize("name", NAMED_TEXTS)
def test_named_texts(name: str) -> None:
    rng, encoding = random.Random(name), get_encoding("cl100k_base")
    for size in (4, 9, 64):
        check(TextChunker(encoding, *some_sizes(rng, (size,))), NAMED_TEXTS[name][:4_000])


def test_ordinary_texts_take_no_search() -> None:
    text = "".join(
        f"{PROSE}The {number} others are late. Nobody knows it. " for number in range(99)
    )
    for size, overlap in ((32, 8), (64, 40), (100, 12)):
        chunker = TextChunker("o200k_base", size, overlap)
        want = len(chunker.chunk(text))
        assert check(chunker, text) == min(want, 256)


def test_an_overlap_of_many_breaks_is_left_to_one_pass() -> None:
    encoding = get_encoding("o200k_base")
    for text in ("7" * 9_000, "a" * 9_000, " " * 9_000, "a\n" * 3_000, "日本" * 3_000):
        for size, overlap in ((120, 110), (300, 299)):
            check(TextChunker(encoding, size, overlap, levels=()), text[: 40 * size])


def test_stretches_are_cut_apart() -> None:
    rng = random.Random(43)
    for _ in range(20):
        text = "".join(rng.choice((PROSE, "One two. ", "\n\n", "end.\n\n")) for _ in range(40))
        places = sorted(rng.sample(range(1, len(text)), 12))
        options = {"stable": rng.random() < 0.5}
        alone = TextChunker("o200k_base", 24, 7, **options)
        want = [
            (start + chunk.start_index, start + chunk.end_index, chunk.token_count)
            for start, end in pairwise((0, *places, len(text)))
            for chunk in alone.chunk(text[start:end])
        ]
        chunks = TextChunker("o200k_base", 24, 7, never_across=places, **options).chunk(text)
        assert [(one.start_index, one.end_index, one.token_count) for one in chunks] == want
