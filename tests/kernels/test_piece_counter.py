"""The tally counts what the scanner finds, however a text comes and whoever counts it."""

import ctypes
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cutline.kernels.scan.scan import ScanTables, scan_pieces
from cutline.kernels.train.piece_counter import Tally
from cutline.kernels.train.piece_sort import PieceSort
from cutline.tables import build_scan_tables
from cutline.training.assisting import assisted
from cutline.vocabulary.openai import CL100K_PAT_STR, O200K_PAT_STR, R50K_PAT_STR
from tests.texts import NAMED_TEXTS, lookahead_texts, random_texts, run_length_text

Rows = dict[bytes, int]

MOST = 2**63 - 1
NOTED_STEPS = 256  # of a guess, in piece_counter.pyx

# Scans that meet late, in step only or never, look far, and leave gaps; None: one piece.
SCANNED: dict[str, str | None] = {
    "r50k": R50K_PAT_STR,
    "cl100k": CL100K_PAT_STR,
    "o200k": O200K_PAT_STR,
    "whole text": None,
    "in threes": r"a{3}|[\s\S]",
    "in seventies": r"a{1,70}|b+",
    "pairs before b": r"(?:aa)*b|a",
    "far, or one": r"a*b|[\s\S]",
    "far, from inside": r"x\w+|\w+!|[\s\S]",
    "gaps": r"b+",
    "gaps decided far ahead": r"\p{L}+!|\d{2}|\s+$",
}


def rows_of(*tallies: Tally) -> Rows:
    """Each piece with its count in all of them, in the order in which they are sorted."""
    sort = PieceSort()
    for tally in tallies:
        tally.put_into(sort)
    arena, offsets, counts = sort.pieces()
    data, ends = arena.tobytes(), offsets.tolist()
    pieces = [data[start:end] for start, end in pairwise(ends)]
    assert len(set(pieces)) == len(pieces) == len(counts)
    return dict(zip(pieces, counts.tolist(), strict=True))


def wanted(tables: ScanTables, *texts: bytes) -> Rows:
    """The same from the plain scan, sorted."""
    found: Counter[bytes] = Counter()
    for text in texts:
        starts, ends, _ = scan_pieces(tables, text)
        found.update(text[start:end] for start, end in zip(starts, ends, strict=True))
    return dict(sorted(found.items()))


def sample(seed: int) -> list[bytes]:
    """Texts on which one or another of the scans has trouble."""
    rng = random.Random(seed)
    letters = ["".join(rng.choices("aab bcx!1", k=rng.randrange(2_000))) for _ in range(20)]
    runs = ["1" * 2_000 + "a" + "2" * 1_000, "a" * 3_000, "a" * 1_500 + "b", "xaaa" * 700]
    texts = [*letters, *runs, run_length_text(rng, 5_000), *random_texts(seed, 60)]
    return [text.encode() for text in texts]


def count_in_parts(tables: ScanTables, text: bytes, cuts: list[int]) -> Rows:
    """Count as threads do: parts in turn by one of three tallies, reconciled by the first."""
    spans = list(pairwise([0, *cuts, len(text)]))
    tallies = [Tally(tables) for _ in range(3)]
    guesses = [
        tallies[number % 3].guess(text, start, stop, len(text), True)
        for number, (start, stop) in enumerate(spans)
    ]
    at = 0
    for guess in guesses:
        at = tallies[0].reconcile(guess, text, at, len(text), True)
    assert at == len(text)
    return rows_of(*tallies)


def character_places(text: bytes) -> list[int]:
    return [at for at in range(len(text)) if text[at] & 0xC0 != 0x80]


@pytest.mark.parametrize("name", SCANNED)
def test_a_text_is_counted_as_the_scanner_cuts_it(name: str) -> None:
    tables = build_scan_tables(SCANNED[name])
    together = Tally(tables)
    texts = [text.encode() for text in (*NAMED_TEXTS.values(), *lookahead_texts())]
    for text in texts:
        tally = Tally(tables)
        assert tally.add(text, 0, len(text), len(text), True) == len(text)
        assert (text, list(rows_of(tally).items())) == (text, list(wanted(tables, text).items()))
        together.add(text, 0, len(text), len(text), True)
    assert list(rows_of(together).items()) == list(wanted(tables, *texts).items())
    assert together.total == sum(wanted(tables, *texts).values())


