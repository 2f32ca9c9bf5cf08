"""Encoding and counting against tiktoken: named texts, random texts, code points, giant pieces."""

import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

import cutline
from tests.conftest import short_or_long
from tests.oracles import DISTINCT, PACKAGED, real_tiktoken
from tests.texts import (
    NAMED_TEXTS,
    base64_text,
    lookahead_texts,
    random_text,
    random_texts,
    run_length_text,
)

CODE_POINTS = [*range(0xD800), *range(0xE000, 0x110000)]
CONTEXTS = ("{}", "a{}", " {}", "1{}", "'{}", "\n{}", "{}a", "a{} {}'s", " \n{}\n")
BLOCK = 50_000


def assert_same_encodings(name: str, texts: list[str]) -> None:
    """Fail on the first text, the shortest if possible, that tiktoken encodes otherwise."""
    ours = cutline.get_encoding(name)
    want = list(map(real_tiktoken(name).encode_ordinary, texts))
    got = ours.encode_ordinary_batch(texts, num_threads=2)
    if got == want:
        return
    wrong = (i for i, (a, b) in enumerate(zip(got, want, strict=True)) if a != b)
    i = min(wrong, key=lambda i: len(texts[i]))
    assert (texts[i], got[i]) == (texts[i], want[i])


def in_contexts(code_points: list[int]) -> Iterator[list[str]]:
    """Every code point alone and in company, each its own text, in blocks."""
    for context in CONTEXTS:
        for first in range(0, len(code_points), BLOCK):
            yield [context.replace("{}", chr(c)) for c in code_points[first : first + BLOCK]]


@pytest.mark.parametrize("name", PACKAGED)
def test_named_texts_encode_as_tiktoken_does(name: str) -> None:
    ours = cutline.get_encoding(name)
    for text in NAMED_TEXTS.values():
        want = real_tiktoken(name).encode_ordinary(text)
        assert (text, ours.encode_ordinary(text)) == (text, want)
        assert ours.encode(text, disallowed_special=()) == want
        assert ours.encode_to_numpy(text, disallowed_special=()).tolist() == want
        assert (text, ours.count(text)) == (text, len(want))
        assert ours.decode_bytes(want) == text.encode()


@pytest.mark.parametrize("name", PACKAGED)
def test_every_prefix_and_suffix_of_named_texts_encodes_as_tiktoken_does(name: str) -> None:
    short = [text for text in NAMED_TEXTS.values() if len(text) < 70]
    prefixes = [text[:i] for text in short for i in range(len(text))]
    suffixes = [text[i:] for text in short for i in range(len(text))]
    assert_same_encodings(name, prefixes + suffixes)


@short_or_long("n_texts", 700, 40_000)
@pytest.mark.parametrize("name", PACKAGED)
def test_random_texts_encode_as_tiktoken_does(name: str, n_texts: int) -> None:
    assert_same_encodings(name, list(random_texts(1, n_texts)))


@pytest.mark.parametrize("name", DISTINCT)
def test_joined_named_texts_encode_as_tiktoken_does(name: str) -> None:
    rng = random.Random(2)
    texts = list(NAMED_TEXTS.values())
    assert_same_encodings(name, ["".join(rng.choices(texts, k=8)) for _ in range(200)])


@short_or_long("n_texts", 60, 600)
@pytest.mark.parametrize("name", DISTINCT)
def test_run_length_texts_encode_as_tiktoken_does(name: str, n_texts: int) -> None:
    rng, lengths = random.Random(3), (50, 500, 3_000, *[20_000] * (n_texts > 60))
    assert_same_encodings(name, [run_length_text(rng, rng.choice(lengths)) for _ in range(n_texts)])


@pytest.mark.parametrize("name", DISTINCT)
def test_blanks_at_every_distance_encode_as_tiktoken_does(name: str) -> None:
    assert_same_encodings(name, list(lookahead_texts()))


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("unit", ["a", " ", "\n", "\x00", "é", "中", "😀", "1", "'s", "aB", "=-"])
def test_runs_of_every_length_encode_as_tiktoken_does(name: str, unit: str) -> None:
    lengths = [*range(140), 255, 256, 257, 499, 500, 501, 4_095, 4_096, 4_097]
    assert_same_encodings(name, [unit * length for length in lengths])


@pytest.mark.parametrize("name", DISTINCT)
def test_pieces_of_every_length_encode_as_tiktoken_does(name: str) -> None:
    rng = random.Random(4)
    letters = ["".join(rng.choices("abcdetz", k=length)) for length in range(200)]
    cyrillic = ["".join(rng.choices("авеиклт", k=length)) for length in range(100)]
    assert_same_encodings(name, letters + cyrillic)


