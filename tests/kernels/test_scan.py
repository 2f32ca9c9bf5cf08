"""The scanner kernel finds what the plain one finds, and says truly how far it looked."""

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest

from cutline.kernels.encode.batches import find_pieces
from cutline.kernels.scan.scan import ScanTables, scan_pieces
from cutline.pretokenize import compile_pattern
from cutline.tables import build_scan_tables
from cutline.vocabulary.openai import O200K_PAT_STR
from tests.kernels.scanners import SCANNED, gapless_tables
from tests.pretokenize.alphabets import run_length_texts, short_texts
from tests.pretokenize.runner import Runner
from tests.pretokenize.test_random_patterns import random_texts
from tests.texts import NAMED_TEXTS, lookahead_texts

# Start and end of a piece, and how far its decision looked; a gap ends where it starts.
Step = tuple[int, int, int]


class Looking(Runner):
    """The plain scanner that also tells how far each decision looked."""

    def steps(self, text: str) -> Iterator[Step]:
        """Pieces and gaps in code points; one more than the length if the end decided."""
        classes = [self.class_of(ord(character)) for character in text] + [self.end_symbol]
        start = 0
        while start < len(text):
            end = self.match_end(classes, start)
            yield start, end, self.looked(classes, start)
            start = max(end, start + 1)

    def looked(self, classes: list[int], start: int) -> int:
        row = self.stride
        for position in range(start, len(classes)):
            row = self.transitions[row + classes[position]] >> 2
            if row == 0:
                return position + 1
        return len(classes)


def sample_texts() -> list[str]:
    return [*NAMED_TEXTS.values(), *lookahead_texts(), *short_texts(seed=31, count=300)]


def byte_places(text: str) -> list[int]:
    """The byte offset of every code point, of the end, and of what lies beyond it."""
    widths = [len(character.encode()) for character in text]
    return [*np.cumsum([0, *widths]).tolist(), sum(widths) + 1]


def kernel_steps(tables: ScanTables, text: str) -> list[Step]:
    return list(zip(*(part.tolist() for part in scan_pieces(tables, text.encode())), strict=True))


@pytest.mark.parametrize("name", SCANNED)
def test_kernel_finds_the_pieces_that_the_plain_scanner_finds(name: str) -> None:
    tables, plain = build_scan_tables(SCANNED[name]), Looking(compile_pattern(SCANNED[name]))
    for text in sample_texts() + run_length_texts(seed=32, count=2, length=3_000):
        place = byte_places(text)
        want = [
            (place[start], place[end], place[looked])
            for start, end, looked in plain.steps(text)
            if end > start
        ]
        assert (text, kernel_steps(tables, text)) == (text, want)


def assert_batches_find_the_pieces(tables: ScanTables, text: str) -> None:
    """Batches give the scanner's pieces; they may say that a decision looked a character on."""
    place = byte_places(text)
    next_place = dict(itertools.pairwise(place[:-1]))
    want = kernel_steps(tables, text)
    cases = [(most, False) for most in (1, 7, 8, 9, 256)]
    for most, by_lanes in [*cases, (256, True)]:
        steps = find_pieces(tables, text.encode(), most, by_lanes)
        found = [step for step in steps if step[0] < step[1]]
        assert (text, most, [step[:2] for step in found]) == (
            text, most, [step[:2] for step in want],
        )  # fmt: skip
        if tables.has_gaps:
            continue  # what was looked at for text in no piece is told there, not after it
        for (_, end, looked), (_, _, least) in zip(found, want, strict=True):
            assert least <= looked <= max(least, next_place.get(end, end)), (text, most, end)


@pytest.mark.parametrize("name", SCANNED)
def test_batches_find_the_pieces_that_the_scanner_finds(name: str) -> None:
    tables = build_scan_tables(SCANNED[name])
    for text in sample_texts() + run_length_texts(seed=34, count=2, length=3_000):
        assert_batches_find_the_pieces(tables, text)


def test_batches_find_the_pieces_of_random_patterns() -> None:
    source = random.Random(35)
    for tables in gapless_tables(source, 150):
        for text in random_texts(source, 20):
            assert_batches_find_the_pieces(tables, text * 4)


