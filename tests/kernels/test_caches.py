"""Caches change nothing: of one entry, of many, or none, and whatever was encoded before."""

import random
from itertools import product

import pytest

from cutline.kernels.encode.encoder import Encoder
from tests.kernels.encoders import DEFAULT_CACHES, NO_CACHES, SMALLEST_CACHES, packaged, whole_piece
from tests.texts import NAMED_TEXTS, random_texts, run_length_text
from tests.vocabularies import TOY_TOKENS, merged_tokens, random_ranks, with_bytes

CACHES = (SMALLEST_CACHES, DEFAULT_CACHES, (0, 16), (17, 0), (3, 2), (3, 6))
NAMES = ("o200k_base", "cl100k_base", "r50k_base")
LENGTHS = [*range(1, 81), *range(250, 261), *range(4_095, 4_098)]
# A token for 'a' in every number up to 40: such a run is one token, and any 'z' before it another.
LETTER_RANKS = with_bytes(tuple(b"a" * n for n in range(2, 41)))


def check(cached: Encoder, fresh: Encoder, texts: list[str]) -> None:
    """Three times over, so that what the first and the second time left is used."""
    want = [fresh.encode_ordinary(text) for text in texts]
    for _ in range(3):
        for text, tokens in zip(texts, want, strict=True):
            assert (text, cached.encode_ordinary(text)) == (text, tokens)
            assert (text, cached.count(text)) == (text, len(tokens))
            assert cached._encode_to_numpy(text).tolist() == tokens
    assert cached._encode_block(texts) == want
    assert cached._count_block(texts).tolist() == [len(tokens) for tokens in want]


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_any_text_at_any_cache_size(name: str, cache_bits: tuple[int, int]) -> None:
    rng = random.Random(41)
    texts = [
        *NAMED_TEXTS.values(),
        *random_texts(seed=42, n_texts=300),
        *(run_length_text(rng, 2_000) for _ in range(10)),
    ]
    check(packaged(name, cache_bits), packaged(name), texts)


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
def test_vocabularies_unlike_the_packaged_ones(cache_bits: tuple[int, int]) -> None:
    rng = random.Random(43)
    vocabularies = [with_bytes(tokens) for tokens in TOY_TOKENS.values()]
    vocabularies += [random_ranks(rng, b"abc") for _ in range(12)]
    for ranks in vocabularies:
        texts = ["".join(rng.choices("abcd ", k=rng.randint(0, 70))) for _ in range(40)]
        check(whole_piece(ranks, cache_bits), whole_piece(ranks), texts)


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
@pytest.mark.parametrize("alphabet", ["\x00", "a", "ab", "\x00\x01", "xyzé", "日本 "])
def test_a_piece_of_every_length(alphabet: str, cache_bits: tuple[int, int]) -> None:
    rng = random.Random(44)
    tokens = merged_tokens(rng, alphabet.encode(), 60)
    ranks = with_bytes(tuple(token for token in tokens if len(token) > 1))
    texts = ["".join(rng.choices(alphabet, k=length)) for length in LENGTHS for _ in range(2)]
    check(whole_piece(ranks, cache_bits), whole_piece(ranks), texts)


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_nuls_between_other_pieces(name: str, cache_bits: tuple[int, int]) -> None:
    texts = [blank + "\x00" * length + "a" for length in range(81) for blank in ("", " ", "b")]
    check(packaged(name, cache_bits), packaged(name), texts)


def pieces_by_size(sizes: tuple[int, ...], counts: range) -> dict[tuple[int, int], str]:
    """A piece for every number of bytes and of tokens."""
    rng = random.Random(45)
    encoder = whole_piece(LETTER_RANKS)
    found: dict[tuple[int, int], str] = {}
    while len(found) < len(sizes) * len(counts):
        size = rng.choice(sizes)
        n_fillers = rng.choice(counts) - 1
        text = "z" * n_fillers + "a" * (size - n_fillers)
        found[size, encoder.count(text)] = text
    return found


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
def test_what_just_fits_a_cache_entry_and_what_just_does_not(cache_bits: tuple[int, int]) -> None:
    pieces = pieces_by_size((14, 15, 16, 17, 30, 31, 32, 33), range(1, 10))
    assert {count for _, count in pieces} == set(range(1, 10))
    texts = list(pieces.values())
    check(whole_piece(LETTER_RANKS, cache_bits), whole_piece(LETTER_RANKS), texts)
    # Each after each other, so that one of them takes the place of another.
    mixed = [text for first in texts for second in texts[::5] for text in (first, second)]
    check(whole_piece(LETTER_RANKS, cache_bits), whole_piece(LETTER_RANKS), mixed)


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
def test_pieces_written_over_in_the_store(cache_bits: tuple[int, int]) -> None:
    """More pieces than a small ring has room for, of every length up to the longest stored."""
    rng = random.Random(48)
    lengths = [*rng.choices(range(5, 40), k=60), *range(60, 260, 7), 254, 255, 256]
    texts = ["".join(rng.choices("abz", k=length)) for length in lengths]
    mixed = [text for pair in zip(texts, reversed(texts), strict=True) for text in pair]
    check(whole_piece(LETTER_RANKS, cache_bits), whole_piece(LETTER_RANKS), mixed)


