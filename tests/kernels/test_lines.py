"""Breaks are what regular expressions say: blank lines, and line ends that do not wrap."""

import re
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.kernels.breaks.breaks import ENTRY, LINE, PARAGRAPH, find_breaks, find_last_break
from cutline.kernels.breaks.wrapping import LINES_JOIN
from tests.kernels.headed_lines import (
    entry_breaks,
    is_headed,
    is_page_number_after,
    line_breaks,
    page_number_ends,
)
from tests.kernels.wrapped_lines import LINE_ENDS

PARAGRAPH_ENDS = re.compile(r"\n(?:[^\S\n]{0,200}\n)+")


def paragraphs(text: str, start: int, after: int, until: int) -> list[int]:
    found = {match.end() for match in PARAGRAPH_ENDS.finditer(text, start)}
    found |= {start + place for place in page_number_ends(text, start)}
    return [
        place
        for place in sorted(found)
        if after < place <= until
        and not is_headed(text, start, place)
        and not is_page_number_after(text, place)
    ]


def check(text: str, start: int, after: int, until: int) -> None:
    for kind, expected in (
        (PARAGRAPH, paragraphs(text, start, after, until)),
        (ENTRY, entry_breaks(text, start, after, until)),
        (LINE, [*line_breaks(text, start, after, until)]),
    ):
        assert find_breaks(text, kind, start, after, until) == expected
        last = find_last_break(text, kind, start, after, until)
        assert last == (expected[-1] if expected else -1)


@pytest.mark.parametrize("wide", ["", "é", "日", "😀"])
def test_breaks_of_all_short_texts(wide: str) -> None:
    for characters in product("aB#=.\n \r", repeat=5):
        text = "".join(characters) + wide
        check(text, 0, 0, len(text))
        check(text, 1, 2, 5)


