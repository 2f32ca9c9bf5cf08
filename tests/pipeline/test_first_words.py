"""Slices that a prefix precedes are counted in two parts: their first words, and the rest."""

import random
from typing import Any

import numpy as np
import pytest

import cutline
from cutline.kernels.index.first_words import FirstWords
from cutline.pipeline.spelled import SpelledCounter
from tests.conftest import short_or_long
from tests.pipeline.characters import CONFIGURATIONS, make_document, tokenizers
from tests.pipeline.families import build

PARTS = [
    "the ", "theme", " of", "\n", "  ", "日本", "日本語", "の", "한국", "é", "e\u0301", "Ω", "žž",
    "😀", "\x00", "=", "==", "\u2581", "字日", "1234", "a日b本",
]  # fmt: skip


def counter_of(name: str, text: str) -> tuple[SpelledCounter, Any]:
    tokenizer = tokenizers.Tokenizer.from_str(make_document(name))
    counter = cutline.Encoding.from_tokenizers(tokenizer).intervals(text)
    assert isinstance(counter, SpelledCounter)
    return counter, tokenizer


def count_of(tokenizer: Any, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


@short_or_long("n_texts", 15, 400)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_one_slice_and_many_are_counted_as_texts(name: str, n_texts: int) -> None:
    tokenizer = tokenizers.Tokenizer.from_str(make_document(name))
    encoding, rng = cutline.Encoding.from_tokenizers(tokenizer), random.Random(name)
    for _ in range(n_texts):
        text = "".join(rng.choices(PARTS, k=rng.randint(1, 40)))
        counter = encoding.intervals(text)
        spans = np.sort(np.array(rng.choices(range(len(text) + 1), k=40)).reshape(20, 2), axis=1)
        slices = [text[start:end] for start, end in spans.tolist()]
        expected = [count_of(tokenizer, one) for one in slices]
        assert counter.count_many(spans).tolist() == expected
        assert [counter.count(start, end) for start, end in spans.tolist()] == expected


@pytest.mark.parametrize("name", ["llama 2", "mistral", "words apart", "runs and a prefix"])
def test_first_words_end_where_no_token_lies_across(name: str) -> None:
    # Nothing here splits the text, but most of these characters are in no token with others.
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 3_000)))
    counter, tokenizer = counter_of(name, text)
    assert counter._first_words is not None
    n = len(counter._changed)
    spans = np.array([(start, n) for start in range(0, n, 7)], dtype=np.int64)
    rests, counts = counter._first_words.count_many(spans)
    assert (rests[:, 0] - spans[:, 0]).max() <= 4
    assert counts.min() > 0
    for start in range(0, len(text), 300):
        assert counter.count(start, len(text)) == count_of(tokenizer, text[start:])


def test_long_first_words_are_counted_otherwise() -> None:
    for n in (*range(1_020, 1_030), 3_000):
        text = "a" * n + " the theme"
        counter, tokenizer = counter_of("llama 2", text)
        expected = [count_of(tokenizer, text[start:]) for start in range(8)]
        spans = np.array([(start, len(text)) for start in range(8)])
        assert counter.count_many(spans).tolist() == expected
        assert [counter.count(*span) for span in spans.tolist()] == expected
        assert counter.split_at(3, expected[3]) == len(text)
        assert counter.split_at(3, expected[3] - 1) < len(text)
        first_words = counter._first_words
        assert first_words is not None
        is_long = [first_words.count(*span)[1] < 0 for span in spans.tolist()]
        assert is_long == [n - start > 1_024 for start in range(8)]


def test_what_is_no_slice_of_the_text_is_refused() -> None:
    counter, _ = counter_of("llama 2", "the theme")
    first_words = counter._first_words
    assert first_words is not None
    for start, end in ((-1, 3), (3, 3), (4, 3), (0, 10)):
        with pytest.raises(ValueError, match=f"got {start}:{end}"):
            first_words.count(start, end)
    for span in ((-1, 3), (0, 10)):
        with pytest.raises(ValueError, match="in the text"):
            first_words.count_many(np.array([span]))
    tables = counter._pipeline.safe_points.tables
    with pytest.raises(ValueError, match="no such prefix"):
        FirstWords(counter._encoding, "a", " " * 9, True, *tables, True)  # type: ignore[arg-type]


def test_first_words_end_where_pieces_do_if_a_pattern_splits() -> None:
    """Of blanks before a letter the last one goes to it, though they are in no token with it."""
    tokenizer = build("prefix space")
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    encoding, rng = cutline.Encoding.from_tokenizers(tokenizer), random.Random(3)
    for _ in range(60):
        text = "A" + "".join(rng.choices(["   ", " ", "é", "日", "a", "\n", "12", "\u3000"], k=12))
        counter, n = encoding.intervals(text), len(text)
        assert isinstance(counter, SpelledCounter)
        spans = np.array([(i, j) for i in range(n + 1) for j in range(i, n + 1)])
        expected = [count_of(tokenizer, text[start:end]) for start, end in spans.tolist()]
        assert counter.count_many(spans).tolist() == expected
        assert [counter.count(start, end) for start, end in spans.tolist()] == expected
