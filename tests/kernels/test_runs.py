"""Backtracking: of runs, on which it gives up once its budget is spent, and of few letters.

The tokens are the same by whatever way.
"""

import random

import pytest

import cutline
from cutline.kernels.encode.encoder import Encoder
from cutline.vocabulary import (
    packaged_encoding,
)
from tests.kernels.encoders import DEFAULT_CACHES, NO_CACHES, encoder_of, whole_piece
from tests.oracles import tiktoken_of
from tests.packaged import packaged_vocabulary
from tests.vocabularies import TOY_TOKENS, merged_tokens, random_ranks, with_bytes

# Enough of them in one piece that the budget of backtracking is spent.
TIRING = "-" * 300_000
NAMES = ("o200k_base", "cl100k_base", "r50k_base")
LENGTHS = (65, 100, 1_000, 4_099)


def unsplit(name: str, cache_bits: tuple[int, int]) -> Encoder:
    """A new encoder of a packaged encoding's vocabulary that does not split."""
    return encoder_of(packaged_vocabulary(packaged_encoding(name)), None, cache_bits)


def run_texts(alphabet: str) -> list[str]:
    """Runs and near-runs of all kinds of lengths."""
    rng = random.Random(61)
    runs = [unit * (n // len(unit)) for unit in (*alphabet, alphabet[:2]) for n in LENGTHS]
    broken = ["".join(rng.choice(alphabet) * rng.choice((1, 7, 300)) for _ in "0123456789")]
    return [*runs, *broken, *(run + alphabet[-1] for run in runs)]


@pytest.mark.parametrize("cache_bits", [NO_CACHES, DEFAULT_CACHES], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_runs_are_the_same_once_backtracking_gives_up(
    name: str, cache_bits: tuple[int, int]
) -> None:
    patient, tired = unsplit(name, cache_bits), unsplit(name, cache_bits)
    texts = run_texts("-=#*/\t ;")
    want = [patient.encode_ordinary(text) for text in texts]
    tired.encode_ordinary(TIRING)
    assert [tired.encode_ordinary(text) for text in texts] == want
    assert [tired._encode_bytes_as_piece(text.encode()) for text in texts] == want
    assert [tired.count(text) for text in texts] == [len(tokens) for tokens in want]


def test_runs_of_any_vocabulary_are_the_same_once_backtracking_gives_up() -> None:
    rng = random.Random(62)
    odd_runs = rng.sample([b"a" * n for n in range(2, 130)], 90)
    drawn = [random_ranks(rng, b"ab") for _ in range(4)]
    trained = [merged_tokens(rng, b"ab", 60), odd_runs, *TOY_TOKENS.values()]
    for ranks in [*drawn, *(with_bytes(tuple(tokens)) for tokens in trained)]:
        patient, tired = whole_piece(ranks), whole_piece(ranks)
        texts = run_texts("ab")
        want = [patient.encode_ordinary(text) for text in texts]
        tired.encode_ordinary("a" * 60_000)
        assert [tired.encode_ordinary(text) for text in texts] == want


def test_a_first_piece_of_bytes_may_exhaust_the_budget() -> None:
    dashes = b"-" * 300_000
    tokens = unsplit("cl100k_base", NO_CACHES)._encode_bytes_as_piece(dashes)
    assert tokens == unsplit("cl100k_base", NO_CACHES).encode_ordinary(dashes.decode())


# Pieces that windows, merging and backtracking share among them, and those around the limits.
FEW_LENGTHS = (31, 32, 33, 34, 40, 63, 64, 65, 66, 70, 128, 500, 3_000, 40_000)


@pytest.mark.parametrize("alphabet", ["ab", "ba", "ACGT", "acgtn", "aeiou ", "abcdef", "\x00\x01"])
@pytest.mark.parametrize("name", NAMES)
def test_pieces_of_few_letters_have_tiktokens_tokens(name: str, alphabet: str) -> None:
    rng = random.Random(f"{name} {alphabet}")
    cached, uncached = unsplit(name, DEFAULT_CACHES), unsplit(name, NO_CACHES)
    oracle = tiktoken_of(cutline.get_encoding(name)._mergeable_ranks, None)
    for length in FEW_LENGTHS:
        for text in {"".join(rng.choices(alphabet, k=length)) for _ in range(4)}:
            want = oracle.encode_ordinary(text)
            assert cached.encode_ordinary(text) == want
            assert uncached.encode_ordinary(text) == want
            assert cached.count(text) == len(want)


def test_pieces_of_few_letters_of_any_vocabulary_are_the_same_without_caches() -> None:
    rng = random.Random(63)
    for letters in (b"ab", b"ab", b"abc", b"abcd"):
        ranks = random_ranks(rng, letters)
        cached, uncached = whole_piece(ranks), whole_piece(ranks, cache_bits=NO_CACHES)
        for length in FEW_LENGTHS:
            text = bytes(rng.choices(letters, k=length)).decode()
            assert cached.encode_ordinary(text) == uncached.encode_ordinary(text)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_that_share_a_slot_of_the_cache_of_first_matches_are_told_apart(name: str) -> None:
    """Six bytes, and those whose product differs from theirs in one bit of those below the slot."""
    rng = random.Random(name)
    factor, modulus = 0x9E3779B97F4A7C15, 1 << 48
    few_letters = bytes(rng.choices(b"ab", k=70))
    for bit in range(48 - 13):
        parts = [few_letters]
        for _ in range(20):
            one = int.from_bytes(rng.randbytes(6), "little")
            other = (one * factor % modulus ^ 1 << bit) * pow(factor, -1, modulus) % modulus
            parts += [key.to_bytes(6, "little") + b"ab" for key in (one, other)]
        piece = b"".join(parts)
        want = unsplit(name, NO_CACHES)._encode_bytes_as_piece(piece)
        assert unsplit(name, DEFAULT_CACHES)._encode_bytes_as_piece(piece) == want