@pytest.mark.parametrize("wide", ["", "é", "日", "😀"])
@pytest.mark.parametrize("ends", ["\n\n", "\n\x0b", "\n \x0c", "\r\n", "\n\x85", "\n\n\x0b"])
def test_line_ends_at_any_distance_from_the_ends_of_a_text(ends: str, wide: str) -> None:
    for before, after in product((0, 1, 15, 17, 62, 63, 64, 65, 130), repeat=2):
        text = wide + "a" * before + ends + "b" * after
        check(text, 0, 0, len(text))
        check(text, 0, before // 2, len(text) - after // 2)


def test_breaks_around_all_short_rulers() -> None:
    for parts in product(("===", "--", "A", "b", "\n", " "), repeat=6):
        text = "".join(parts)
        check(text, 0, 0, len(text))
        check(text, 1, 1, len(text))


WHITE = [*LINE_ENDS, "\r\n", " ", "\u3000", " " * 199]
BLACK = [
    "a",
    "# ",
    "##",
    "= ",
    "==",
    "===",
    "-" * 70,
    "§ 1",
    "B",
    "B:",
    "B?",
    "**B**",
    "_",
    "री",
    "7)",
    "\n\n12\n\f",
    "Page 3",
    "c" * 79,
    "d. ",
    "日。",
    "é",
    "日",
    "😀",
    ",",
    "-",
    "_",
    ".",
    "a" * 48,
    "b" * 49,
    "é" * 50,
    "日" * 51,
    *("2026-11-03 07:14", "[3.11.26, 7:14] A: b", "Nov  3 07:14:02 x", "1.2.3", "(1/2/3", "12:3"),
    *("INFO:", "[WARN]", "WARNINGS ", "INFO", "ERROR 1", "[TRACE", "FATAL\t"),
    *("\u200e[1:2:3", "INFO     1:2:3", "INFO      1:2:3", "x 1:2:3", "A" * 20, "1:2" + " " * 26),
]
pieces = st.sampled_from(WHITE + BLACK)


@settings(max_examples=500)
@given(st.lists(pieces, max_size=12), st.lists(st.integers(0, 300), min_size=3, max_size=3))
def test_breaks_of_any_text(parts: list[str], places: list[int]) -> None:
    text = "".join(parts)
    start, after, until = sorted(min(place, len(text)) for place in places)
    check(text, start, after, until)
    check(text, 0, 0, len(text))


@pytest.mark.parametrize(
    "heading",
    [
        "**Care**",
        "__Care:__",
        "How dry?",
        "如何保养？",
        "CHAPTER 2\n\nTHE SAW",
        "अध्याय 2: आरी",
        "**Care**:",
    ],
)
def test_headings_of_many_forms_stay_with_what_is_below_them(heading: str) -> None:
    text = f"Oil it.\n\n{heading}\n\nKeep the teeth dry.\n\nSharpen them."
    ends = find_breaks(text, PARAGRAPH, 0, 0, len(text))
    assert ends == [text.index(heading), text.index("Sharpen")]


@pytest.mark.parametrize("mark", "#=")  # of Markdown; of AsciiDoc and wikis
def test_headings_with_marks_stay_with_what_is_below_them(mark: str) -> None:
    parts = [
        *("# Saws!\n\n## care, how?\n\nDry.\n\n", "## Kinds\n\n", "# Glue.\n\n- wait\n\n"),
        *("##none\n\n", "####### no\n\n", "End."),
    ]
    parts = [part.replace("#", mark) for part in parts]
    text = "".join(parts)
    ends = find_breaks(text, PARAGRAPH, 0, 0, len(text))
    assert [text[start:end] for start, end in pairwise([0, *ends, len(text)])] == parts


def test_titles_above_rulers_and_sections_of_law_stay_with_what_is_below_them() -> None:
    parts = [
        *(
            "Saws\n====\n\nsaw.\n\n",
            "====\ncare\n====\n\n- oil\n\n",
            "§ 7 Sale\n\nAll sales end.\n\n",
        ),
        *("one\ntwo\n---\n\n", "---\n\n", "- a\n---\n\n", "End."),
    ]
    text = "".join(parts)
    ends = find_breaks(text, PARAGRAPH, 0, 0, len(text))
    assert [text[start:end] for start, end in pairwise([0, *ends, len(text)])] == parts


def test_a_heading_at_the_top_of_a_page_stays_with_what_is_below_it() -> None:
    parts = ["Saws rip.\n\nThey end\n     1\n", "\fAnnual Report 2026\n\nGlue sets.\n\n", "End."]
    text = "".join(parts)
    ends = find_breaks(text, PARAGRAPH, 0, 0, len(text))
    assert ends == [len("Saws rip.\n\n"), len(parts[0] + parts[1])]


@pytest.mark.parametrize("number", ["12", "- 12 -", "  xi, 2026", "Page 3 of 10", "٣"])
@pytest.mark.parametrize("between", ["\n", "\n\n", "\n  \n", "\r\n"])
def test_the_number_of_a_page_stays_with_the_page(number: str, between: str) -> None:
    parts = ["Saws rip.\n\n", f"They end\n\n{number}{between}", "\fGlue sets, and.\n\n", "End."]
    text = "".join(parts)
    ends = find_breaks(text, PARAGRAPH, 0, 0, len(text))
    assert [text[start:end] for start, end in pairwise([0, *ends, len(text)])] == parts


@pytest.mark.parametrize("line", ["They end", "12 saws" + " rip" * 20, "12", "- -"])
def test_other_lines_at_the_end_of_a_page_are_no_numbers(line: str) -> None:
    for text in (f"Saws.\n\n{line}\n\fMore.", f"Saws.\n\nOil.\n{line}\n\fMore."):
        is_number = line == "12" and "Oil" not in text
        ends = find_breaks(text, PARAGRAPH, 0, 0, len(text))
        assert ends == [text.index("\f") if is_number else len("Saws.\n\n")]


def test_breaks_around_all_short_ends_of_pages() -> None:
    for parts in product(("1", "A", ".", "\n", "\f", " "), repeat=6):
        text = "B\n\n" + "".join(parts)
        check(text, 0, 0, len(text))
        check(text, 1, 2, len(text))


def test_headings_without_a_blank_line_stay_with_what_is_below_them() -> None:
    parts = [
        "Text.\n",
        "# Saws!\n## care\nDry.\n",
        "## Kinds\n",
        "# Glue.\nWait.\n",
        "##none\n",
        "End.",
    ]
    text = "".join(parts)
    ends = find_breaks(text, LINE, 0, 0, len(text))
    assert [text[start:end] for start, end in pairwise([0, *ends, len(text)])] == parts


def test_breaks_of_all_short_stamps() -> None:
    for parts in product(("A", "[", "INFO", ":", "1", "1:2:3", "-1", "\n", " "), repeat=5):
        text = "".join(parts)
        check(text, 0, 0, len(text))
        check(text, 1, 1, len(text))


@pytest.mark.parametrize(
    "entries",
    [
        ["2026-11-03 07:14:02 ERROR a\n", "2026-11-03 07:14:03 INFO b\n"],
        ["[03.11.26, 07:14:02] Anna: a\n", "\u200e[03.11.26, 07:14:09] Bert: b\n"],
        ["3/11/26, 7:14 AM - Anna: a\r\n", "3/11/26, 7:15 AM - Bert: b\r\n"],
        ["Nov  3 07:14:02 saw kernel: a\n", "Nov  3 07:14:03 saw kernel: b\n"],
        ["INFO  2026-11-03 07:14 a\n", "ERROR 2026-11-03 07:14 b\n"],
        ["INFO:root:a\n", "ERROR:root:b\n"],
        ["[WARN] a\n", "[SEVERE] b\n"],
        ["DEBUG\ta 1\n", "CRITICAL b\n"],
        ["10.0.0.1 - - [03/Nov/2026] a\n", "10.0.0.2 - - [03/Nov/2026] b\n"],
    ],
)
def test_entries_begin_with_a_stamp(entries: list[str]) -> None:
    """What stands below is theirs: stack traces, messages of several lines."""
    more = "java.lang.Error: x\n\tat a.b(C.java:1)\nCaused by: y\nand 3 more.\n"
    text = "".join(entry + more for entry in entries * 2)
    ends = find_breaks(text, ENTRY, 0, 0, len(text))
    assert [text[a:b] for a, b in pairwise([0, *ends, len(text)])] == [
        entry + more for entry in entries * 2
    ]
    # Neither a single one nor a line end that is to be read as a blank.
    single = more + entries[0] + more
    assert find_breaks(single, ENTRY, 0, 0, len(single)) == []
    assert find_breaks(text, ENTRY | LINES_JOIN, 0, 0, len(text)) == []


def test_a_place_after_the_text_is_its_end() -> None:
    assert find_breaks("a\n\n", PARAGRAPH, 0, 0, 10**12) == [3]
    assert find_last_break("a\n\n", LINE, 0, 5, 10**12) == -1


@pytest.mark.parametrize(("start", "after"), [(-1, 0), (2, 1)])
def test_places_out_of_order_are_refused(start: int, after: int) -> None:
    for find in (find_breaks, find_last_break):
        with pytest.raises(ValueError, match=r"0 <= start <= after must hold"):
            find("abc", LINE, start, after, 3)
