"""Greedy and minimal do what they say, which is not byte pair encoding."""

import random
from itertools import pairwise

from cutline.reference import encode_greedy, encode_minimal, encode_textbook
from tests.reference.samples import all_small_ranks, tokens_of, worst_ranks, worst_texts
from tests.vocabularies import Ranks, ids_of, token_text, with_bytes


def longest_matches(ranks: Ranks, piece: bytes) -> list[int]:
    """The longest token at each place, all lengths tried."""
    ids, start = [], 0
    while start < len(piece):
        end = next(end for end in range(len(piece), start, -1) if piece[start:end] in ranks)
        ids.append(ids_of(ranks)[piece[start:end]])
        start = end
    return ids


def every_cut(ranks: Ranks, piece: bytes) -> list[list[int]]:
    """Every way to cut a piece into tokens."""
    ways = []
    for seams in range(1 << max(0, len(piece) - 1)):
        places = [0, *(k for k in range(1, len(piece)) if seams >> (k - 1) & 1), len(piece)]
        parts = [piece[start:end] for start, end in pairwise(places) if end > start]
        if all(part in ranks for part in parts):
            ways.append([ids_of(ranks)[part] for part in parts])
    return ways


def test_greedy_takes_the_longest_match_at_each_place() -> None:
    rng = random.Random(17)
    for ranks, letters in all_small_ranks(10):
        tokens = tokens_of(ranks)
        pieces = [bytes(rng.choices(letters, k=length)) for length in range(20)]
        for piece in [*pieces, token_text(rng, ranks, 10)]:
            assert encode_greedy(tokens, piece) == longest_matches(ranks, piece)


def test_minimal_is_one_of_the_shortest_of_all_cuts() -> None:
    rng = random.Random(18)
    for ranks, letters in all_small_ranks(10):
        tokens = tokens_of(ranks)
        pieces = [bytes(rng.choices(letters, k=length)) for length in range(8)]
        for piece in [*pieces, token_text(rng, ranks, 3)[:8]]:
            ways, got = every_cut(ranks, piece), encode_minimal(tokens, piece)
            assert got in ways
            assert len(got) == min(map(len, ways))


def test_minimal_ends_in_the_longest_token_that_it_can() -> None:
    ranks = with_bytes((b"ab", b"bcd", b"abc"))
    tokens, ids = tokens_of(ranks), ids_of(ranks)
    assert encode_minimal(tokens, b"abcd") == [ids[b"a"], ids[b"bcd"]]


def test_no_encoding_is_shorter_than_minimal() -> None:
    for name, text in worst_texts(300).items():
        ranks = worst_ranks()[name]
        tokens, piece = tokens_of(ranks), text.encode()
        fewest = len(encode_minimal(tokens, piece))
        assert fewest <= len(encode_greedy(tokens, piece))
        assert fewest <= len(encode_textbook(ranks, piece))


def test_both_differ_from_byte_pair_encoding() -> None:
    ranks = with_bytes((b"bc", b"ab", b"cd"))
    tokens, ids = tokens_of(ranks), ids_of(ranks)
    assert encode_textbook(ranks, b"abcd") == [ids[b"a"], ids[b"bc"], ids[b"d"]]
    assert encode_greedy(tokens, b"abcd") == [ids[b"ab"], ids[b"cd"]]
    assert encode_minimal(tokens, b"abcd") == [ids[b"ab"], ids[b"cd"]]
