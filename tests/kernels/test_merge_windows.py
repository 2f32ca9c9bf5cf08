"""Windows of a long piece give the tokens of the whole, or give up."""

import random
from collections.abc import Mapping

import pytest

from cutline.kernels.bpe.merge_windows import merge_in_windows
from cutline.reference.heap import merge_by_heap
from cutline.tables import build_bpe_tables
from cutline.vocabulary import (
    packaged_encoding,
)
from tests.packaged import packaged_vocabulary
from tests.texts import ALPHABET, NAMED_TEXTS, random_text
from tests.vocabularies import TOY_TOKENS, merged_tokens, random_ranks, vocabulary_of, with_bytes

NAMES = ("o200k_base", "cl100k_base", "r50k_base")
WIDTHS = (32, 320)
Pieces = list[bytes]


def check(ranks: Mapping[bytes, int], pieces: Pieces) -> tuple[int, int]:
    """Compare with merging the whole. Returns how often each width did not give up."""
    tables = build_bpe_tables(vocabulary_of(ranks))
    by_rank = sorted(ranks, key=ranks.__getitem__)
    done = [0, 0]
    for piece in pieces:
        want = merge_by_heap(ranks, piece)
        for long_ones in (False, True):
            found = merge_in_windows(tables, piece, long_ones)
            if found is not None:
                assert (piece, [by_rank[rank] for rank in found]) == (piece, want)
                done[long_ones] += 1
    return done[0], done[1]


def repeating(rng: random.Random, draw: list[bytes], length: int) -> bytes:
    """A few items again and again, now and then with another between them."""
    units = [b"".join(rng.choices(draw, k=rng.choice((1, 1, 2, 5, 20)))) for _ in range(2)]
    piece = b""
    while len(piece) < length:
        piece += rng.choice(units) * rng.choice((1, 3, 40, 400))
        piece += rng.choice([b"", b"", rng.choice(draw)])
    return piece[:length]


def drawn(rng: random.Random, draw: list[bytes], n_pieces: int) -> Pieces:
    pieces = []
    for _ in range(n_pieces):
        length = rng.choice((65, 100, 321, 700, 2_000, 9_000))
        pieces.append(b"".join(rng.choices(draw, k=length))[:length])
        pieces.append(repeating(rng, draw, length))
    return pieces


@pytest.mark.parametrize("name", NAMES)
def test_pieces_of_published_vocabularies(name: str) -> None:
    ranks = packaged_vocabulary(packaged_encoding(name)).to_ranks()
    rng = random.Random(71)
    pieces = [text.encode() for text in NAMED_TEXTS.values() if 64 < len(text) < 10_000]
    for _ in range(12):
        items = [item.encode() for item in rng.sample(ALPHABET, rng.choice((1, 2, 4, 12)))]
        pieces += drawn(rng, items, 1)
    pieces += drawn(rng, [bytes([byte]) for byte in b"abcdefghijklmnopqrstuvwxyz"], 3)
    pieces += [random_text(rng).encode() * 40 for _ in range(20)]
    short, long_ones = check(ranks, [piece for piece in pieces if piece])
    assert short > 20
    assert long_ones > 5


@pytest.mark.parametrize("tokens", TOY_TOKENS.values(), ids=list(TOY_TOKENS))
def test_pieces_of_vocabularies_that_break_rules(tokens: tuple[bytes, ...]) -> None:
    rng = random.Random(72)
    letters = [b"a", b"b", b"c", "中".encode(), b" "]
    short, _ = check(with_bytes(tokens), drawn(rng, letters, 6))
    assert short > 0


def test_pieces_of_drawn_vocabularies() -> None:
    rng = random.Random(73)
    done = 0
    for _ in range(25):
        letters = rng.choice((b"ab", b"abc", b"ab "))
        tokens = merged_tokens(rng, letters, rng.choice((20, 80)))
        for ranks in (random_ranks(rng, letters), with_bytes(tuple(tokens))):
            done += sum(check(ranks, drawn(rng, [bytes([letter]) for letter in letters], 3)))
    assert done > 200


def test_tokens_longer_than_a_window_are_left_to_wider_ones() -> None:
    ranks = packaged_vocabulary(packaged_encoding("o200k_base")).to_ranks()
    tables = build_bpe_tables(packaged_vocabulary(packaged_encoding("o200k_base")))
    blanks = b" " * 40_000
    assert merge_in_windows(tables, blanks, long_ones=False) is None
    assert check(ranks, [blanks, (b"\n" + b" " * 40) * 1_000]) == (0, 2)


@pytest.mark.parametrize("length", [*range(1, 100), *range(300, 350), *range(600, 660)])
def test_every_length(length: int) -> None:
    ranks = with_bytes((b"aa", b"aaaa", b"aaaaaaaa", b"ab", b"aab"))
    check(ranks, [b"a" * length, b"a" * (length - 1) + b"b", (b"aab" * length)[:length]])