@pytest.mark.parametrize("name", DISTINCT)
def test_the_same_text_encodes_the_same_again(name: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    text = "".join(random_texts(5, 300))
    other = "".join(random_texts(6, 300))
    want, want_other = real.encode_ordinary(text), real.encode_ordinary(other)
    for _ in range(3):
        assert ours.encode_ordinary(text) == want
        assert ours.encode_ordinary(other) == want_other


def test_alternating_encodings_do_not_disturb_each_other() -> None:
    texts = list(random_texts(7, 200))
    encodings = [cutline.get_encoding(name) for name in DISTINCT]
    alternating = [[encoding.encode_ordinary(text) for encoding in encodings] for text in texts]
    alone = [list(map(real_tiktoken(name).encode_ordinary, texts)) for name in DISTINCT]
    assert alternating == [list(row) for row in zip(*alone, strict=True)]


@short_or_long("n_points", 2_500, len(CODE_POINTS))
@pytest.mark.parametrize("name", DISTINCT)
def test_code_points_in_every_context_encode_as_tiktoken_does(name: str, n_points: int) -> None:
    for texts in in_contexts(random.Random(8).sample(CODE_POINTS, n_points)):
        assert_same_encodings(name, texts)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PACKAGED)
def test_corpora_encode_as_tiktoken_does(name: str, corpus: str) -> None:
    want = real_tiktoken(name).encode_ordinary(corpus)
    ours = cutline.get_encoding(name)
    assert np.array_equal(ours.encode_to_numpy(corpus, disallowed_special=()), want)
    assert ours.count(corpus) == len(want)
    assert ours.encode_ordinary(corpus) == want
    assert ours.decode_bytes(want) == corpus.encode()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DISTINCT)
def test_slices_of_corpora_encode_as_tiktoken_does(name: str, corpus: str) -> None:
    rng = random.Random(10)
    starts = [rng.randrange(len(corpus)) for _ in range(20_000)]
    assert_same_encodings(name, [corpus[i : i + rng.choice((5, 50, 500))] for i in starts])


# Counting, arrays and batches


@pytest.mark.parametrize("name", DISTINCT)
def test_count_equals_len_of_encode(name: str) -> None:
    ours = cutline.get_encoding(name)
    for text in random_texts(11, 500):
        n_tokens = len(ours.encode_ordinary(text))
        assert ours.count(text) == n_tokens
        assert type(ours.count(text)) is int
        assert ours._count_utf8(text.encode("utf-8", "replace")) == ours.count(
            text.encode("utf-8", "replace").decode()
        )
        assert ours.fits(text, n_tokens)
        assert not (n_tokens and ours.fits(text, n_tokens - 1))


