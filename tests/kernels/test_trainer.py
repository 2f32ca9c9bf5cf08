"""Merges are those of the naive trainer: count, pick, replace, repeat."""

import random
from threading import Thread
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.kernels.train.trainer import Merger
from cutline.reference.trainer import Ties, train
from cutline.tables import recover_left_lengths
from cutline.training.merging import train_vocabulary

ALPHABETS = (b"a", b"ab", b"abc", b"ab \n", "aé日😀".encode(), bytes(range(256)))
TIES = get_args(Ties)
Pieces = dict[bytes, int]
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def arrays_of(pieces: Pieces) -> Arrays:
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    arena = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    return arena, offsets, np.fromiter(pieces.values(), dtype=np.int64, count=len(pieces))


def merges_of(merger: Merger) -> list[tuple[bytes, bytes, int]]:
    """All merges, after the last one: bytes of left and right, and how often."""
    arena, lengths = merger.tokens_so_far()
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    tokens = [arena[end - n : end] for end, n in zip(ends, lengths.tolist(), strict=True)]
    pairs, counts = merger.merges()
    return [
        (tokens[left], tokens[right], count)
        for (left, right), count in zip(pairs.tolist(), counts.tolist(), strict=True)
    ]


def trained(
    pieces: Pieces, vocab_size: int, min_frequency: int = 2, ties: Ties = "smallest",
    max_token_length: int | None = None, at_once: int = 7, n_threads: int = 1, n_helpers: int = 0,
) -> list[tuple[bytes, bytes, int]]:  # fmt: skip
    merger = Merger(
        *arrays_of(pieces), vocab_size, min_frequency, max_token_length or 0, TIES.index(ties),
        n_threads, 1,  # each merge is shared
    )  # fmt: skip
    helpers = [Thread(target=merger.assist) for _ in range(n_helpers)]
    for helper in helpers:
        helper.start()
    while not merger.finished:
        merger.advance(at_once)
    merger.dismiss()
    for helper in helpers:
        helper.join()
    return merges_of(merger)


def random_pieces(rng: random.Random) -> Pieces:
    """Few letters, so that runs and ties abound."""
    alphabet, longest = rng.choice(ALPHABETS), rng.choice((3, 10, 60))
    counts = (1, 1, 2, 3, rng.choice((7, 2**40)))
    return {
        bytes(rng.choices(alphabet, k=rng.randint(1, longest))): rng.choice(counts)
        for _ in range(rng.choice((1, 3, 30)))
    }


def check(rng: random.Random, ties: Ties) -> None:
    pieces = random_pieces(rng)
    vocab_size, min_frequency = 256 + rng.choice((1, 10, 100)), rng.choice((1, 2, 2, 5))
    longest = rng.choice((None, None, None, 2, 5))
    want = train(
        pieces, vocab_size, min_frequency=min_frequency, ties=ties, max_token_length=longest
    )
    got = trained(pieces, vocab_size, min_frequency, ties, longest, rng.choice((1, 7, 1_000)))
    assert (pieces, got) == (pieces, want)
    n_threads = rng.randint(2, 5)
    shared = trained(pieces, vocab_size, min_frequency, ties, longest, 1_000, n_threads)
    assert (pieces, n_threads, shared) == (pieces, n_threads, want)
    assert len({left + right for left, right, _ in got}) == len(got)


@pytest.mark.parametrize("ties", TIES)
def test_merges_are_those_of_the_naive_trainer(ties: Ties) -> None:
    rng = random.Random(TIES.index(ties))
    for _ in range(700):
        check(rng, ties)


@pytest.mark.exhaustive
@pytest.mark.parametrize("ties", TIES)
def test_very_many_merges_are_those_of_the_naive_trainer(ties: Ties) -> None:
    rng = random.Random(10 + TIES.index(ties))
    for _ in range(15_000):
        check(rng, ties)


@pytest.mark.parametrize("ties", TIES)
def test_merges_do_not_depend_on_threads(ties: Ties) -> None:
    """With those that come, those that are expected, and more."""
    rng = random.Random(20 + TIES.index(ties))
    for n_threads, n_helpers in ((2, 1), (3, 2), (4, 1), (8, 0), (2, 3), (9, 4)):
        for letters in (b"ab", b"abcdefgh", "aé日😀\0".encode()):
            pieces = {
                bytes(rng.choices(letters, k=rng.randint(1, 30))): rng.choice(
                    (1, 2, 9, 2**31, 2**40)
                )
                for _ in range(400)
            }
            want = trained(pieces, 700, 1, ties)
            assert len(want) > 200
            assert trained(pieces, 700, 1, ties, None, 50, n_threads, n_helpers) == want


def test_helpers_that_come_late_are_sent_away() -> None:
    merger = Merger(*arrays_of({b"abcd": 3}), 300, 2, 0, 0, 2)
    merger.dismiss()
    merger.assist()
    assert merger.advance(10) == 3


