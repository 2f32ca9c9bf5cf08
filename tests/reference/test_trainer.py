"""The naive trainer does what its definition says, and the kernel makes the same merges."""

import random
from collections import Counter
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest

from cutline.kernels.train.trainer import Merger
from cutline.reference import Merge, encode_textbook, train
from cutline.reference.trainer import Ties, join_pair
from tests.texts import NAMED_TEXTS
from tests.vocabularies import trained_tokens, with_bytes

RULES: tuple[Ties, ...] = get_args(Ties)
KERNEL_RULES: dict[Ties, int] = {"smallest": 0, "largest": 1, "ids": 2}
ALPHABETS = (b"a", b"ab", b"abc", b"ab \n", "aé".encode(), "é日a ".encode(), bytes(range(256)))
WEIGHTS = (1, 1, 1, 2, 3, 2**40)


def random_pieces(rng: random.Random) -> dict[bytes, int]:
    """Few or many pieces, short or long, some of them empty."""
    letters, longest = rng.choice(ALPHABETS), rng.choice((3, 10, 60))
    return {
        bytes(rng.choices(letters, k=rng.randint(0, longest))): rng.choice(WEIGHTS)
        for _ in range(rng.choice((1, 3, 30)))
    }


def tokens_of(merges: list[Merge]) -> tuple[bytes, ...]:
    return tuple(merge.left + merge.right for merge in merges)


def kernel_merges(
    pieces: dict[bytes, int], vocab_size: int, min_frequency: int, longest: int, ties: Ties
) -> list[Merge]:
    """What the kernel makes of the same pieces, in bytes."""
    arena = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    counts = np.array(list(pieces.values()), dtype=np.int64)
    rule = KERNEL_RULES[ties]
    merger = Merger(arena, offsets, counts, vocab_size, min_frequency, longest, rule)
    while not merger.finished:
        merger.advance(7)
    tokens = [bytes([value]) for value in range(256)]
    merges: list[Merge] = []
    for (left, right), count in zip(*(found.tolist() for found in merger.merges()), strict=True):
        merges.append(Merge(tokens[left], tokens[right], count))
        tokens.append(tokens[left] + tokens[right])
    return merges


def test_published_example_has_the_published_merges() -> None:
    """Stanford's CS336, assignment 1; the pair of greater bytes wins a tie."""
    pieces = {b"low": 5, b"lower": 2, b"widest": 3, b"newest": 6}
    merges = train(pieces, 256 + 12, ties="largest")
    assert ", ".join((left + b" " + right).decode() for left, right, _ in merges) == (
        "s t, e st, o w, l ow, w est, n e, ne west, w i, wi d, wid est, low e, lowe r"
    )
    assert [count for *_, count in merges[:4]] == [9, 9, 7, 7]


@pytest.mark.parametrize(
    ("ties", "first"),
    [("smallest", (b"b", b"z")), ("largest", (b"\xff", b"a")), ("ids", (b"b", b"z"))],
)
def test_ties_go_by_the_rule(ties: Ties, first: tuple[bytes, bytes]) -> None:
    pieces = {b"bz": 2, b"ca": 2, b"\xffa": 2}
    assert train(pieces, 257, ties=ties) == [Merge(*first, 2)]


def test_ties_by_ids_go_to_the_older_token_and_not_to_the_smaller_bytes() -> None:
    pieces = {b"ab": 5, b"abc": 2, b"cd": 2}
    second = {rule: train(pieces, 258, ties=rule)[1] for rule in RULES}
    assert second == {
        "smallest": (b"ab", b"c", 2),
        "largest": (b"c", b"d", 2),
        "ids": (b"c", b"d", 2),
    }


def test_a_prefix_comes_before_what_it_begins() -> None:
    pieces = {b"ab": 9, b"ax": 3, b"abx": 3}
    assert train(pieces, 258, ties="smallest")[1] == (b"a", b"x", 3)
    assert train(pieces, 258, ties="largest")[1] == (b"ab", b"x", 3)


def test_unknown_rule_for_ties_is_refused() -> None:
    with pytest.raises(ValueError, match="'smallest', 'largest' or 'ids', got 'first'"):
        train({b"aa": 2}, 300, ties="first")  # type: ignore[arg-type]


