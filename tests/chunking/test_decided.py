"""Chunks of a text in small parts are those of the whole, and come soon, with every model."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import cutline
from cutline.chunking import chunk_stream
from cutline.errors import BudgetError
from tests.chunking.test_overlaps import some_options, some_text
from tests.conftest import short_or_long
from tests.texts import random_text
from tests.vocabularies import SCANS, encoding_of, random_ranks
from tests.words.configurations import CONFIGURATIONS
from tests.words.tokenizers_of import MODELS, both

PROSE = "It rains. We stay in, and read what there is to read. Tea is ready; the cat sleeps.\n\n"
WORDS = [
    "abc ",
    "de. ",
    "e\u0301 ",
    "\n\n",
    "\uac00",
    "=\u0338",
    "ab" * 40,
    "x" * 200,
    "\u4e16" * 9,
]


def in_parts(text: str, rng: random.Random) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + rng.choice([0, 1, 3, 50])
        yield text[start:end]
        start = end


def check(rng: random.Random, encoding: cutline.Encoding, text: str) -> None:
    size = rng.choice((5, 9, 30))
    overlap = rng.choice((0, 0, 1, size // 2))
    chunker = cutline.TextChunker(encoding, size, overlap, **some_options(rng))
    try:
        want = chunker.chunk(text)
    except BudgetError:
        return
    assert [*chunker.iter_chunks(in_parts(text, rng))] == want


@short_or_long("n_texts", 40, 2_000)
def test_random_vocabularies(n_texts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_stream, "WINDOW_CHARACTERS", 1)
    rng = random.Random(71)
    for number in range(n_texts):
        encoding = encoding_of(random_ranks(rng, b"ab .\n"), SCANS[number % len(SCANS)])
        check(rng, encoding, "".join(rng.choices("aab .  \n", k=rng.randint(0, 3_000))))
        check(rng, cutline.get_encoding("o200k_base"), some_text(rng) * 5)


@short_or_long("n_texts", 1, 60)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_models_of_words(
    kind: str, name: str, n_texts: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(chunk_stream, "WINDOW_CHARACTERS", 1)
    rng = random.Random(f"{kind}{name}")
    _, encoding = both(kind, name, rng, tmp_path)
    for _ in range(n_texts):
        parts = [rng.choice(WORDS) if rng.random() < 0.8 else random_text(rng) for _ in range(200)]
        check(rng, encoding, "".join(parts))


@pytest.mark.parametrize("kind", ["BPE", *MODELS])
def test_a_chunk_comes_when_about_two_have_been_read(kind: str, tmp_path: Path) -> None:
    encoding = cutline.get_encoding("o200k_base")
    if kind != "BPE":
        _, encoding = both(kind, "nothing, at white space", random.Random(1), tmp_path)
    taken = 0

    def characters() -> Iterator[str]:
        nonlocal taken
        for taken, character in enumerate(PROSE * 99, 1):  # noqa: B007
            yield character

    for chunk in cutline.TextChunker(encoding, 100).iter_chunks(characters()):
        assert taken <= max(3_000, 4 * chunk.end_index, chunk.end_index * 8 // 7 + 3_000)