def test_nothing_is_read_where_the_store_was_written_over() -> None:
    """What was written over a piece looks like one of its length with billions of tokens."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {b"y": 200, b"\xc8": ord("y"), b"z": 2_000_000_000}
    alike = ["yz" * at + "zy" + "yz" * (99 - at) for at in range(4)]
    shift = "z" * 94  # takes so much of the ring that what follows lies across what was there
    check(whole_piece(ranks, (0, 6)), whole_piece(ranks), [*alike, shift, *alike[2:], *alike])


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
def test_two_encodings_in_turns(cache_bits: tuple[int, int]) -> None:
    texts = [*NAMED_TEXTS.values(), *random_texts(seed=46, n_texts=100)]
    for text in texts * 2:
        for name in NAMES:
            want = packaged(name, NO_CACHES).encode_ordinary(text)
            assert (name, text, packaged(name, cache_bits).encode_ordinary(text)) == (
                name,
                text,
                want,
            )


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
def test_a_count_that_stops_early_leaves_the_caches_right(cache_bits: tuple[int, int]) -> None:
    cached, fresh = packaged("o200k_base", cache_bits), packaged("o200k_base")
    for text in random_texts(seed=47, n_texts=150):
        count = fresh.count(text)
        for limit in (0, 1, count - 1, count, count + 1):
            if limit >= 0:
                want = count if count <= limit else None
                assert cached.count_till_limit(text, limit) == want
        assert cached.encode_ordinary(text) == fresh.encode_ordinary(text)


@pytest.mark.parametrize("cache_bits", CACHES, ids=str)
def test_a_long_piece_is_not_the_short_one_it_begins_with(cache_bits: tuple[int, int]) -> None:
    beginnings = ("abcabcabcabcabc", "\x00" * 15, "z" * 15, "日本語日本")
    ends = [chr(code) for code in (*range(128), 0x80, 0xFF, 0x7FF, 0x65E5, 0x1F600)]
    ranks = with_bytes((*(text.encode() for text in beginnings), b"ab", b"abc", b"\x00\x00"))
    texts = [
        begin + end + rest for begin in beginnings for end in ("", *ends) for rest in ("", "c")
    ]
    check(whole_piece(ranks, cache_bits), whole_piece(ranks, NO_CACHES), [*beginnings, *texts])


def test_segments_that_differ_in_their_last_bytes() -> None:
    """As many as their cache has places, of which many have to share one."""
    rng = random.Random(49)
    characters = [chr(code).encode() for code in range(0x3041, 0x3051)]
    halves = dict.fromkeys(char[:2] for char in (*characters, "日".encode()))
    pairs = [left + right for left in characters for right in characters]
    ranks = with_bytes((*halves, *characters, "日".encode(), *rng.sample(pairs, len(pairs))))
    ends = product((char.decode() for char in characters), repeat=3)
    segments = ["ああ" + "".join(end) for end in ends]
    rng.shuffle(segments)
    texts = ["日" + "日".join(segments[at : at + 256]) for at in range(0, len(segments), 256)]
    check(whole_piece(ranks, DEFAULT_CACHES), whole_piece(ranks, NO_CACHES), texts)


def test_clauses_of_few_characters() -> None:
    rng = random.Random(50)
    texts = []
    for _ in range(400):
        characters = rng.sample("のにはをたがでとしれさいるなこう日本語文字東京大学生、。😀éx", 9)
        texts.append("".join(rng.choices(characters, k=rng.randint(3, 90))))
    check(packaged("o200k_base", DEFAULT_CACHES), packaged("o200k_base", NO_CACHES), texts)


def test_segments_of_more_tokens_than_fit_their_cache() -> None:
    ranks = with_bytes((b"\xf0\x9f", b"\xa9\xf0"))
    assert whole_piece(ranks).count("é😀") == 5
    texts = ["é😀" * n for n in (1, 2, 3, 4)]
    check(whole_piece(ranks, DEFAULT_CACHES), whole_piece(ranks, NO_CACHES), texts)


def test_segments_are_not_looked_up_as_pieces() -> None:
    """A piece that is an unreachable token is that token; a segment of its bytes is not."""
    characters = [char.encode() for char in "日本語文か"]
    halves = dict.fromkeys(char[:2] for char in characters)
    # The middle pair merges first, and then nothing merges with it.
    pairs = ["本語".encode(), "日本".encode(), "語文".encode()]
    ranks = with_bytes((*halves, *characters, *pairs, "日本語文".encode()))
    texts = ["か日本語文か", "日本語文", "日本語文か", "日本語文", "か" * 30 + "日本語文"]
    assert whole_piece(ranks).count("日本語文") == 1
    assert whole_piece(ranks).count("か日本語文か") == 5
    check(whole_piece(ranks, DEFAULT_CACHES), whole_piece(ranks, NO_CACHES), texts)


def test_room_for_utf8_serves_texts_of_all_widths_and_lengths() -> None:
    encoder, fresh = packaged("o200k_base"), packaged("o200k_base", NO_CACHES)
    texts = [
        "é" * 5_000,
        "\ud83d",
        "日 本" * 3,
        "😀a" * 4_000 + "\udc00é",
        "x" * 9_000 + "\ud800",
        "é",
    ]
    whole = ["".join((text * 3, wide)) for text in texts for wide in ("", "ÿ", "’", "😀", "\udfff")]
    check(encoder, fresh, [*whole, *reversed(whole)])


def test_texts_too_long_for_kept_room() -> None:
    encoder = packaged("o200k_base")
    for n in (3_000_000, 9_000_000):
        for mark in ("é", "’", "\ud800"):
            text = mark + "ab " * (n // 3)
            repaired = text.replace("\ud800", "\ufffd")
            want = encoder._count_utf8(repaired.encode())
            assert encoder.count(text) == want
            assert len(encoder._encode_to_numpy(text)) == want
    assert encoder.count("’é") == encoder._count_utf8("’é".encode())