@pytest.mark.parametrize("name", SCANNED)
def test_documents_are_counted_apart(name: str) -> None:
    tables = build_scan_tables(SCANNED[name])
    texts = [*sample(3), b"", "é".encode(), b""]
    tally = Tally(tables)
    tally.add_documents(b"".join(texts), np.cumsum([0, *map(len, texts)]))
    assert rows_of(tally) == wanted(tables, *texts)


@pytest.mark.parametrize("name", SCANNED)
def test_only_decided_pieces_are_counted(name: str) -> None:
    tables = build_scan_tables(SCANNED[name])
    rng = random.Random(name)
    for text in sample(4):
        for end in rng.sample(range(len(text) + 1), min(4, len(text))):
            tally = Tally(tables)
            at = tally.add(text, 0, end, end, False)
            while end < len(text):
                end = rng.randint(end + 1, len(text))
                at = tally.add(text, at, end, end, False)
            tally.add(text, at, len(text), len(text), True)
            assert (text, rows_of(tally)) == (text, wanted(tables, text))


@pytest.mark.parametrize("name", SCANNED)
@pytest.mark.parametrize("run", [" ", "\n", "1", "a", "é", "aab "])
def test_lanes_count_nothing_that_the_end_could_still_change(name: str, run: str) -> None:
    tables = build_scan_tables(SCANNED[name])
    for n_words in (50, 700, 3_000):
        words = "to be, or not. " * n_words
        for n in (1, 120, 700, 1_500):
            text = (words + "\n" + run * n + "b\nx" + words).encode()
            for end in (len(words) + 1 + len(run.encode()) * n, len(text) - 1):
                tally = Tally(tables)
                at = tally.add(text, 0, end, end, False)
                tally.add(text, at, len(text), len(text), True)
                assert (n_words, n, end, rows_of(tally)) == (n_words, n, end, wanted(tables, text))


@pytest.mark.parametrize("name", SCANNED)
@pytest.mark.parametrize("n_cuts", [1, 2, 7])
def test_parts_that_begin_anywhere_make_the_whole(name: str, n_cuts: int) -> None:
    tables = build_scan_tables(SCANNED[name])
    rng = random.Random(name)
    for text in sample(5):
        places = character_places(text)
        cuts = sorted(rng.choices(places, k=n_cuts)) if places else []
        assert (text, cuts, count_in_parts(tables, text, cuts)) == (
            text, cuts, wanted(tables, text),
        )  # fmt: skip


@settings(max_examples=200)
@given(
    name=st.sampled_from(sorted(SCANNED)),
    text=st.text(st.sampled_from("aab bcx!1é\n"), max_size=60).map(str.encode),
    repeats=st.integers(1, 40),
    data=st.data(),
)
def test_any_text_in_any_parts(name: str, text: bytes, repeats: int, data: st.DataObject) -> None:
    tables = build_scan_tables(SCANNED[name])
    text = text * repeats
    places = character_places(text)
    cuts = data.draw(st.lists(st.sampled_from(places), max_size=3)) if places else []
    assert count_in_parts(tables, text, sorted(cuts)) == wanted(tables, text)


@pytest.mark.parametrize("steps", [NOTED_STEPS - 1, NOTED_STEPS, NOTED_STEPS + 1, 5_000])
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_a_guess_out_of_step_is_taken_back(steps: int, shift: int) -> None:
    tables = build_scan_tables(r"\d{1,3}|\D")
    text = b"1" * (3 * steps + 900) + b"x2"
    for cut in (899 + shift, len(text) - 1):
        assert count_in_parts(tables, text, [cut]) == wanted(tables, text)


def test_a_part_inside_one_piece_counts_nothing() -> None:
    tables = build_scan_tables(None)
    text = b"ab" * 5_000
    assert count_in_parts(tables, text, [10, 4_000, 9_999]) == {text: 1}


def test_a_guess_that_looks_far_again_and_again_gives_up() -> None:
    # From the start one piece; from inside, each letter looks for the "!" that never comes.
    tables = build_scan_tables(r"x\w+|\w+!|[\s\S]")
    text = b"x" + b"a" * 400_000
    assert count_in_parts(tables, text, [200_000]) == {text: 1}


def test_one_guess_after_another_is_reconciled() -> None:
    tables = build_scan_tables(r"\w+|\W")
    texts = [b"one two three four" * 50, b"", b"five six", b"seven, eight; nine" * 90]
    first, second = Tally(tables), Tally(tables)
    for text in texts:
        cut = len(text) // 2
        guess = second.guess(text, cut, len(text), len(text), True)
        at = first.add(text, 0, cut, len(text), True)
        assert second.reconcile(guess, text, at, len(text), True) == len(text)
    assert rows_of(first, second) == wanted(tables, *texts)


