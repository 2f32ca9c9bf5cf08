"""Vocabularies unlike OpenAI's: unreachable, irregular, sparse, giant, and any split pattern."""

import itertools
import random
from collections.abc import Iterator

import pytest

import cutline
from tests.conftest import short_or_long
from tests.oracles import (
    greedy_spans,
    longest_fit,
    textbook_merge,
    tiktoken_of,
    with_count,
    with_oracle,
)
from tests.vocabularies import (
    TOY_TOKENS,
    Ranks,
    character_ranks,
    encoding_of,
    random_ranks,
    token_text,
    with_bytes,
)

ASCII_ALPHABETS = (b"a", b"ab", b"abc", b"abcd ", b"ab \n")
UTF8_ALPHABETS = ("aé".encode(), "中文 ".encode(), "😀\u200d".encode())
PATTERNS = (
    None,
    r"\w+|\s+|[^\w\s]+",
    r"[a-c]+|[^a-c]",
    r"a{1,3}|[^a]+",
    r" ?\p{L}+|\s+(?!\S)|\s+|[^\s\p{L}]",
    r"[\x{0}-\x{10FFFF}]",
)
GAPPED_PATTERNS = (r"\p{L}+", r"ab|c+", r"\d{2}")
ENGINE_PATTERNS = (r"(?<=a)b+|[^b]|b", r"\b\w|\W+|\w+?", r"(?s:.)(?!bc)|(?s:.)")


def sample_pieces(rng: random.Random, ranks: Ranks, alphabet: bytes) -> list[bytes]:
    """Pieces short and long: from the alphabet, from tokens, runs, and every token."""
    lengths = [*range(12), 15, 16, 17, 20, 31, 32, 33, 64, 65, 127, 200, 600]
    pieces = [bytes(rng.choices(alphabet, k=length)) for length in lengths]
    pieces += [token_text(rng, ranks, rng.choice((1, 2, 3, 8, 40, 150))) for _ in range(20)]
    pieces += [alphabet[:1] * length for length in (2, 3, 7, 16, 33, 255, 256, 257, 1_000)]
    return pieces + rng.sample([token for token in ranks if len(token) > 1] or [b"b"], 1)


def check_pieces(ranks: Ranks, pieces: list[bytes]) -> None:
    """Compare whole pieces with tiktoken, and short ones with the definition too."""
    ours, real = with_oracle(ranks, None)
    for piece in pieces:
        want = real._encode_single_piece(piece) if piece else []
        if len(piece) < 40:
            assert textbook_merge(ranks, piece) == want
        assert (piece, ours._encode_single_piece(piece)) == (piece, want)
        assert ours.decode_bytes(want) == piece


def check_texts(ranks: Ranks, pat_str: str | None, texts: list[str]) -> None:
    """Compare whole texts with tiktoken, list, array and count."""
    ours, real = with_oracle(ranks, pat_str)
    for text in texts:
        want = real.encode_ordinary(text)
        assert (text, ours.encode_ordinary(text)) == (text, want)
        assert ours.encode_to_numpy(text).tolist() == want
        assert ours.count(text) == len(want)


def strings_over(letters: str, max_length: int) -> list[str]:
    """Every string over the letters up to a length."""
    return [
        "".join(drawn)
        for length in range(max_length + 1)
        for drawn in itertools.product(letters, repeat=length)
    ]


@pytest.mark.parametrize("tokens", TOY_TOKENS.values(), ids=TOY_TOKENS.keys())
def test_toy_vocabularies_encode_every_short_string_exactly(tokens: tuple[bytes, ...]) -> None:
    ranks = with_bytes(tokens)
    letters = "".join(sorted(set(b"".join(tokens).decode("latin-1")) & set("abcd"))) or "ab"
    texts = strings_over(letters, 7 if len(letters) < 4 else 5)
    check_texts(ranks, None, texts)
    check_pieces(ranks, [text.encode() for text in texts if len(text) < 5])