def test_helpers_that_nobody_sends_away_leave() -> None:
    merger = Merger(*arrays_of({b"abcd": 3}), 300, 2, 0, 0, 2)
    merger.assist()
    assert merger.advance(10) == 3


@settings(max_examples=200)
@given(
    st.dictionaries(st.text("aab\u00e9\u65e5", min_size=1).map(str.encode), st.integers(1, 5)),
    st.sampled_from(TIES),
)
def test_merges_of_any_pieces(pieces: Pieces, ties: Ties) -> None:
    assert trained(pieces, 300, 1, ties) == train(pieces, 300, min_frequency=1, ties=ties)


@pytest.mark.parametrize("ties", TIES)
def test_runs_merge_from_the_left(ties: Ties) -> None:
    for length in range(1, 70):
        for pieces in ({b"a" * length: 1}, {b"a" * length: 3, b"b" + b"a" * length: 2}):
            want = train(pieces, 270, min_frequency=1, ties=ties)
            assert (length, trained(pieces, 270, 1, ties)) == (length, want)


@pytest.mark.parametrize("count", [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 5, 2**50])
def test_counts_of_any_size_add_up(count: int) -> None:
    pieces = {b"abab": count, b"abc": count - 1, b"ca": 2, b"bc": 2**31 + 7}
    for n_threads in (1, 2, 3):
        assert trained(pieces, 270, 1, n_threads=n_threads) == train(pieces, 270, min_frequency=1)


def test_one_long_piece_is_merged_like_many() -> None:
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(1, 6))) for _ in range(40)]
    piece = " ".join(rng.choices(words, k=3_000)).encode()
    assert trained({piece: 1}, 350) == train({piece: 1}, 350)


def test_all_of_a_megabyte_of_one_letter_is_merged() -> None:
    merges = trained({b"a" * 2**20: 1}, 10_000, 1, at_once=10_000)
    assert [len(left) for left, _, _ in merges] == [2**k for k in range(20)]
    assert [count for _, _, count in merges] == [2 ** (20 - k) - 1 for k in range(20)]


def test_the_last_merges_are_those_of_recovering() -> None:
    rng = random.Random(4)
    for _ in range(60):
        pieces = random_pieces(rng)
        vocabulary = train_vocabulary(
            *arrays_of(pieces), n_merges=80, min_frequency=1, ties="smallest",
            max_token_length=None, progress=None,
        )  # fmt: skip
        assert vocabulary.left_lengths is not None
        assert vocabulary.left_lengths.tolist() == recover_left_lengths(vocabulary).tolist()


def test_nothing_to_merge_is_no_merge() -> None:
    for pieces in ({}, {b"a": 9}, {b"abc": 1}, {b"": 5}):
        assert trained(pieces, 300) == []
    assert trained({b"ab": 5}, 256) == []


def test_the_newest_tokens_are_given_in_order() -> None:
    merger = Merger(*arrays_of({b"abcd": 3}), 300, 2, 0, 0)
    assert merger.newest(3) == []
    merger.advance(2)
    assert (merger.newest(3), merger.newest(1), merger.newest(0)) == ([b"ab", b"abc"], [b"abc"], [])
    assert merger.advance(10) == 3
    assert merger.finished


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((b"abc", [0, 2], [1]), "divide the arena"),
        ((b"abc", [1, 3], [1]), "divide the arena"),
        ((b"abc", [0], [1]), "divide the arena"),
        ((b"abc", [], []), "divide the arena"),
        ((b"abc", [0, 4, 3], [1, 1]), "piece 1 ends before it begins"),
        ((b"abc", [0, -1, 3], [1, 1]), "piece 0 ends before it begins"),
        ((b"abc", [0, 3], [0]), "piece 0 has a count of 0"),
        ((b"abc", [0, 3], [-5]), "piece 0 has a count of -5"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(
    arrays: tuple[bytes, list[int], list[int]], message: str
) -> None:
    arena, offsets, counts = arrays
    with pytest.raises(ValueError, match=message):
        Merger(
            np.frombuffer(arena, dtype=np.uint8), np.array(offsets, dtype=np.int64),
            np.array(counts, dtype=np.int64), 300, 2, 0, 0,
        )  # fmt: skip


@pytest.mark.parametrize("arguments", [(255, 2, 0, 0), (300, 0, 0, 0), (300, 2, 0, 3)])
def test_settings_out_of_range_are_refused(arguments: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        Merger(*arrays_of({b"ab": 2}), *arguments)


def test_counts_that_would_overflow_are_refused() -> None:
    with pytest.raises(OverflowError, match=r"2\*\*62"):
        train_vocabulary(
            *arrays_of({b"aaaa": 2**61}), n_merges=3, min_frequency=1, ties="ids",
            max_token_length=None, progress=None,
        )  # fmt: skip
    assert trained({b"aab": 2**60}, 258)[0] == (b"a", b"a", 2**60)