def test_an_undecided_piece_takes_the_parts_after_it_back() -> None:
    tables = build_scan_tables(r"x\w+|[\s\S]")
    text = b"ab x" + b"a" * 3_000
    first, second = Tally(tables), Tally(tables)
    guess = second.guess(text, 1_000, len(text), len(text), False)
    at = first.add(text, 0, 1_000, len(text), False)
    assert at == first.reconcile(guess, text, at, len(text), False) == 3
    assert rows_of(first, second) == {b" ": 1, b"a": 1, b"b": 1}


def test_a_refused_guess_leaves_nothing() -> None:
    tables = build_scan_tables(r"\w+|\W")
    text = b"one two, three and a " + b"n" * 99
    tallies = Tally(tables), Tally(tables)
    for _ in range(2):
        many = text * 90
        guess = tallies[1].guess(many, 5, len(many), len(many), True)
        tallies[0].refuse(guess, many, len(many), True)
        tallies[0].add(text, 0, len(text), len(text), True)
    assert sum(tally.total for tally in tallies) == 2 * sum(wanted(tables, text).values())
    assert rows_of(*tallies) == rows_of(*tallies[::-1]) == wanted(tables, text, text)


def test_tables_grow_and_keep_every_piece() -> None:
    tables = build_scan_tables(r"\S+|\s")
    words = [f"{number:x}{'-' * (number % 40)}" for number in range(30_000)]
    text = " ".join(words).encode()
    assert count_in_parts(tables, text, [len(text) // 2]) == wanted(tables, text)


def test_pieces_are_sorted_by_their_bytes() -> None:
    rng = random.Random(9)
    pieces = [
        bytes(rng.choices(b"\x00\x01\x0f\x10\xff", k=rng.randint(1, 34))) for _ in range(5_000)
    ]
    pieces += [b"\xff" * n for n in range(1, 40)] + [b"\x00" * n for n in range(1, 40)]
    pieces += [b"fifteen letters" + bytes(tail) for tail in ([], [0], [15], [16], [255], [0, 0])]
    pieces += [b"fifteen letters" + rng.randbytes(rng.randint(1, 9)) for _ in range(300)]
    offsets = np.cumsum([0, *map(len, pieces)])
    tally = Tally(None)
    tally.add_spans(b"".join(pieces), offsets[:-1], offsets[1:])
    assert list(rows_of(tally).items()) == sorted(Counter(pieces).items())


def words_of(rng: random.Random, n_words: int) -> list[bytes]:
    """Words of one to forty bytes, many of which begin alike."""
    return [
        rng.choice([b"", b"\0", b"to", b"fifteen letters"])
        + rng.randbytes(rng.choice([1, 2, 2, 3, 9, 25]))
        for _ in range(n_words)
    ]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 40])
@pytest.mark.parametrize("n_tallies", [1, 2, 5])
@pytest.mark.parametrize("n_words", [0, 1, 30, 4_000])
def test_tallies_are_sorted_together(n_threads: int, n_tallies: int, n_words: int) -> None:
    rng = random.Random(n_words + n_tallies)
    words = words_of(rng, n_words)
    sort, found = PieceSort(), Counter[bytes]()
    for _ in range(n_tallies):
        pieces = rng.choices(words, k=2 * n_words) if words else []
        offsets = np.cumsum([0, *map(len, pieces)])
        tally = Tally(None)
        tally.add_spans(b"".join(pieces), offsets[:-1], offsets[1:])
        tally.put_into(sort)
        found.update(pieces)
    assert sort.n_rows >= len(found)
    with assisted(sort, min(n_threads, 3)):
        arena, offsets, counts = sort.pieces(n_threads)
    data, ends = arena.tobytes(), offsets.tolist()
    rows = [data[start:end] for start, end in pairwise(ends)]
    assert list(zip(rows, counts.tolist(), strict=True)) == sorted(found.items())
    assert (len(data), len(ends)) == (sum(map(len, found)), len(found) + 1)


def test_what_guesses_counted_wrongly_is_left_out_when_sorted() -> None:
    tables, text = build_scan_tables(r"\w+|\W"), b"one two, three and a " * 90
    tallies, sort = (Tally(tables), Tally(tables)), PieceSort()
    guess = tallies[1].guess(text, 0, len(text), len(text), True)
    tallies[0].refuse(guess, text, len(text), True)
    tallies[0].add(b"one!", 0, 4, 4, True)
    for tally in tallies:
        tally.put_into(sort)
    arena, offsets, counts = sort.pieces(2)
    assert (arena.tobytes(), offsets.tolist(), counts.tolist()) == (b"!one", [0, 1, 4], [1, 1])