@pytest.mark.parametrize("tokens", TOY_TOKENS.values(), ids=TOY_TOKENS.keys())
def test_toy_vocabularies_encode_long_pieces_exactly(tokens: tuple[bytes, ...]) -> None:
    ranks, rng = with_bytes(tokens), random.Random(1)
    alphabet = b"".join(tokens)[:8] or b"ab"
    check_pieces(ranks, [*sample_pieces(rng, ranks, alphabet), *sample_pieces(rng, ranks, b"abc")])


@short_or_long("n_seeds", 60, 2_000)
def test_random_vocabularies_encode_exactly(n_seeds: int) -> None:
    for seed in range(n_seeds):
        rng = random.Random(seed)
        alphabet = rng.choice(ASCII_ALPHABETS + UTF8_ALPHABETS)
        ranks = random_ranks(rng, alphabet)
        check_pieces(ranks, sample_pieces(rng, ranks, alphabet))


@short_or_long("n_seeds", 60, 1_000)
def test_characters_and_words_encode_exactly_wherever_tokens_lie_across(n_seeds: int) -> None:
    characters = "ab \u00e9\u0448\u0e01\u4e2d\u6587\u5b57\uac00\U0001f600\u200d"
    for seed in range(n_seeds):
        rng = random.Random(seed)
        letters = "".join(rng.sample(characters, 6))
        ranks = character_ranks(rng, letters)
        lengths = [*range(1, 30), 40, 80, 300]
        check_texts(ranks, None, ["".join(rng.choices(letters, k=length)) for length in lengths])


@pytest.mark.parametrize(
    "character", ["\x80", "\x82", "é", "߿", "ࠀ", "\ud7ff", "\ue000", "文", "😀"]
)
def test_only_its_shortest_form_stands_for_a_character(character: str) -> None:
    """Tokens that decode to it without care, but are no UTF-8, are other tokens."""
    point = ord(character)
    longer = bytes([0xE0 | point >> 12 & 0xF, 0x80 | point >> 6 & 0x3F, 0x80 | point & 0x3F])
    longest = bytes([0xF0, 0x80 | point >> 12 & 0x3F, *longer[1:]])
    utf8 = character.encode()
    chains = [form[:end] for form in (utf8, longer, longest) for end in range(2, len(form) + 1)]
    for order in (chains, chains[::-1], [*chains[len(utf8) - 1 :], *chains[: len(utf8) - 1]]):
        for kept in (order, [token for token in order if token != utf8]):
            ranks = with_bytes(tuple(dict.fromkeys(kept)))
            check_texts(
                ranks, None, [character, f"a{character}", f"a{character * 3}b", character * 50]
            )


@pytest.mark.parametrize("pat_str", PATTERNS)
@pytest.mark.parametrize("seed", range(4))
def test_any_pattern_encodes_as_in_tiktoken(seed: int, pat_str: str | None) -> None:
    rng = random.Random(seed)
    alphabet = rng.choice(ASCII_ALPHABETS)
    ranks = random_ranks(rng, alphabet)
    letters = alphabet.decode() + rng.choice(("", "é中1 ", "\n\t'"))
    lengths = [*range(30), 100, 1_000]
    check_texts(ranks, pat_str, ["".join(rng.choices(letters, k=length)) for length in lengths])


@pytest.mark.parametrize("pat_str", GAPPED_PATTERNS)
def test_text_that_no_piece_covers_is_dropped_as_in_tiktoken(pat_str: str) -> None:
    rng = random.Random(2)
    texts = ["".join(rng.choices("abc 12\n中", k=length)) for length in range(60)]
    check_texts(with_bytes((b"ab", b"bc", b"12")), pat_str, texts)


@pytest.mark.parametrize("pat_str", ENGINE_PATTERNS)
def test_patterns_beyond_the_automaton_warn_and_stay_exact(pat_str: str) -> None:
    ranks, rng = with_bytes((b"ab", b"bc", b"abc", b"bb")), random.Random(3)
    texts = ["".join(rng.choices("abc \n", k=length)) for length in range(60)]
    with pytest.warns(cutline.errors.PatternFallbackWarning):
        ours, real = with_oracle(ranks, pat_str)
    for text in texts:
        want = real.encode_ordinary(text)
        assert (text, ours.encode_ordinary(text)) == (text, want)
        assert ours.count(text) == ours._count_utf8(text.encode()) == len(want)