def test_overlapping_places_count_and_the_left_one_is_joined() -> None:
    assert train({b"aaaaa": 1}, 300) == [(b"a", b"a", 4)]
    assert train({b"aaaaaa": 1}, 300, min_frequency=1) == [
        (b"a", b"a", 5),
        (b"aa", b"aa", 2),
        (b"aaaa", b"aa", 1),
    ]
    assert join_pair([b"a"] * 5, b"a", b"a") == [b"aa", b"aa", b"a"]
    assert join_pair([b"a", b"b", b"a"], b"a", b"b") == [b"ab", b"a"]
    assert join_pair([], b"a", b"b") == []


def test_training_stops_at_the_size_or_at_the_frequency() -> None:
    pieces = {b"abcd": 3, b"ab": 1}
    assert train(pieces, 0) == train(pieces, 256) == []
    assert train(pieces, 257) == [(b"a", b"b", 4)]
    assert [merge.frequency for merge in train(pieces, 1000)] == [4, 3, 3]
    assert [merge.frequency for merge in train(pieces, 1000, min_frequency=4)] == [4]
    assert train(pieces, 1000, min_frequency=5) == train({}, 1000) == train({b"": 9}, 1000) == []


def test_longer_tokens_than_allowed_are_never_made() -> None:
    pieces = {b"abcdef": 3}
    assert train(pieces, 1000, max_token_length=1) == []
    assert tokens_of(train(pieces, 1000, max_token_length=2)) == (b"ab", b"cd", b"ef")
    assert tokens_of(train(pieces, 1000, max_token_length=3)) == (b"ab", b"abc", b"de", b"def")
    assert len(tokens_of(train(pieces, 1000))[-1]) == 6


@pytest.mark.parametrize("ties", RULES)
def test_counts_are_those_of_the_pieces_before_each_merge(ties: Ties) -> None:
    rng = random.Random(1)
    for _ in range(30):
        pieces = random_pieces(rng)
        parts_of = {piece: [piece[i : i + 1] for i in range(len(piece))] for piece in pieces}
        for left, right, count in train(pieces, 290, ties=ties):
            counts: Counter[tuple[bytes, bytes]] = Counter()
            for piece, parts in parts_of.items():
                for pair in pairwise(parts):
                    counts[pair] += pieces[piece]
            assert counts[left, right] == count == max(counts.values())
            parts_of = {piece: join_pair(parts_of[piece], left, right) for piece in pieces}


@pytest.mark.parametrize("ties", RULES)
def test_trained_tokens_are_unique_and_encode_the_pieces_as_training_left_them(ties: Ties) -> None:
    rng = random.Random(2)
    for _ in range(60):
        pieces = random_pieces(rng)
        merges = train(pieces, 256 + rng.choice((5, 40, 1000)), ties=ties)
        tokens = tokens_of(merges)
        assert len(set(tokens)) == len(tokens)
        ranks = with_bytes(tokens)
        for piece in pieces:
            parts = [piece[i : i + 1] for i in range(len(piece))]
            for left, right, _ in merges:
                parts = join_pair(parts, left, right)
            assert encode_textbook(ranks, piece) == [ranks.ids[part] for part in parts]


@pytest.mark.parametrize("name", NAMED_TEXTS)
def test_a_text_as_one_piece_gives_the_tokens_of_the_tests_own_trainer(name: str) -> None:
    text = NAMED_TEXTS[name].encode()[:200]
    assert tokens_of(train({text: 1}, 256 + 60)) == tuple(trained_tokens(text, 60))


def check_kernel(rng: random.Random, ties: Ties) -> None:
    pieces = random_pieces(rng)
    vocab_size = 256 + rng.choice((1, 10, 100))
    min_frequency, longest = rng.choice((1, 2, 2, 5)), rng.choice((0, 0, 0, 1, 2, 5))
    want = train(
        pieces,
        vocab_size,
        min_frequency=min_frequency,
        ties=ties,
        max_token_length=longest or None,
    )
    got = kernel_merges(pieces, vocab_size, min_frequency, longest, ties)
    assert (pieces, vocab_size, min_frequency, longest, got) == (
        (pieces, vocab_size, min_frequency, longest, want)
    )


@pytest.mark.parametrize("ties", RULES)
def test_kernel_makes_the_merges_of_the_reference(ties: Ties) -> None:
    rng = random.Random(3)
    for _ in range(150):
        check_kernel(rng, ties)


@pytest.mark.exhaustive
@pytest.mark.parametrize("ties", RULES)
def test_kernel_makes_the_merges_of_the_reference_for_thousands_of_corpora(ties: Ties) -> None:
    rng = random.Random(4)
    for _ in range(3000):
        check_kernel(rng, ties)