def test_pieces_are_sorted_once_and_at_most_2_63() -> None:
    with pytest.raises(ValueError, match="the pieces of some tallies are sorted once"):
        PieceSort().pieces()
    sort, tally = PieceSort(), Tally(None)
    tally.add_pieces(b"a", np.array([0, 1]), np.array([2**62]))
    tally.put_into(sort)
    tally.put_into(sort)
    with pytest.raises(OverflowError, match=r"more than 2\*\*63 - 1 pieces"):
        sort.pieces()


@pytest.mark.parametrize("n_groups", [1, 2, 7, 300])
def test_groups_are_those_of_the_byte_sums(n_groups: int) -> None:
    tables = build_scan_tables(O200K_PAT_STR)
    tally, texts = Tally(tables), [*sample(31), "é中".encode() * 3_000, bytes(range(33)) * 40]
    for text in texts:
        tally.add(text, 0, len(text), len(text), True)
    found: Rows = {}
    groups = tally.groups(n_groups)
    assert len(groups) == n_groups
    for group, pieces in enumerate(groups):
        if pieces is None:
            continue
        arena, offsets, counts = pieces
        data = arena.tobytes()
        rows = [data[start:end] for start, end in pairwise(offsets.tolist())]
        assert rows
        assert {sum(piece) % n_groups for piece in rows} == {group}
        found |= dict(zip(rows, counts.tolist(), strict=True))
    assert found == rows_of(tally)
    assert sum(len(pieces[2]) for pieces in groups if pieces is not None) == len(found)


def test_spans_are_counted_wherever_they_lie() -> None:
    tally = Tally(None)
    tally.add_spans(b"abcab", np.array([0, 3, 2, 0, 4]), np.array([2, 5, 2, 5, 5]))
    assert rows_of(tally) == {b"ab": 2, b"abcab": 1, b"b": 1}
    tally.add_spans(b"", np.empty(0, np.int64), np.empty(0, np.int64))
    assert tally.total == 4


def test_counts_are_64_bit_and_never_wrap() -> None:
    arena, offsets = b"ab" + b"c" * 20, np.array([0, 1, 2, 22])
    tally = Tally(build_scan_tables(None))
    tally.add_pieces(arena, offsets, np.array([2**62, 2**62 - 2, 1]))
    assert tally.total == MOST
    assert rows_of(tally) == {b"a": 2**62, b"b": 2**62 - 2, b"c" * 20: 1}
    other = Tally(None)
    for piece in (b"a", b"d" * 20):
        with pytest.raises(OverflowError, match=r"more than 2\*\*63 - 1 pieces"):
            tally.add(piece, 0, len(piece), len(piece), True)
        with pytest.raises(OverflowError, match=r"more than 2\*\*63 - 1 pieces"):
            tally.add_spans(piece, np.array([0]), np.array([len(piece)]))
        other.add_spans(piece, np.array([0]), np.array([len(piece)]))
        with pytest.raises(OverflowError, match=r"more than 2\*\*63 - 1 pieces"):
            rows_of(tally, other)
    assert tally.total == MOST


def test_counts_of_tallies_add_up() -> None:
    first, second = Tally(None), Tally(None)
    offsets = np.array([0, 1, 21])
    first.add_pieces(b"a" + b"b" * 20, offsets, np.array([1, 2**40]))
    second.add_pieces(b"c" + b"b" * 20, offsets, np.array([5, 7]))
    assert rows_of(first, second, Tally(None)) == {b"a": 1, b"b" * 20: 2**40 + 7, b"c": 5}
    assert rows_of(second) == {b"b" * 20: 7, b"c": 5}


def test_an_empty_tally_has_nothing() -> None:
    sort = PieceSort()
    Tally(None).put_into(sort)
    arena, offsets, counts = sort.pieces()
    assert (arena.dtype, offsets.dtype, counts.dtype) == (np.uint8, np.int64, np.int64)
    assert (arena.tolist(), offsets.tolist(), counts.tolist()) == ([], [0], [])


def test_no_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="n_groups must be 1 or more, got 0"):
        Tally(None).groups(0)


def test_an_end_outside_the_text_and_missing_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="end is 4, outside of 3 bytes"):
        Tally(build_scan_tables(None)).add(b"abc", 0, 4, 4, True)
    with pytest.raises(ValueError, match="this tally has no scan tables"):
        Tally(None).add(b"abc", 0, 3, 3, True)


