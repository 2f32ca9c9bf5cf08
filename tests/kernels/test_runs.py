"""Long runs: backtracking gives up on them once its budget is spent. The tokens stay."""

import random

import pytest

from cutline.kernels.encode.encoder import Encoder
from cutline.vocabulary import (
    packaged_encoding,
)
from tests.kernels.encoders import DEFAULT_CACHES, NO_CACHES, encoder_of, whole_piece
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
