"""Every encoder of the reference gives byte pair encoding; tiktoken and the kernels agree."""

import random
from collections.abc import Callable
from itertools import accumulate

import pytest

import cutline
from cutline.reference import (
    IntervalCounter,
    Tokens,
    compatible,
    encode_backtracking,
    encode_heap,
    encode_prefixes,
    encode_textbook,
)
from cutline.reference.heap import merge_by_heap
from cutline.reference.textbook import merge
from tests.conftest import short_or_long
from tests.oracles import DISTINCT, Renumbered, real_tiktoken
from tests.pretokenize.oracles import regex_spans_of
from tests.reference.samples import (
    all_small_ranks,
    packaged,
    tokens_of,
    trained_ranks,
    worst_ranks,
    worst_texts,
)
from tests.texts import NAMED_TEXTS, random_text, random_texts
from tests.vocabularies import (
    TOY_TOKENS,
    Ranks,
    encoding_of,
    random_ranks,
    token_text,
    vocabulary_of,
    with_bytes,
)

ENCODERS: tuple[Callable[[Tokens, bytes], list[int]], ...] = (
    encode_heap,
    encode_prefixes,
    encode_backtracking,
)
LARGE = pytest.mark.exhaustive


def check_piece(tokens: Tokens, piece: bytes, want: list[int]) -> None:
    for encode in ENCODERS:
        assert (encode.__name__, piece, encode(tokens, piece)) == (encode.__name__, piece, want)


def check_small(ranks: Ranks, letters: bytes, rng: random.Random) -> None:
    """Compare on random pieces, on rows of tokens, and on every token with a neighbour."""
    tokens, real = tokens_of(ranks), Renumbered(vocabulary_of(ranks), None)
    pieces = [bytes(rng.choices(letters, k=length)) for length in (*range(16), 40, 150)]
    pieces += [token_text(rng, ranks, length)[:300] for length in (1, 2, 3, 8, 20)]
    pieces += [token for token in ranks if len(token) > 1][:30]
    for piece in pieces:
        want = real._encode_single_piece(piece) if piece else []
        assert encode_textbook(ranks, piece) == want
        check_piece(tokens, piece, want)


@short_or_long("n_random", 40, 500)
def test_encoders_agree_on_small_vocabularies(n_random: int) -> None:
    rng = random.Random(1)
    for ranks, letters in all_small_ranks(n_random):
        check_small(ranks, letters, rng)


def test_heap_makes_the_merges_of_the_textbook_where_one_token_is_left_too() -> None:
    for ranks, _ in all_small_ranks(10):
        for token in [token for token in ranks if 1 < len(token) < 50]:
            assert merge_by_heap(ranks, token) == merge(ranks, token)


@pytest.mark.parametrize("toy", TOY_TOKENS.values(), ids=TOY_TOKENS.keys())
def test_pairs_are_compatible_exactly_when_merging_keeps_them(toy: tuple[bytes, ...]) -> None:
    ranks = with_bytes(toy)
    tokens = tokens_of(ranks)
    some = [*toy, *(bytes([byte]) for byte in set(b"".join(toy)))]
    for left in some:
        for right in some:
            kept = merge(ranks, left + right) == [left, right]
            assert (left, right, compatible(tokens, left, right)) == (left, right, kept)


def test_pairs_of_random_vocabularies_are_compatible_when_merging_keeps_them() -> None:
    rng = random.Random(4)
    for _ in range(40):
        ranks = random_ranks(rng, rng.choice((b"a", b"ab", b"abc")))
        tokens = tokens_of(ranks)
        for _ in range(100):
            left, right = rng.choices([token for token in ranks if len(token) < 30], k=2)
            kept = merge(ranks, left + right) == [left, right]
            assert (left, right, compatible(tokens, left, right)) == (left, right, kept)


def test_pair_check_clears_its_cache_and_decides_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutline.reference.compatibility.MAX_CACHED_PAIRS", 2)
    ranks = with_bytes(TOY_TOKENS["odd runs of a"])
    tokens = tokens_of(ranks)
    assert encode_prefixes(tokens, b"a" * 99) == encode_textbook(ranks, b"a" * 99)
    assert len(tokens.pair_cache) <= 2


