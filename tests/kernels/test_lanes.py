"""Lanes find the pieces that the plain scanner finds, and each rule of joining them is needed."""

import random
from collections.abc import Iterator

import pytest

from cutline.kernels.encode.batches import find_pieces
from cutline.kernels.scan.lanes import find_ends
from cutline.kernels.scan.scan import ScanTables, scan_pieces
from cutline.tables import build_scan_tables
from cutline.vocabulary.openai import O200K_PAT_STR
from tests.kernels.scanners import PACKAGED, WITHOUT_GAPS, gapless_tables
from tests.pretokenize.alphabets import ITEMS, run_length_texts, short_texts
from tests.pretokenize.oracles import regex_spans_of, texts_split_otherwise
from tests.pretokenize.patterns import PATTERNS
from tests.pretokenize.test_random_patterns import random_texts
from tests.texts import NAMED_TEXTS, lookahead_texts

LARGEST = 32_640  # bytes of a chunk in use
SIZES = (6, 7, 48, 600, 2_048, LARGEST)

# Bits of `left_out` in kernels/scan/lanes.pxd.
RULES = {
    "step back before the last end": 1,
    "go on until a lane's end is met": 2,
    "clear the ends inside rescanned pieces": 4,
    "clear them if the piece leaves the chunk": 8,
    "look beyond the chunk": 16,
    "rescan where a lane was lost": 32,
    "end a chunk before its last end": 64,
}

NO_VECTORS, NO_AVX512 = 128, 256  # of the same, but with them the ends are right

HOSTILE = {
    "newline and 40,000 blanks, five times": ("\n" + " " * 40_000) * 5 + "z",
    "giant runs": "a" * 100_000
    + "words and words " * 20
    + " " * 100_000
    + "\n" * 1_000
    + "y'" * 20_000
    + "é" * 70_000
    + " \u3000" * 20_000
    + "1" * 100_000,
    "ideographs and capitals": "".join(
        "中" + "A" * (n * 37 % 5_000) + ("b", ".")[n % 2] for n in range(60)
    ),
    "ideographs and few capitals": "中AAAAAb" * 20_000,
    "blank lines with blanks": "\n    x\n    \nab" * 10_000,
    "blanks and letters": (" " * 20_000 + "a") * 5,
    "two long words": ("a" * 33_000 + " b c d e ") * 3,
    "contractions": "a'l" * 30_000,
    "digits": "1" * 100_000,
}  # fmt: skip


def assert_same_ends(tables: ScanTables, text: str, sizes: tuple[int, ...] = SIZES) -> None:
    utf8 = text.encode()
    want = scan_pieces(tables, utf8)[1].tolist()
    for size in sizes:
        for left_out in (0, NO_VECTORS, NO_AVX512):
            found = find_ends(tables, utf8, size, left_out)[0]
            assert (text[:200], size, left_out, found) == (text[:200], size, left_out, want)


def sample_texts() -> list[str]:
    return [
        *NAMED_TEXTS.values(),
        *lookahead_texts(),
        *short_texts(seed=51, count=1_000),
        *run_length_texts(seed=52, count=6, length=20_000),
        *run_length_texts(seed=53, count=2, length=120_000),
    ]


@pytest.mark.parametrize("name", WITHOUT_GAPS)
def test_lanes_find_the_pieces_that_the_scanner_finds(name: str) -> None:
    tables = build_scan_tables(WITHOUT_GAPS[name])
    for text in sample_texts():
        assert_same_ends(tables, text)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("name", PACKAGED)
def test_hostile_texts_are_read_a_few_times_at_most(name: str, text: str) -> None:
    tables, n = build_scan_tables(PACKAGED[name]), len(text.encode())
    assert_same_ends(tables, text)
    for size in SIZES:
        _, n_stepped, n_rescanned = find_ends(tables, text.encode(), size)
        assert n_stepped <= 2 * n
        assert n_rescanned <= 3 * n


def texts_around_seams(size: int) -> Iterator[str]:
    """A newline, blanks and what follows them, at every place of a chunk and beyond its end."""
    for n_blanks in range(13):
        for last in ("\n", "x"):
            for place in range(size + 3):
                yield "ab, " * 100 + "x" * place + "\n" + " " * n_blanks + last + " cd" * 100


