"""Line ends that only wrap are those of the rule in plain Python, and what they should be."""

import textwrap
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.document_kinds import PROSE, RECORDS
from cutline.kernels.breaks.breaks import LINE, SENTENCE, find_breaks
from cutline.kernels.breaks.wrapping import LINES_JOIN, LINES_KEEP
from tests.kernels.headed_lines import line_breaks
from tests.kernels.wrapped_lines import LINE_END


def check(text: str, start: int) -> None:
    expected = [*line_breaks(text, start, start, len(text))]
    assert find_breaks(text, LINE, start, start, len(text)) == expected


@pytest.mark.parametrize("make", [*RECORDS.values(), *PROSE.values()], ids=[*RECORDS, *PROSE])
def test_line_ends_of_all_kinds_of_documents(make: Callable[[], str]) -> None:
    text = make()
    for start in range(0, 12_000, 601):
        check(text[: start + 1_500], start)


WORDS = ["a", "of", "The", "word", "Straße", "и", "Мир", "你好", "，", "한국", "في", "e\u0301"]
DIVIDED = ["x-", "é\u2010", "ver\xad", "1-"]
SIGNS = ["1", "12:30:05", "2026-11-23", "x,y", "Ann:", "😀", *"\t;|(“*_.!"]
LONG = ["w" * 29, "v" * 64, "U" * 70, "你" * 20, "x" * 199, " " * 200]
ends = st.sampled_from(
    ["\n", "\n", "\n", "\r\n", " \n", "  \n", "\r", "\v", "\x85", "\u2028", "\n\n"]
)
words = st.sampled_from([*WORDS, *DIVIDED, *SIGNS, *LONG, *["and so on"] * 9])
lines = st.tuples(st.lists(words, max_size=14).map(" ".join), ends).map("".join)


@settings(max_examples=1_000)
@given(st.lists(lines, max_size=16).map("".join), st.integers(0, 300))
def test_line_ends_of_any_text(text: str, start: int) -> None:
    check(text, min(start, len(text)))
    wide = text + "😀"
    check(wide, min(start, len(wide)))


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from(["one", "Two", "three", "4", "fünf.", "“six”"]), min_size=9, max_size=150
    ),
    st.integers(45, 90),
    st.sampled_from(["\n", "\r\n", " \n"]),
    st.integers(0, 90),
)
def test_line_ends_of_wrapped_words(words: list[str], columns: int, end: str, start: int) -> None:
    text = textwrap.fill(" ".join(words), columns).replace("\n", end)
    check(text, min(start, len(text)))


@pytest.mark.parametrize("hyphen", ["-", "\u2010", "\xad"])
def test_no_word_that_is_divided_at_a_line_end_is_cut(hyphen: str) -> None:
    """As in the narrow columns of a printed page."""
    page = (
        "The saw is one of the oldest tools of carpen-\ntry, and its teeth have been studied by "
        "many au-\nthors. In this paper we review the litera-\nture (Smith et al., 2019) and pro-\n"
        "pose a new model of their teeth and blades,\nwhich is as simple as it is easy to re-\n"
        "fute.\n"
    ).replace("-", hyphen)
    for start in range(0, len(page), 9):
        check(page, start)
    assert find_breaks(page, LINE, 0, 0, len(page)) == [len(page)]
    ends = find_breaks(page, SENTENCE, 0, 0, len(page))
    assert [page[:end].split()[-1] for end in ends] == ["thors.", "fute."]
    kept = "one thing after another and a third -\nanother\nand one more, and then the Last-\nOne\n"
    assert len(find_breaks(kept, LINE, 0, 0, len(kept))) == 4


def test_every_line_end_is_kept_or_joined_on_request() -> None:
    for text in (RECORDS["ISO log"]()[:3_000], PROSE["prose, Windows line ends"]()[:3_000]):
        every = [match.end() for match in LINE_END.finditer(text)]
        assert find_breaks(text, LINE | LINES_KEEP, 0, 0, len(text)) == every
        assert {*every} <= {*find_breaks(text, SENTENCE | LINES_KEEP, 0, 0, len(text))}
        blank = [
            end
            for end in every
            if end == len(text)
            or LINE_END.match(text, end)
            or text[:end].endswith(("\n\n", "\n\r\n"))
        ]
        assert find_breaks(text, LINE | LINES_JOIN, 0, 0, len(text)) == blank


@pytest.mark.parametrize("blank", ["", " ", "\t  ", " " * 199])
def test_lines_beside_blank_ones_are_not_joined(blank: str) -> None:
    text = f"a\n{blank}\nb\nc"
    assert find_breaks(text, LINE | LINES_JOIN, 0, 0, len(text)) == [2, len(blank) + 3]


def test_what_is_far_after_a_line_end_has_no_say() -> None:
    """A stream sees 256 characters after a place."""
    text = PROSE["prose at 72 columns"]()[:3_000]
    for place in find_breaks(text, LINE | LINES_KEEP, 0, 0, len(text) - 400):
        part = text[: place + 256]
        for kind in (LINE, SENTENCE):
            for other in (part + "x" * 300, part + "\n\n1,2\n" * 60):
                assert (place in find_breaks(other, kind, 0, place - 1, place)) == (
                    place in find_breaks(text, kind, 0, place - 1, place)
                )