@pytest.mark.parametrize(
    "name",
    ["r50k_base", *(pytest.param(name, marks=LARGE) for name in DISTINCT if name != "r50k_base")],
)
def test_packaged_encodings_give_tiktokens_tokens_for_single_pieces(name: str) -> None:
    tokens, real = packaged(name), real_tiktoken(name)
    pieces = [text.encode() for text in (*NAMED_TEXTS.values(), *random_texts(6, 100)) if text]
    pieces += random.Random(7).sample(list(tokens), 300)
    for piece in pieces:
        check_piece(tokens, piece, real._encode_single_piece(piece))


@pytest.mark.parametrize("name", trained_ranks())
def test_kernels_encode_and_count_like_the_reference(name: str) -> None:
    ranks, rng = trained_ranks()[name], random.Random(8)
    tokens = tokens_of(ranks)
    encoding = encoding_of(ranks, None)
    for text in [*worst_texts(300).values(), *(random_text(rng) for _ in range(50))]:
        want = encoding.encode_ordinary(text)
        assert encoding.count(text) == len(want)
        check_piece(tokens, text.encode(), want)


def greatest_end(tokens: Tokens, text: str, n: int) -> int:
    """The greatest cut with at most n tokens before it, in characters; every one is tried."""
    counter = IntervalCounter(tokens, text.encode())
    ends = [0, *accumulate(len(character.encode()) for character in text)]
    return next(k for k in range(len(text), -1, -1) if counter.count(0, ends[k]) <= n)


def check_kernels(ranks: Ranks, text: str, n_cuts: int) -> None:
    """Compare encoding, counts and cuts of a text that is one piece."""
    tokens, rng = tokens_of(ranks), random.Random(len(text))
    encoding = encoding_of(ranks, None)
    want = encoding.encode_ordinary(text)
    assert encoding.count(text) == len(want)
    for encode in ENCODERS:
        assert encode(tokens, text.encode()) == want
    for _ in range(n_cuts):
        start, n = rng.choice((0, rng.randrange(len(text)))), rng.randint(0, len(want))
        end = start + greatest_end(tokens, text[start:], n)
        assert (start, n, encoding.split_at(text, n, start)) == (start, n, end)


@short_or_long("length", 20_000, 1_000_000)
@pytest.mark.parametrize("name", worst_texts(0))
def test_kernels_do_worst_texts_like_the_reference(name: str, length: int) -> None:
    check_kernels(worst_ranks()[name], worst_texts(length)[name], 3 if length < 1_000_000 else 1)


def test_kernels_cut_random_vocabularies_like_the_reference() -> None:
    rng = random.Random(9)
    for ranks, letters in all_small_ranks(10):
        text = token_text(rng, ranks, 20)[:300] + bytes(rng.choices(letters, k=100))
        check_kernels(ranks, text.decode("utf-8", "ignore") or "a", 4)


@pytest.mark.parametrize("name", ["r50k_base", pytest.param("o200k_base", marks=LARGE)])
def test_pieces_of_a_packaged_pattern_encode_like_the_reference(name: str) -> None:
    encoding, tokens = cutline.get_encoding(name), packaged(name)
    check_pattern(encoding, tokens, [*NAMED_TEXTS.values(), *random_texts(10, 300)])


@pytest.mark.parametrize("pattern", [r"\w+|\s+|[^\w\s]+", r"a{1,3}|[^a]+", r" ?\p{L}+|\s+|\P{L}"])
def test_pieces_of_any_pattern_encode_like_the_reference(pattern: str) -> None:
    for name in ("words", "named", "two letters"):
        ranks = trained_ranks()[name]
        encoding = encoding_of(ranks, pattern)
        check_pattern(encoding, tokens_of(ranks), [*NAMED_TEXTS.values(), *random_texts(11, 50)])


def check_pattern(encoding: cutline.Encoding, tokens: Tokens, texts: list[str]) -> None:
    """Split with the `regex` module, encode each piece with each encoder."""
    assert encoding._pat_str is not None
    for text, spans in zip(texts, regex_spans_of(encoding._pat_str, texts), strict=True):
        got = encoding.encode_ordinary(text)
        assert encoding.count(text) == len(got)
        for encode in ENCODERS:
            pieces = (text[start:end].encode() for start, end in spans)
            assert (text, [t for piece in pieces for t in encode(tokens, piece)]) == (text, got)
