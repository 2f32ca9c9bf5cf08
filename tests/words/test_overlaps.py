"""Cuts of models that encode words, by kernels, compared with those found by counting slices."""

import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.chunking import TextChunker
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.counting.cutting import split_by_counting
from cutline.pipeline.word_slices import WordCounter
from tests.conftest import short_or_long
from tests.words.configurations import CONFIGURATIONS
from tests.words.test_encoding import CASES, random_text
from tests.words.tokenizers_of import MODELS, both

PARTS = ("One two. ", "a b c d e. ", "\n", "\n\n", " ", "... ", "e\u0301", "世", "abc" * 9)
LEVELS = (
    (),
    ("line", "word"),
    ("paragraph", "entry", "line", "sentence", "phrase", "word"),
    ("sentence",),
)


def some_text(rng: random.Random) -> str:
    kinds = (lambda: rng.choice(PARTS), lambda: random_text(rng, 12))
    return "".join(rng.choice(kinds)() for _ in range(rng.randint(0, 40)))


def outcome(cut: Any, *arguments: Any, **options: Any) -> Any:
    try:
        chunks = list(cut(*arguments, **options))
        return [(one.start_index, one.end_index, one.token_count, one.metadata) for one in chunks]
    except cutline.BudgetError as error:
        return str(error)


def check_breaks(rng: random.Random, encoding: cutline.Encoding, text: str) -> bool:
    """Compare; return whether a kernel found chunks."""
    size = rng.choice((6, 12, 40))
    before = rng.choice((None,) * 6 + ("query: ", "a", "e", "=", "[c]", "\u1100", "\n"))
    chunker = TextChunker(
        encoding, size, rng.choice((0, 1, size // 4, size // 2, size - 1)),
        levels=rng.choice(LEVELS), lines=rng.choice(("auto", "keep", "join")),
        min_fill=rng.choice((0.0, 0.25, 0.6, 1.0)), boundary=rng.choice(("grapheme", "character")),
        balance=rng.random() < 0.2,
        template=None if before is None else cutline.Template(f"{before}{{text}}"),
    )  # fmt: skip
    found, is_quick = [], False
    for is_slow in (False, True):
        finder = ChunkFinder(text, encoding.intervals(text), chunker._rules, encoding=encoding)
        if is_slow:
            finder._plain = None
        elif finder._plain is not None:
            is_quick = outcome(lambda one: one.next_chunks(0, 0, len(text), 0) or (), finder) != []
        stream = ChunkStream(chunker._rules)
        found.append(outcome(stream.chunks, finder, 0, len(text), final=True))
    assert found[0] == found[1], ascii(text)
    return is_quick


class OnlyCounts:
    """A counter of slices of which no kernel cuts many at a time."""

    def __init__(self, encoding: cutline.Encoding, text: str) -> None:
        counter = encoding.intervals(text)
        self.count, self.split_at = counter.count, counter.split_at


def check_tokens(rng: random.Random, encoding: cutline.Encoding, text: str) -> None:
    size = rng.choice((2, 5, 12, 40))
    overlap = rng.choice((0, 1, size // 2, size - 1))
    found = outcome(encoding.split, text, size, overlap)
    least, counts = encoding._most_tokens_of_a_character, partial(OnlyCounts, encoding)
    slow = outcome(split_by_counting, counts, text, size, overlap, least)
    assert found == slow, ascii(text)


@short_or_long("n_texts", 5, 40)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_random_models(kind: str, name: str, tmp_path: Path, n_texts: int) -> None:
    rng = random.Random(f"{kind}{name}")
    _, encoding = both(kind, name, rng, tmp_path)
    n_quick = n_done = 0
    while n_done < n_texts or n_quick <= n_texts / 8:
        text = some_text(rng)
        n_quick += check_breaks(rng, encoding, text)
        check_tokens(rng, encoding, text)
        n_done += 1
        assert n_done < 4 * n_texts


@pytest.mark.parametrize("kind", MODELS)
def test_long_words_are_left_to_what_can_be_interrupted(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    _, encoding = both(kind, next(iter(CONFIGURATIONS)), rng, tmp_path)
    for text in ("abcde" * 900, "ab" * 300 + " " + "c" * 900, "a b c " * 500):
        assert isinstance(encoding.intervals(text), WordCounter)
        for size, overlap in ((100, 30), (100, 99), (700, 600)):
            chunker = TextChunker(encoding, size, overlap, levels=())
            finder = ChunkFinder(text, encoding.intervals(text), chunker._rules, encoding=encoding)
            finder._plain = None
            slow = outcome(ChunkStream(chunker._rules).chunks, finder, 0, len(text), final=True)
            assert outcome(chunker.chunk, text) == slow
