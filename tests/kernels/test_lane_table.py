"""The table of the lanes: what it reports is true, but for the last end before it is lost."""

import random

import numpy as np
import pytest

from cutline.kernels.scan.scan import ScanTables, scan_pieces
from cutline.tables import WHOLE_TEXT_PATTERN, build_scan_tables
from cutline.vocabulary.openai import O200K_PAT_STR
from tests.kernels.scanners import PACKAGED, gapless_tables
from tests.pretokenize.alphabets import run_length_texts, short_texts
from tests.pretokenize.patterns import PATTERNS
from tests.pretokenize.test_random_patterns import random_texts
from tests.texts import NAMED_TEXTS, lookahead_texts

LOST = 0x80
START = 0


def table_of(pattern: str) -> memoryview:
    table = build_scan_tables(pattern).lane_table
    assert table is not None
    return table


def report(table: memoryview, utf8: bytes) -> tuple[list[int], bool]:
    """Step through a text by the words of docs/scanning.md: the ends, and whether it was lost."""
    entries, state = table, START
    ends: set[int] = set()
    for at, byte in enumerate(utf8):
        entry = entries[state + byte]
        if entry & LOST:
            assert entry == LOST  # it reports nothing, and begins anew
            return sorted(ends), True
        ends |= {at - bit for bit in range(7) if entry >> bit & 1}
        state = entry >> 8
    return sorted(ends), False


def assert_reports_are_true(tables: ScanTables, text: str) -> bool:
    utf8 = text.encode()
    assert tables.lane_table is not None
    found, lost = report(tables.lane_table, utf8)
    want = scan_pieces(tables, utf8)[1].tolist()
    assert (text, found[:-1]) == (text, want[: max(len(found) - 1, 0)])
    return lost


def sample_texts() -> list[str]:
    runs = run_length_texts(seed=42, count=10, length=300, longest_run=40)
    return [*NAMED_TEXTS.values(), *lookahead_texts(), *short_texts(seed=41, count=600), *runs]


@pytest.mark.parametrize("name", PACKAGED)
def test_every_reported_end_but_the_last_is_true_and_none_is_missing_before(name: str) -> None:
    tables = build_scan_tables(PACKAGED[name])
    n_lost = sum(assert_reports_are_true(tables, text) for text in sample_texts())
    # All that is lost are blank lines and, in o200k, capitals after ideographs.
    assert (n_lost > 0) == (name != "r50k")


def test_reports_are_true_for_all_patterns_without_gaps() -> None:
    n_tables = 0
    for pattern in (WHOLE_TEXT_PATTERN, r"ab*c|[\s\S]", *PATTERNS.values()):
        tables = build_scan_tables(pattern)
        assert (tables.lane_table is None) == tables.has_gaps
        if not tables.has_gaps:
            n_tables += 1
            for text in short_texts(seed=43, count=150):
                assert_reports_are_true(tables, text)
    assert n_tables > 10


def test_reports_are_true_for_random_patterns() -> None:
    source = random.Random(44)
    n_lost = 0
    for tables in gapless_tables(source, 150):
        for text in random_texts(source, 20):
            n_lost += assert_reports_are_true(tables, text * 4)
    assert n_lost > 20


def test_every_character_takes_the_step_of_its_class() -> None:
    """Each is followed and preceded by what makes its class show."""
    tables = build_scan_tables(O200K_PAT_STR)
    drawn = random.Random(45).sample([*range(0xD800), *range(0xE000, 0x110000)], 5_000)
    edges = [64 * block + place for block in range(0x110000 >> 6) for place in (0, 63)]
    for code_point in {*drawn, *edges, *range(0x3000)} - {*range(0xD800, 0xE000)}:
        assert_reports_are_true(tables, f"a{chr(code_point)}B{chr(code_point)} 1.")


def test_a_text_that_begins_inside_a_character_begins_after_it() -> None:
    table = table_of(O200K_PAT_STR)
    for text in ("é one two", "中 one two", "😀 one two"):
        utf8, width = text.encode(), len(text[0].encode())
        want, _ = report(table, utf8[width:])
        for inside in range(1, width):
            found, _ = report(table, utf8[inside:])
            assert found == [end + width - inside for end in want]


@pytest.mark.parametrize("name", PACKAGED)
def test_no_step_leaves_the_table(name: str) -> None:
    """And it is only lost after a whole character."""
    table = table_of(PACKAGED[name])
    widths = [1] * 0x80 + [0] * 0x42 + [2] * 0x1E + [3] * 0x10 + [4] * 5
    places = {(START, 0)}  # and how many bytes the character still has
    todo = list(places)
    while todo:
        state, n_left = todo.pop()
        for byte in range(0x80, 0xC0) if n_left else range(0xF5):
            entry = int(table[state + byte])
            left = n_left - 1 if n_left else widths[byte] - 1
            if left < 0:  # no character begins so
                continue
            place = (entry >> 8, left)
            assert place[0] + (0xBF if left else 0xF4) < len(table)
            assert left == 0 or not entry & LOST
            if place not in places:
                places.add(place)
                todo.append(place)
    assert len(places) > 1_000


def test_equal_patterns_have_equal_tables() -> None:
    for pattern in PACKAGED.values():
        assert np.array_equal(table_of(pattern), table_of(pattern))


def test_packaged_tables_are_small() -> None:
    assert max(table_of(pattern).nbytes for pattern in PACKAGED.values()) < 1 << 20


def test_a_large_automaton_has_no_table() -> None:
    source = random.Random(46)
    for n_words, has_table in ((40, True), (200, False)):
        words = {"".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(n_words)}
        tables = build_scan_tables("|".join([*sorted(words), r"[\s\S]"]))
        assert (tables.lane_table is not None) == has_table