@pytest.mark.filterwarnings("ignore::cutline.errors.PatternFallbackWarning")
@pytest.mark.parametrize("pat_str", ["(", "[a", r"\p{Nonsense}", "*"])
def test_an_invalid_pattern_is_refused(pat_str: str) -> None:
    with pytest.raises(cutline.errors.PatternError):
        encoding_of(with_bytes(()), pat_str)


@pytest.mark.parametrize("top", [2**20, 2**21 + 5, 2**24, 2**31, 2**32 - 2])
def test_ids_may_be_large(top: int) -> None:
    ranks = with_bytes((b"ab", b"bc", b"abc", b"cab")) | {b"abcab": top}
    ranks[b"\x00"] = top - 1
    special = {"<s>": top - 2}
    ours = cutline.Encoding("large", pat_str=None, mergeable_ranks=ranks, special_tokens=special)
    real = tiktoken_of(ranks, None, special)
    for text in ["abcab", "abc", "\x00ab\x00", "<s>abcab<s>", "abcababcab" * 30, "cabcab"]:
        want = real.encode(text, allowed_special="all")
        assert ours.encode(text, allowed_special="all") == want
        assert ours.encode_to_numpy(text, allowed_special="all").tolist() == want
        assert ours.decode(want) == text
    assert ours.max_token_value == top
    assert ours.n_vocab == top + 1


def test_a_giant_token_is_one_token_and_one_count() -> None:
    giant = bytes(random.Random(4).choices(b"abc", k=300))
    ranks = with_bytes((b"ab", b"ca", giant))
    ours, ids = encoding_of(ranks, None), ranks.ids
    assert ours.encode_ordinary(giant.decode()) == [ids[giant]]
    assert ours.decode([ids[giant], ids[b"a"]]) == giant.decode() + "a"
    check_pieces(ranks, [giant, giant + b"a", b"a" + giant, giant[:-1], giant * 2])


Subject = tuple[Ranks, str | None, str]


def split_subjects() -> Iterator[Subject]:
    """Vocabularies, patterns and letters for cuts that are easy to get wrong."""
    for tokens in TOY_TOKENS.values():
        yield with_bytes(tokens), None, "ab中文 " if b"\xad\xe6" in tokens else "abcd"
    for seed in range(24):
        rng = random.Random(seed)
        alphabet = rng.choice((b"ab", b"abc", "中文a".encode()))
        pat_str = rng.choice(PATTERNS)
        yield random_ranks(rng, alphabet), pat_str, alphabet.decode()


@pytest.mark.parametrize("subject", list(split_subjects()))
def test_cuts_follow_their_definitions_in_any_vocabulary(subject: Subject) -> None:
    (ranks, pattern, letters), rng = subject, random.Random(5)
    (ours, count), longest = with_count(ranks, pattern), max(map(len, ranks))
    for _ in range(40):
        some = rng.sample(letters, rng.randint(1, len(letters)))
        text = "".join(rng.choices(some, k=rng.randint(1, 30)))
        n, start = rng.choice((1, 2, 3, 4, 7)), rng.choice((0, 0, rng.randrange(len(text))))
        want = longest_fit(count, text, n, start, longest)
        end = start if want is None else want
        assert (text, n, start, ours.split_at(text, n, start)) == (text, n, start, end)
    for _ in range(15):
        text = "".join(rng.choices(letters, k=rng.randint(1, 30)))
        n = rng.choice((4, 5, 6))
        overlap = rng.randrange(n)
        spans = [(c.start_index, c.end_index) for c in ours.split(text, n, overlap)]
        want_spans = greedy_spans(count, text, n, overlap, longest)
        assert (text, n, overlap, spans) == (text, n, overlap, want_spans)
