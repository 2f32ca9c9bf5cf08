"""All ways of encoding a piece give the same tokens: those of the textbook's merge.

Pieces of up to 64 bytes are merged, from whole characters where the text is known to be
UTF-8 and from bytes where it is not; longer ones are encoded by backtracking. So pieces
around that length, as text and as bytes, meet every way.
"""

import random

import pytest

from cutline.kernels.encode.encoder import Encoder
from cutline.vocabulary import (
    packaged_encoding,
)
from tests.kernels.encoders import encoder_of, whole_piece
from tests.oracles import textbook_merge
from tests.packaged import packaged_vocabulary
from tests.texts import ALPHABET, NAMED_TEXTS, random_text
from tests.vocabularies import TOY_TOKENS, Ranks, random_ranks, token_text, with_bytes

MERGE_LIMIT = 64
LENGTHS = (1, 2, 3, 7, 15, 16, 17, 31, 33, 60, 62, 63, 64, 65, 66, 67, 90, 130)
UTF8_ALPHABETS = ("aé", "éè\u0301", "日本 ", "한국a", "😀\u200d👩", "a日é😀 ")


def check(encoder: Encoder, ranks: Ranks, piece: bytes) -> None:
    want = textbook_merge(ranks, piece) if piece else []
    assert (piece, encoder._encode_bytes_as_piece(piece)) == (piece, want)
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        return
    assert (piece, encoder.encode_ordinary(text)) == (piece, want)
    assert encoder.count(text) == len(want)


def around_the_limit(rng: random.Random, draw: list[bytes]) -> bytes:
    """Items joined up to a length at which another way may be taken."""
    length = rng.choice(LENGTHS)
    piece = b""
    while len(piece) < length:
        piece += rng.choice(draw)
    return piece[: length + rng.choice((0, 0, 1, 2, 3))]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "r50k_base", "p50k_base"])
def test_pieces_of_published_vocabularies(name: str) -> None:
    vocabulary = packaged_vocabulary(packaged_encoding(name))
    encoder, ranks = encoder_of(vocabulary, None), vocabulary.to_ranks()
    rng = random.Random(51)
    for _ in range(500):
        items = [item.encode() for item in rng.sample(ALPHABET, rng.choice((1, 2, 4, 12)))]
        check(encoder, ranks, around_the_limit(rng, items))
    for _ in range(200):
        check(encoder, ranks, random_text(rng).encode()[:140])
        check(encoder, ranks, token_text(rng, ranks, rng.choice((1, 2, 5, 10)))[:140])
        check(encoder, ranks, rng.randbytes(rng.choice(LENGTHS)))
    for text in NAMED_TEXTS.values():
        check(encoder, ranks, text.encode()[:140])


@pytest.mark.parametrize("tokens", TOY_TOKENS.values(), ids=list(TOY_TOKENS))
def test_pieces_of_toy_vocabularies(tokens: tuple[bytes, ...]) -> None:
    ranks = with_bytes(tokens)
    encoder, rng = whole_piece(ranks), random.Random(52)
    letters = sorted({bytes([value]) for token in tokens for value in token} or {b"a", b"\xff"})
    for _ in range(400):
        check(encoder, ranks, around_the_limit(rng, rng.choice((letters, list(tokens) or letters))))


@pytest.mark.parametrize("alphabet", UTF8_ALPHABETS)
def test_characters_merged_whole_whatever_tokens_cross_their_boundaries(alphabet: str) -> None:
    rng = random.Random(alphabet)
    for _ in range(30):
        ranks = random_ranks(rng, alphabet.encode())
        encoder = whole_piece(ranks)
        for _ in range(25):
            characters = [character.encode() for character in alphabet]
            check(encoder, ranks, around_the_limit(rng, characters))
            check(encoder, ranks, token_text(rng, ranks, rng.choice((2, 6)))[:140])


@pytest.mark.parametrize("alphabet", [b"a", b"ab", b"abc", b"abcd \n", b"\x00\xff"], ids=repr)
def test_pieces_of_random_vocabularies(alphabet: bytes) -> None:
    rng = random.Random(alphabet)
    letters = [bytes([value]) for value in alphabet]
    for _ in range(40):
        ranks = random_ranks(rng, alphabet)
        encoder = whole_piece(ranks)
        for _ in range(25):
            check(encoder, ranks, around_the_limit(rng, letters))
            check(encoder, ranks, token_text(rng, ranks, rng.choice((1, 3, 9)))[:140])


@pytest.mark.parametrize("length", [MERGE_LIMIT - 1, MERGE_LIMIT, MERGE_LIMIT + 1])
def test_a_token_is_itself_at_the_length_where_ways_part(length: int) -> None:
    """The whole piece comes first, also where merging does not reach it."""
    for letters in (b"ab", "é".encode()):
        piece = (letters * length)[:length]
        check(whole_piece(with_bytes((piece,))), with_bytes((piece,)), piece)


def test_token_ids_by_their_bytes() -> None:
    ranks = {token: 7 * rank for token, rank in with_bytes((b"ab", b"ab" * 9, b"a" * 300)).items()}
    encoder = whole_piece(ranks)
    assert all(encoder._token_id(token) == token_id for token, token_id in ranks.items())
    assert [encoder._token_id(piece) for piece in (b"", b"ba", b"a" * 299)] == [None] * 3