@pytest.mark.parametrize("name", SCANNED)
def test_batches_by_lanes_tell_how_far_decisions_looked(name: str) -> None:
    tables = build_scan_tables(SCANNED[name])
    assert_batches_find_the_pieces(tables, "".join(sample_texts()))
    for text in short_texts(seed=37, count=60):
        assert_batches_find_the_pieces(tables, text * (1 + 2_000 // len(text)))


def test_batches_by_lanes_tell_how_far_decisions_of_random_patterns_looked() -> None:
    source = random.Random(38)
    for tables in gapless_tables(source, 50):
        for text in random_texts(source, 4):
            assert_batches_find_the_pieces(tables, text * (1 + 1_000 // len(text)))


@pytest.mark.parametrize("n_words", [170, 200], ids=["nearly too large", "too large"])
def test_a_large_automaton_does_without_a_stream(n_words: int) -> None:
    source = random.Random(36)
    words = {"".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(n_words)}
    tables = build_scan_tables("|".join([*words, r"[\s\S]"]))
    n_entries = len(tables.arrays[3])
    assert not tables.has_gaps
    assert (n_entries > 1 << 15) == (n_words == 200)
    assert n_entries > 30_000
    text = "".join(source.choices([*words, "abc", " "], k=2_000))
    assert_batches_find_the_pieces(tables, text)
    assert any(word in text for word in words)


@pytest.mark.parametrize("name", SCANNED)
def test_a_boundary_decided_before_a_cut_is_one_of_the_cut_text(name: str) -> None:
    tables, plain = build_scan_tables(SCANNED[name]), Looking(compile_pattern(SCANNED[name]))
    n_kept = 0
    for text in short_texts(seed=33, count=250):
        place = byte_places(text)
        boundaries: list[tuple[int, int]] = []
        furthest = 0
        for start, end, looked in plain.steps(text):
            furthest = max(furthest, looked)
            boundaries.append((place[max(end, start + 1)], place[furthest]))
        for cut in range(len(text) + 1):
            kept = {at for at, examined in boundaries if examined <= place[cut]}
            starts, ends, _ = scan_pieces(tables, text[:cut].encode())
            # Between pieces every character is a boundary; only inside them none is.
            inside = {at for at in kept if ((starts < at) & (at < ends)).any()}
            assert (text, cut, inside) == (text, cut, set())
            n_kept += len(kept)
    assert n_kept > 1_000 or name == "whole text"


def test_one_decision_can_look_at_all_that_follows() -> None:
    tables = build_scan_tables(O200K_PAT_STR)
    text = "日" + "A" * 300
    assert kernel_steps(tables, text + "b") == [(0, 304, 305)]
    assert kernel_steps(tables, text + ".")[0] == (0, 3, 304)
    # Where the text ends within the run, its end is what decides: one beyond the last byte.
    assert kernel_steps(tables, text)[0] == (0, 3, 304)


@pytest.mark.parametrize("text", ["", "\x00", "\x00" * 40, "é", "\U0010ffff"])
def test_smallest_texts(text: str) -> None:
    steps = kernel_steps(build_scan_tables(None), text)
    n = len(text.encode())
    assert steps == ([(0, n, n + 1)] if text else [])


def test_what_no_scanner_can_run_on_is_refused() -> None:
    *arrays, stride = build_scan_tables(None).arrays
    classes, index, blocks, transitions = map(np.asarray, arrays)
    with pytest.raises(ValueError, match="class tables do not cover all code points"):
        ScanTables(classes[:127].copy(), index, blocks, transitions, stride, None)
    with pytest.raises(ValueError, match="class tables do not cover all code points"):
        ScanTables(classes, index[:-1].copy(), blocks, transitions, stride, None)
    with pytest.raises(ValueError, match="an automaton needs a dead and a start state"):
        ScanTables(classes, index, blocks, transitions[:stride].copy(), stride, None)
    with pytest.raises(ValueError, match="an automaton needs a dead and a start state"):
        ScanTables(classes, index, blocks[:0].copy(), transitions, stride, None)