@pytest.mark.parametrize("name", PACKAGED)
def test_what_looks_ahead_is_right_at_every_distance_from_every_seam(name: str) -> None:
    tables = build_scan_tables(PACKAGED[name])
    for text in texts_around_seams(size=120):
        utf8 = text.encode()
        want = scan_pieces(tables, utf8)[1].tolist()
        assert (text, find_ends(tables, utf8, 120)[0]) == (text, want)


def test_every_length_around_a_chunk() -> None:
    tables, source = build_scan_tables(O200K_PAT_STR), random.Random(54)
    words = "".join(source.choices(ITEMS, k=60_000))
    for n in (*range(1, 200), *range(LARGEST - 70, LARGEST + 70)):
        assert_same_ends(tables, words[:n], (6, 120, LARGEST))


def test_lanes_find_the_pieces_of_all_patterns_without_gaps() -> None:
    n_laned = 0
    for pattern in PATTERNS.values():
        tables = build_scan_tables(pattern)
        if tables.lane_table is None:
            continue
        n_laned += 1
        for text in [*short_texts(seed=55, count=200), *run_length_texts(56, 2, 5_000)]:
            assert_same_ends(tables, text)
    assert n_laned > 10


def test_lanes_find_the_pieces_of_random_patterns() -> None:
    source = random.Random(57)
    for tables in gapless_tables(source, 150):
        for text in random_texts(source, 20):
            assert_same_ends(tables, text * 20, (6, 25, 48, 600))


@pytest.mark.parametrize("name", PACKAGED)
def test_lanes_find_the_pieces_of_other_engines(name: str) -> None:
    tables, pattern = build_scan_tables(PACKAGED[name]), PACKAGED[name]
    texts = [*short_texts(seed=58, count=300), *run_length_texts(59, 5, 3_000, longest_run=400)]
    spans = []
    for text in texts:
        widths = [len(character.encode()) for character in text]
        place = {0: 0}
        at = 0
        for character, width in enumerate(widths):
            at += width
            place[at] = character + 1
        ends = [place[end] for end in find_ends(tables, text.encode(), 60)[0]]
        spans.append(list(zip([0, *ends], ends, strict=False)))
    assert spans == regex_spans_of(pattern, texts)
    assert texts_split_otherwise(pattern, texts, spans) == []


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_the_join_is_needed(rule: str) -> None:
    tables = build_scan_tables(O200K_PAT_STR)
    texts = [*lookahead_texts(), *short_texts(seed=60, count=1_000)]
    texts += run_length_texts(seed=61, count=20, length=3_000)
    texts += [*texts_around_seams(size=60)][::3]
    n_wrong = n_right = 0
    for text in texts:
        utf8 = (text * 3).encode()
        want = scan_pieces(tables, utf8)[1].tolist()
        n_wrong += find_ends(tables, utf8, 60, RULES[rule])[0] != want
        n_right += find_ends(tables, utf8, 60)[0] == want
    assert n_right == len(texts)
    assert n_wrong >= 10


def batched(tables: ScanTables, utf8: bytes, most: int) -> list[tuple[int, int]]:
    found = find_pieces(tables, utf8, most, by_lanes=True)
    return [(start, end) for start, end, _ in found if start < end]


@pytest.mark.parametrize("name", ["r50k", "o200k", "gaps"])
def test_batches_by_lanes_are_those_of_the_scanner(name: str) -> None:
    pattern = PATTERNS["deepseek v3, words"] if name == "gaps" else PACKAGED[name]
    tables = build_scan_tables(pattern)
    texts = [*HOSTILE.values(), *run_length_texts(seed=62, count=4, length=50_000)]
    texts += ["".join(random.Random(63).choices(ITEMS, k=60_000))]
    for text in texts:
        utf8 = text.encode()
        starts, ends, _ = scan_pieces(tables, utf8)
        want = list(zip(starts.tolist(), ends.tolist(), strict=True))
        for most in (1, 64, 65, 100, 256, 1_000):
            assert batched(tables, utf8, most) == want


def test_lanes_need_a_table_and_a_byte_each() -> None:
    gaps, tables = build_scan_tables(r"\p{L}+"), build_scan_tables(O200K_PAT_STR)
    for scanner, size in ((gaps, 600), (tables, 5), (tables, LARGEST + 1)):
        with pytest.raises(ValueError, match="no lane table, or a chunk of"):
            find_ends(scanner, b"text", size)