# Pieces made to collide

ODD = 0x9E3779B97F4A7C15
MULTIPLIER = 0xD6E8FEB86659FD93
INVERSE = pow(MULTIPLIER, -1, 2**64)
SLOT_BITS = 20
ASCII = 0x7F7F_7F7F_7F7F_7F7F
N_CRAFTED = 3_000
LONGEST_RUN = 400  # random keys fill some 40 slots in a row, and 400 less often than 1 in 2**100

Words = NDArray[np.uint64]


def unscrambled(rng: np.random.Generator, n: int) -> Words:
    """Words that a hash without a secret scrambles to a multiple of 2**SLOT_BITS."""
    wanted = rng.integers(0, 2**64, n, dtype=np.uint64) >> SLOT_BITS << SLOT_BITS
    wanted ^= wanted >> 29 ^ wanted >> 58
    wanted *= INVERSE
    return wanted ^ wanted >> 32


def crafted_pieces(n_bytes: int) -> list[bytes]:
    """ASCII pieces of 15 or 16 bytes that all hash to one slot where nothing is secret.

    Hashes are those of `common.pxd`, turned round: choose what comes out and one word of the
    piece, work out the other, and keep it where it is ASCII.
    """
    rng = np.random.default_rng(n_bytes)
    n = 400 * N_CRAFTED
    chosen = rng.integers(0, 2**64, n, dtype=np.uint64) & ASCII
    wanted = unscrambled(rng, n) * INVERSE
    if n_bytes == 15:
        chosen >>= 8
        words = wanted ^ (chosen | 15 << 56) * ODD, chosen
    else:
        before = (chosen ^ n_bytes * ODD % 2**64) * MULTIPLIER
        words = chosen, wanted ^ before ^ before >> 32
    kept = np.flatnonzero(~((words[0] | words[1]) & ~np.uint64(ASCII)).astype(bool))
    rows = np.stack(words, axis=1)[kept].astype("<u8").view("S16").ravel().tolist()
    return [row.ljust(n_bytes, b"\0") for row in dict.fromkeys(rows)][:N_CRAFTED]


class TableHead(ctypes.Structure):
    """Where `Table` of piece_table.pxd begins."""

    _fields_ = (
        ("entries", ctypes.c_void_p), ("slots", ctypes.c_ssize_t), ("used", ctypes.c_ssize_t),
        ("longer", ctypes.c_void_p), ("longer_slots", ctypes.c_ssize_t),
    )  # fmt: skip


def occupied_slots(tally: Tally, *, long: bool) -> NDArray[np.bool_]:
    """Which slots of a tally's table have a piece, read from its memory."""
    pointers = 2 * ctypes.sizeof(ctypes.c_void_p)  # of its methods and its scan tables
    head = TableHead.from_address(id(tally) + object.__basicsize__ + pointers)
    slots, start = (head.longer_slots, head.longer) if long else (head.slots, head.entries)
    assert slots & (slots - 1) == 0 < slots < 2**SLOT_BITS
    words = 4 if long else 3
    table = np.ctypeslib.as_array((ctypes.c_uint64 * (words * slots)).from_address(start))
    return table.reshape(slots, words)[:, 2 if long else 1] != 0


def longest_run(occupied: NDArray[np.bool_]) -> int:
    """Most slots in a row that have a piece: so far a search may have to go."""
    free = np.flatnonzero(~occupied)
    return int(np.diff(free, append=free[0] + len(occupied)).max()) - 1


@pytest.mark.parametrize("n_bytes", [15, 16])
def test_pieces_made_to_collide_are_spread_over_the_table(n_bytes: int) -> None:
    pieces = crafted_pieces(n_bytes)
    assert len(pieces) == N_CRAFTED
    assert all(len(piece) == n_bytes and piece.isascii() for piece in pieces)
    places = np.arange(0, n_bytes * N_CRAFTED + 1, n_bytes)
    tallies = Tally(None), Tally(build_scan_tables(None))
    tallies[0].add_spans(b"".join(pieces), places[:-1], places[1:])
    tallies[1].add_documents(b"".join(pieces), places)
    occupied = [occupied_slots(tally, long=n_bytes > 15) for tally in tallies]
    for tally, slots in zip(tallies, occupied, strict=True):
        assert tally.distinct == slots.sum() == N_CRAFTED
        assert longest_run(slots) < LONGEST_RUN
    assert (occupied[0] != occupied[1]).any()
