"""Chunks of a whole text are those of cuts that are looked for one by one, whatever the pattern."""

import random

import pytest

import cutline
from cutline.tables import build_scan_tables
from cutline.vocabulary.openai import O200K_PAT_STR
from tests.conftest import short_or_long
from tests.kernels.scanners import PACKAGED
from tests.pretokenize.alphabets import ITEMS
from tests.pretokenize.test_random_patterns import random_pattern
from tests.vocabularies import encoding_of, random_ranks, with_bytes

LETTERS = ["a", "b", "c", "A", "1", "é", "中", "😀", " ", "\n"]
# A decision on a newline looks as far as the blanks after it go.
BLANKS = ["\n", "  ", " " * 9, "\t", "\n" + " " * 13, " \n", "x", "7", "中", "it's", "\r\n"]


def assert_same_cuts(encoding: cutline.Encoding, text: str, n: int) -> int:
    """`split_at` scans from its start, in windows. Returns the number of chunks."""
    chunks = encoding.split(text, n)
    start = 0
    for chunk in chunks:
        end = encoding.split_at(text, n, start)
        assert (chunk.start_index, chunk.end_index) == (start, end), (encoding.pat_str, text, n)
        assert chunk.token_count == encoding.count(text[start:end])
        start = end
    assert start == len(text)
    for chunk in encoding.split(text[:1_000], n, n // 2):
        assert chunk.end_index == encoding.split_at(text[:1_000], n, chunk.start_index)
    return len(chunks)


@pytest.mark.parametrize("pattern", PACKAGED.values(), ids=PACKAGED)
@short_or_long("n_vocabularies", 4, 400)
def test_texts_whose_pieces_depend_on_what_is_far_ahead(pattern: str, n_vocabularies: int) -> None:
    source = random.Random(f"blanks {pattern}")
    for _ in range(n_vocabularies):
        encoding = encoding_of(random_ranks(source, b"\n\r\t x7its'"), pattern)
        for _ in range(8):
            items = source.sample(BLANKS, source.randint(2, len(BLANKS)))
            text = "".join(source.choices(items, k=source.randint(200, 600)))
            assert_same_cuts(encoding, text, source.choice((4, 5, 7, 12, 40, 200)))


# Where a text is cut within a run of "b", the piece of the letter before it is longer.
TAKEN_BACK = {
    "ahead": r"a[ab]*$|a|b+|(?s:.)",
    "runs": r"[ab]+$|ab?|b+|(?s:.)",
    "few": r"aa*b*$|a|b{1,20}|(?s:.)",
    "wide": r"é[bé]*$|é|b{1,7}|(?s:.)",
    "pairs": r"(?:ab*)+$|ab|b+|(?s:.)",
    "within a piece": r"xa+|a[ab]*$|a|b{1,3}|(?s:.)",
}


@pytest.mark.parametrize("pattern", TAKEN_BACK.values(), ids=TAKEN_BACK)
@short_or_long("n_vocabularies", 12, 300)
def test_boundaries_that_a_cut_far_beyond_takes_back(pattern: str, n_vocabularies: int) -> None:
    source = random.Random(f"far beyond {pattern}")
    letter = "é" if "é" in pattern else "a"
    for _ in range(n_vocabularies):
        encoding = encoding_of(random_ranks(source, f"{letter}bx".encode()), pattern)
        for longest in (3, 12, 40):
            text = ""
            while len(text) < 1_500:
                before = source.choice(("x", "b", "xx", ""))
                text += before + letter * source.randint(1, 4) + "b" * source.randint(0, longest)
            assert_same_cuts(encoding, text, source.choice((4, 5, 9, 30)))


@pytest.mark.parametrize("pattern", TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_decisions_that_look_hundreds_of_bytes_ahead(pattern: str) -> None:
    encoding = encoding_of(with_bytes((b"bb", b"ab", b"abb", b"aab")), pattern)
    for n in (179, 200, 280, 340):
        for n_letters in (1, 2):
            # In so many, most runs are within one lane.
            assert_same_cuts(encoding, ("x" + "a" * n_letters + "b" * 705) * 60 + "x", n)


@pytest.mark.parametrize("pattern", TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_the_end_of_a_text_that_lanes_do_not_pay_for(pattern: str) -> None:
    ranks = with_bytes((b"y" * 16, b"bb", b"ab", b"abb", b"aab"))
    encoding = encoding_of(ranks, "y+|" + pattern)
    for n_letters in range(0, 40, 3):
        text = "y" * 40_000 + ("xaa" + "b" * n_letters) * (600 // (3 + n_letters)) + "x"
        for n in (20, 25, 64):
            assert_same_cuts(encoding, text, n)


@pytest.mark.parametrize("n", [1_000, 1_500])
def test_a_piece_that_looked_far_and_is_the_last_of_its_chunk_of_lanes(n: int) -> None:
    # Its end is at the last seam; the end after it, which is the chunk's last one, is undone.
    runs = (letter * 2**k for letter in (b"b", b"x") for k in range(1, 6))
    encoding = encoding_of(with_bytes((*runs, b"bx", b"bxbx")), r"a[bx]*$|a|b+|x+|(?s:.)")
    seam = 5 * 5_440
    text = "c" * (seam - 1) + "a" + "b" * 3_000 + "x" * 3_000 + "bx" * 2_000 + "y"
    assert_same_cuts(encoding, text, n)


@short_or_long("n_patterns", 12, 3_000)
def test_random_patterns(n_patterns: int) -> None:
    source = random.Random(151)
    n_laned = n_chunks = 0
    while n_laned < n_patterns:
        choices = [random_pattern(source) for _ in range(source.randint(1, 3))]
        pattern = "|".join([*choices, r"(?s:.)"]).replace(r"\Z", "$")
        try:
            tables = build_scan_tables(pattern)
        except cutline.UnsupportedPatternError:
            continue
        if tables.has_gaps or tables.lane_table is None:
            continue
        n_laned += 1
        encoding = encoding_of(random_ranks(source, b"abcA1 \n"), pattern)
        for _ in range(4):
            items = source.sample(LETTERS, source.randint(2, len(LETTERS)))
            text = "".join(source.choices(items, k=source.randint(700, 1_500)))
            n_chunks += assert_same_cuts(encoding, text, source.choice((4, 6, 11, 60)))
    assert n_chunks > 60 * n_patterns


def test_every_length_of_a_text_and_of_a_run_of_blanks() -> None:
    encoding = cutline.get_encoding("o200k_base")
    words = "".join(random.Random(152).choices(ITEMS, k=3_000))
    for n in range(630, 660):
        assert_same_cuts(encoding, words[:n], 16)
    for n_blanks in range(0, 40, 2):
        assert_same_cuts(encoding, ("value = 1,\n" + " " * n_blanks + "0x7f: y\n") * 40, 16)


def test_pieces_that_are_long_for_the_budget() -> None:
    encoding = encoding_of(random_ranks(random.Random(153), b"ab"), O200K_PAT_STR)
    source = random.Random(154)
    for _ in range(4):
        lengths = [source.choice((1, 5, 60, 64, 65, 70, 300, 3_000)) for _ in range(40)]
        text = " ".join("".join(source.choices("ab", k=length)) for length in lengths)
        for n in (4, 16, 17, 64):
            assert_same_cuts(encoding, text, n)