@pytest.mark.parametrize("name", DISTINCT)
def test_count_till_limit_is_the_count_or_none(name: str) -> None:
    ours = cutline.get_encoding(name)
    for text in [*random_texts(12, 200), *NAMED_TEXTS.values()]:
        n_tokens = ours.count(text)
        for limit in {0, 1, n_tokens // 2, n_tokens - 1, n_tokens, n_tokens + 1, 10**12}:
            if limit >= 0:
                want = n_tokens if n_tokens <= limit else None
                assert ours.count_till_limit(text, limit) == want
                assert ours.fits(text, limit) is (want is not None)


def test_count_till_limit_is_exact_on_long_texts() -> None:
    ours = cutline.get_encoding("o200k_base")
    for text in ("word " * 20_000, "a" * 100_000, "\n" + " " * 100_000):
        n_tokens = ours.count(text)
        assert ours.count_till_limit(text, n_tokens) == n_tokens
        assert ours.count_till_limit(text, n_tokens - 1) is None
        assert ours.count_till_limit(text, 3) is None


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("num_threads", [1, 2, 8])
def test_batches_equal_single_calls(name: str, num_threads: int) -> None:
    ours = cutline.get_encoding(name)
    texts = [*random_texts(13, 300), *NAMED_TEXTS.values()]
    want = [ours.encode_ordinary(text) for text in texts]
    assert ours.encode_ordinary_batch(texts, num_threads=num_threads) == want
    assert ours.encode_batch(texts, num_threads=num_threads, disallowed_special=()) == want
    counts = ours.count_batch(texts, num_threads=num_threads)
    assert counts.dtype == np.int64
    assert counts.tolist() == list(map(len, want))


@pytest.mark.parametrize("num_threads", [1, 3])
def test_batches_mix_all_widths_of_characters(
    num_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one block texts with surrogates, of every width, empty ones and those of a subclass."""
    monkeypatch.setattr("cutline.threads.BLOCK_CHARACTERS", 5_000)
    ours, real = cutline.get_encoding("o200k_base"), real_tiktoken("o200k_base")
    shouting = type("Shouting", (str,), {"__len__": lambda _: 1 << 40, "encode": None})
    ends = ["", "z", "\x80", "é", "\u07ff", "\u0800", "中", "\uffff", "😀", "\U0010ffff"]
    ends += ["\ud800", "\udc00", "\ud83d\ude00", "é\udfff中"]
    texts = [
        kind("ab" * length + end + start)
        for length in (0, 1, 3, 4, 40, 900)
        for end in ends
        for start in ("", "é", "中 8 characters", "😀")
        for kind in (str, shouting)
    ]
    random.Random(3).shuffle(texts)
    want = [real.encode_ordinary(str.__str__(text)) for text in texts]
    assert ours.encode_ordinary_batch(texts, num_threads=num_threads) == want
    assert ours.encode_batch(texts, num_threads=num_threads) == want
    assert ours.count_batch(texts, num_threads=num_threads).tolist() == list(map(len, want))


def test_empty_batches_are_empty() -> None:
    ours = cutline.get_encoding("o200k_base")
    assert ours.encode_batch([]) == []
    assert ours.encode_ordinary_batch([]) == []
    counts = ours.count_batch([])
    assert counts.dtype == np.int64
    assert counts.shape == (0,)


def test_numpy_tokens_are_uint32_and_equal_the_list() -> None:
    ours = cutline.get_encoding("o200k_base")
    for text in ["", "a", *random_texts(14, 100)]:
        array = ours.encode_to_numpy(text, disallowed_special=())
        assert array.dtype == np.uint32
        assert array.ndim == 1
        assert array.tolist() == ours.encode_ordinary(text)


def test_numpy_tokens_keep_their_values_after_further_calls() -> None:
    ours = cutline.get_encoding("o200k_base")
    first = ours.encode_to_numpy("the first text")
    before = first.tolist()
    for text in random_texts(15, 50):
        ours.encode_to_numpy(text, disallowed_special=())
    assert first.tolist() == before


def test_tokens_are_plain_ints() -> None:
    ours = cutline.get_encoding("o200k_base")
    tokens = ours.encode("plain ints <|endoftext|>", allowed_special="all")
    assert {type(token) for token in tokens} == {int}


# Giant pieces: one piece of a megabyte


def is_unique_encoding(name: str, tokens: list[int], text: str) -> bool:
    """Whether these are the tokens of a text that is one piece.

    A sequence is the encoding if it decodes to the text and each adjacent pair of its
    tokens, encoded together, gives that pair again.
    """
    real = real_tiktoken(name)
    pairs = set(pairwise(tokens))
    return real.decode_bytes(tokens) == text.encode() and all(
        real._encode_single_piece(real.decode_bytes(pair)) == list(pair) for pair in pairs
    )


GIANT_PIECES = {
    "a": "a" * 1_000_000,
    "blanks": " " * 1_000_000,
    "newlines": "\n" * 1_000_000,
    "ab": "".join(random.Random(30).choices("ab", k=1_000_000)),
    "letters": "".join(random.Random(31).choices("abcdefghijklmnopqrstuvwxyz", k=500_000)),
    "han": "".join(random.Random(32).choices("的一是不了人我在有他", k=300_000)),
    "accents": "é" * 500_000,
    "equals": "=" * 1_000_000,
}


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("text", GIANT_PIECES.values(), ids=GIANT_PIECES.keys())
def test_giant_pieces_encode_exactly(name: str, text: str) -> None:
    ours = cutline.get_encoding(name)
    assert ours.encode_ordinary(text[:20_000]) == real_tiktoken(name)._encode_single_piece(
        text[:20_000]
    )
    tokens = ours.encode_ordinary(text)
    assert is_unique_encoding(name, tokens, text)
    assert ours.count(text) == len(tokens)


@pytest.mark.parametrize("name", DISTINCT)
def test_many_giant_runs_in_one_text_encode_as_tiktoken_does(name: str) -> None:
    texts = [
        ("\n" + " " * 20_000) * 3 + "z",
        "a" * 9_000 + "words here " * 20 + " " * 9_000 + "\n\n" + "y'" * 3_000 + "é" * 9_000,
        " \u3000" * 5_000 + "1" * 9_000,
        "中" + "A" * 20_000 + "b",
        "中" + "A" * 20_000 + ".",
        base64_text(20_000),
        "".join(random_text(random.Random(i)) for i in range(500)),
    ]
    assert_same_encodings(name, texts)
