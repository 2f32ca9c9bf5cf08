"""Blocks of texts by models that encode words, and by tokenizers that change some texts.

A kernel cuts what it takes; each text has the chunks that are found by counting its slices.
"""

import random
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline import Chunk, TextChunker, TokenChunker
from cutline.chunking import Chunker
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.counting.cutting import split_by_counting
from tests.conftest import short_or_long

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
overlaps = pytest.importorskip("tests.words.test_overlaps")
families = pytest.importorskip("tests.pipeline.families")
characters = pytest.importorskip("tests.pipeline.characters")
tokenizers_of = pytest.importorskip("tests.words.tokenizers_of")

# Families of which a kernel takes many texts; they change others, and some have added tokens.
BYTE_LEVEL = [
    *("qwen 2.5", "gpt neox, olmo", "modernbert", "lower case", "decomposed", "whisper"),
    *("prefix space", "as bert normalizes", "compatible"),
]
# Of these, texts with few tokens from one start to the next; in random ones there are many.
BY_RUNS = ["prefix space", "as bert normalizes"]
# Normalizers by which most texts have characters that change one another.
ENTANGLED = [
    "deberta, of transformers 5, lower case",
    *(
        "classes replaced",
        "runs removed",
        "runs and the end inside words",
        "stripped, with white space in words",
    ),
]


def slowly(chunker: Chunker, text: str) -> Any:
    """Cut a text by counting one slice after the other."""
    encoding, rules = chunker.encoding, chunker._rules
    if isinstance(chunker, TokenChunker):
        least = encoding._most_tokens_of_a_character
        return split_by_counting(
            lambda text: overlaps.OnlyCounts(encoding, text), text, rules.chunk_size,
            rules.chunk_overlap, least,
        )  # fmt: skip
    finder = ChunkFinder(text, encoding.intervals(text), rules, encoding=encoding)
    finder._plain = None
    return ChunkStream(rules).chunks(finder, 0, len(text), final=True)


def check_blocks(rng: random.Random, encoding: cutline.Encoding, texts: list[str]) -> int:
    """Compare the chunks of some texts; return how many of these a kernel cut."""
    size = rng.choice((4, 9, 40, 70, 256))
    overlap = rng.choice((0, 0, 1, size // 3, size - 1))
    chunker: Chunker = TokenChunker(encoding, size, overlap)
    if rng.random() < 0.7:
        chunker = TextChunker(
            encoding, size, overlap,
            lines=rng.choice(("auto", "keep", "join")), min_fill=rng.choice((0.0, 0.25, 1.0)),
            boundary=rng.choice(("grapheme", "character")),
        )  # fmt: skip
    cut_block = chunker._block_cutter()
    found: list[list[Chunk] | None] = [None] * len(texts)
    if cut_block is not None:
        found = cut_block(texts)
    expected = [overlaps.outcome(slowly, chunker, text) for text in texts]
    for text, chunks, others in zip(texts, found, expected, strict=True):
        if chunks is not None:
            assert overlaps.outcome(lambda chunks=chunks: chunks) == others, ascii(text)
        assert overlaps.outcome(chunker.chunk, text) == others, ascii(text)
    if all(isinstance(others, list) for others in expected):
        batch = chunker.chunk_batch(texts)
        assert [overlaps.outcome(lambda chunks=chunks: chunks) for chunks in batch] == expected
    return sum(chunks is not None for chunks in found)


def texts_for(rng: random.Random) -> list[str]:
    """Make texts: plain ones, empty ones, some with what changes with its neighbours."""
    plain = "".join(rng.choices(("the ", "a b ", "quick, ", "box.", "\n", "\n\n"), k=60))
    return [plain, *(overlaps.some_text(rng) for _ in range(rng.randint(0, 6)))]


@short_or_long("n_blocks", 5, 300)
@pytest.mark.parametrize(("kind", "name"), overlaps.CASES)
def test_models_of_words(kind: str, name: str, n_blocks: int, tmp_path: Path) -> None:
    rng = random.Random(f"{kind}{name}")
    _, encoding = tokenizers_of.both(kind, name, rng, tmp_path)
    n_cut = sum(check_blocks(rng, encoding, texts_for(rng)) for _ in range(n_blocks))
    assert n_cut > n_blocks / 4 or name in ENTANGLED


@short_or_long("n_blocks", 12, 300)
@pytest.mark.parametrize("name", BYTE_LEVEL)
def test_tokenizers_that_change_some_texts(name: str, n_blocks: int) -> None:
    rng = random.Random(name)
    encoding = cutline.Encoding.from_tokenizers(families.build(name))
    n_cut = sum(check_blocks(rng, encoding, texts_for(rng)) for _ in range(n_blocks))
    assert n_cut > n_blocks / 2 or name in BY_RUNS


@pytest.mark.parametrize("name", BY_RUNS)
def test_tokenizers_that_change_all_texts(name: str) -> None:
    rng, encoding = random.Random(name), cutline.Encoding.from_tokenizers(families.build(name))
    chunker = TextChunker(encoding, 300)
    texts = ["".join(rng.choices(("The ", "a b ", "é, ", "box.\n"), k=500)) for _ in range(4)]
    cut_block = chunker._block_cutter()
    assert cut_block is not None
    assert cut_block(texts) == [[*slowly(chunker, text)] for text in texts]


@short_or_long("n_blocks", 12, 300)
@pytest.mark.parametrize("name", characters.CONFIGURATIONS)
def test_models_over_characters(name: str, n_blocks: int) -> None:
    rng = random.Random(name)
    encoding = cutline.Encoding.from_tokenizers(
        tokenizers.Tokenizer.from_str(characters.make_document(name))
    )
    for _ in range(n_blocks):
        check_blocks(rng, encoding, texts_for(rng))


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_surrogates_are_named_wherever_they_are(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    _, encoding = tokenizers_of.both(kind, overlaps.CASES[0][1], rng, tmp_path)
    for chunker in (TextChunker(encoding, 9), TokenChunker(encoding, 9)):
        with pytest.raises(cutline.SurrogateError) as caught:
            chunker.chunk_batch(["a b", "c \ud800", "\udfff"])
        assert caught.value.__notes__ == ["in the text at place 1 of the batch"]
