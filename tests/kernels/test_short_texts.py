"""Short texts are counted at once: by the pieces and tokens that all others have."""

import random
from itertools import product

import pytest

from cutline import get_encoding
from cutline.kernels.encode.batches import find_short_ends
from cutline.kernels.scan.scan import ScanTables, scan_pieces
from cutline.tables import build_scan_tables
from tests.kernels.scanners import PACKAGED, gapless_tables
from tests.oracles import real_tiktoken
from tests.pretokenize.alphabets import run_length_texts, short_texts
from tests.pretokenize.patterns import PATTERNS
from tests.pretokenize.test_random_patterns import random_texts
from tests.texts import NAMED_TEXTS, lookahead_texts

MOST = 63  # bytes

ASCII_ITEMS = [*"aZ'\n \t./(!0\0\x1c\x7f", "the"]
ASCII_ITEMS += [" of", "'s", "'LL", "'re", "\r\n", "  ", "12", "345", "HTTP", "<|endoftext|>"]


SCRIPTS = [
    "今天的天气很好，我们去公园散步吧。" * 5,
    "トークンの数を正確に数える。ひらがな、カタカナ、漢字。" * 4,
    "Разделяет текст на части, ровно по токенам: без потерь. " * 3,
    "naïve café, déjà vu — Ærø, ﬁn. " * 3,
    "👩‍👩‍👧‍👦🇨🇭👍🏽 e\u0301\u0323 \u200d" * 5,
]


def beginnings(text: str) -> list[bytes]:
    """What the text begins with, of every length that is short."""
    return [part for n in range(1, MOST + 1) if 0 < len(part := text[:n].encode()) <= MOST]


def assert_same_ends(tables: ScanTables, text: str) -> tuple[int, int]:
    n_lost = n_found = 0
    for utf8 in beginnings(text):
        found = find_short_ends(tables, utf8)
        if found is None:
            n_lost += 1
        else:
            n_found += 1
            assert (utf8, found) == (utf8, scan_pieces(tables, utf8)[1].tolist())
    return n_found, n_lost


def ascii_texts(seed: int, count: int) -> list[str]:
    source = random.Random(seed)
    texts = []
    for _ in range(count):
        items = source.sample(ASCII_ITEMS, k=source.randint(1, 6))
        texts.append("".join(source.choices(items, k=source.randint(1, 40)))[: MOST + 2])
    return texts


@pytest.mark.parametrize("name", PACKAGED)
def test_short_texts_have_the_pieces_that_the_scanner_finds(name: str) -> None:
    tables = build_scan_tables(PACKAGED[name])
    runs = run_length_texts(seed=71, count=10, length=100, longest_run=20)
    texts = [*NAMED_TEXTS.values(), *lookahead_texts(), *short_texts(seed=72, count=300), *runs]
    n_found, n_lost = map(
        sum, zip(*(assert_same_ends(tables, text) for text in texts), strict=True)
    )
    assert n_lost < n_found / 5  # blank lines, in texts that are full of them


@pytest.mark.parametrize("name", PACKAGED)
def test_every_text_of_a_few_characters(name: str) -> None:
    tables = build_scan_tables(PACKAGED[name])
    for items in product("aZ'sl \n\r.1中é😀", repeat=4):
        assert_same_ends(tables, "".join(items))


def test_pieces_of_all_patterns_without_gaps_and_of_random_ones() -> None:
    n_found = 0
    source = random.Random(73)
    all_tables = [build_scan_tables(pattern) for pattern in PATTERNS.values()]
    for tables in [*all_tables, *gapless_tables(source, 100)]:
        for text in [*short_texts(seed=74, count=30), *random_texts(source, 10)]:
            n_found += assert_same_ends(tables, text)[0]
            assert tables.lane_table is not None or find_short_ends(tables, b"a") is None
    assert n_found > 10_000


def test_only_short_texts_are_taken() -> None:
    tables = build_scan_tables(PACKAGED["o200k"])
    for text in (b"", b"a" * (MOST + 1)):
        with pytest.raises(ValueError, match="expected 1 to 63 bytes"):
            find_short_ends(tables, text)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "gpt2"])
def test_counts_of_short_texts_are_those_of_tiktoken(name: str) -> None:
    """The first time, when their pieces are met, and the second time."""
    enc, oracle = get_encoding(name), real_tiktoken(name)
    texts = [*ascii_texts(seed=75, count=3_000), *short_texts(seed=76, count=3_000)]
    texts += [text[:n] for text in SCRIPTS for n in range(1, MOST + 3)]
    assert sum(not text.isascii() for text in texts) > 1_000
    want = [len(oracle.encode_ordinary(text)) for text in texts]
    for _ in range(3):
        assert [enc.count(text) for text in texts] == want
    assert enc.count_batch(texts).tolist() == want
    assert [enc.count_till_limit(text, 5) for text in texts] == [
        n if n <= 5 else None for n in want
    ]


def test_a_short_count_is_given_the_arguments_of_a_long_one() -> None:
    enc = get_encoding("o200k_base")
    for _ in range(2):
        assert enc.count("a<|endoftext|>", allowed_special="all") == 2
        assert enc.count("a<|endoftext|>", allowed_special=frozenset()) == 8
        assert enc.count("a b", num_threads=2) == 2
        with pytest.raises(ValueError, match="num_threads"):
            enc.count("a b", num_threads=0)
        with pytest.raises(TypeError):
            enc.count(b"a b")  # type: ignore[arg-type]


def test_surrogates_in_short_texts_are_counted_as_tiktoken_encodes_them() -> None:
    enc, oracle = get_encoding("o200k_base"), real_tiktoken("o200k_base")
    for text in ("é\ud800", "\udc00", "中\ud83d\ude00", "\ude00\ud83d é"):
        for _ in range(2):
            assert enc.count(text) == len(oracle.encode_ordinary(text))
