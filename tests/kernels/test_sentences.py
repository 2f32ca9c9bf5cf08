"""Sentences end where ICU says, once lines are joined, but not after abbreviations or in quotes."""

from functools import cache
from itertools import accumulate, pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from icu4py.breakers import SentenceBreaker

from cutline.chunking.break_tables import pack_abbreviations
from cutline.kernels.breaks.breaks import SENTENCE, find_breaks, find_last_break, keep_graphemes
from cutline.pretokenize.unicode import find_property
from tests.kernels.wrapped_lines import LINE_END, LINE_ENDS, is_wrapped
from tests.texts import NAMED_TEXTS

ABBREVIATIONS = [int(n).to_bytes(8, "little").rstrip(b"\0").decode() for n in pack_abbreviations()]
NO_END = regex.compile(
    rf"(?:^|[^\p{{L}}\p{{N}}])(?:{'|'.join(map(regex.escape, ABBREVIATIONS))}|\p{{Lu}})\.$"
)
IN_QUOTE = regex.compile(r"\p{SB=STerm}\p{SB=Close}+\p{SB=Sp}*$")
LOWER = regex.compile(r"\p{SB=Lower}")
IN_ADDRESS = regex.compile(r"(?<=[?!])(?:[a-z0-9]|[A-Za-z0-9_]{0,16}=)")
BEFORE_IMAGE = regex.compile(r"(?<![^\p{SB=Sp}\p{SB=Sep}\p{SB=CR}\p{SB=LF}\p{Ps}\p{Pi}])!(?=\[)")
MARKUP = regex.compile(
    r"(?<![\p{SB=Sp}\p{SB=Sep}\p{SB=CR}\p{SB=LF}])(?:[*_~`]|\[\^?[A-Za-z0-9_]*\]|(?![\p{Ps}\p{Pi}])\p{SB=Close})+"
)
BLANKS = regex.compile(r"\p{SB=Sp}*")
ANY_BLANK = regex.compile(r"[\p{SB=Sp}\p{SB=Sep}\p{SB=CR}\p{SB=LF}]")
GOES_ON = regex.compile(r"[\p{SB=Lower}\p{SB=Sep}\p{SB=CR}\p{SB=LF}]|\Z")


@cache
def opening() -> frozenset[int]:
    """Brackets and quotes that open."""
    both = [find_property(name) for name in ("Ps", "Pi")]
    return frozenset(p for chars in both for r in chars.ranges() for p in range(*r))  # type: ignore[union-attr]


def unwrapped(text: str, start: int, first: int, end: int) -> str:
    """text[first:end], with blanks for line ends that only wrap."""
    characters = [*text[first:end]]
    for match in LINE_END.finditer(text, first, end):
        if match.end() < end and is_wrapped(text, start, match.end()):
            for place in range(*match.span()):
                characters[place - first] = " "
    return "".join(characters)


def after_markup(part: str, place: int) -> int:
    """Where a sentence ends after what closes; -1: it goes on."""
    markup = MARKUP.match(part, place, place + 32)
    if not markup or (markup.end() < len(part) and not ANY_BLANK.match(part, markup.end())):
        return place
    blanks = BLANKS.match(part, markup.end())
    assert blanks
    return -len(part) - 1 if GOES_ON.match(part, blanks.end()) else blanks.end()


def sentences(text: str, start: int, first: int, until: int) -> list[int]:
    """Where sentences end in text[first:until], of a chunk that begins at `start`."""
    part = unwrapped(text, start, first, min(len(text), until + 64))
    found = set()
    for length in accumulate(map(len, SentenceBreaker(part, "en"))):
        while length and ord(part[length - 1]) in opening():
            length -= 1
        place = first + length
        near = text[max(start, place - 16) : place]
        goes_on = (
            (LOWER.match(part, length) and IN_QUOTE.search(part[max(0, length - 16) : length]))
            or IN_ADDRESS.match(part, length)
            or BEFORE_IMAGE.match(part, length - 1)
        )
        is_end = length and not NO_END.search(near.rstrip()) and not goes_on
        place = first + after_markup(part, length)
        is_end = is_end and first < place <= until
        if is_end and keep_graphemes(text, first, (place,)):
            found.add(place)
    return sorted(found)


def last_sentence(text: str, start: int, after: int, until: int) -> int:
    width, searched = 200, until + 1
    while True:
        begin = until - width if until - width - start >= width else start
        found = sentences(text, start, max(start, begin - 64), until)
        found = [place for place in found if max(begin, after) < place < searched]
        if found or begin <= after:
            return found[-1] if found else -1
        searched = begin + 1
        width *= 4


def check(text: str, start: int, after: int, until: int) -> None:
    every = sentences(text, start, max(start, after - 200), until)
    expected = [place for place in every if place > after]
    assert find_breaks(text, SENTENCE, start, after, until) == expected
    last = find_last_break(text, SENTENCE, start, after, until)
    assert last == last_sentence(text, start, after, until)


@pytest.mark.parametrize("text", NAMED_TEXTS.values(), ids=NAMED_TEXTS)
def test_sentences_of_hard_texts(text: str) -> None:
    text = text[:1_000]
    check(text, 0, 0, len(text))
    for until in range(1, len(text), 29):
        check(text, max(0, until - 700), max(0, until - 650), until)


def test_sentences_of_corpora(corpus: str) -> None:
    for start in range(0, len(corpus) - 3_000, 99_991):
        check(corpus, start, start + start % 900, start + 1_000 + start % 2_000)


SIGNS = "aBcZ1.?!)(\"'“”«»,;:-—…。！「」日éÉǅªاก한٣😀𝒜_  "
STRINGS = [
    "\r\n",
    "\u00a0",
    "\u0301",
    "\u200d",
    "\u00ad",
    "\ufeff",
    "Mr",
    "e.g",
    "z.B",
    "x" * 49,
    "é" * 50,
    " " * 17,
    "**",
    "`",
    "~~",
    "[1]",
    "[^note]",
    "![",
    "?q=",
    "!Ab_1=",
    "?aB",
]
parts = st.sampled_from([*SIGNS, *LINE_ENDS, *STRINGS])


@settings(max_examples=600)
@given(
    st.one_of(
        st.lists(parts, max_size=60),
        st.lists(parts, max_size=5).flatmap(lambda few: st.lists(st.sampled_from(few or ["."]))),
    ),
    st.lists(st.integers(0, 400), min_size=3, max_size=3),
)
def test_sentences_of_any_text(parts: list[str], places: list[int]) -> None:
    text = "".join(parts)
    start, after, until = sorted(min(place, len(text)) for place in places)
    check(text, start, after, until)
    check(text, 0, 0, len(text))


@pytest.mark.exhaustive
def test_sentences_around_each_character() -> None:
    """Each where the rules look: before and after a full stop, blanks, and letters."""
    assigned = find_property("Assigned")
    assert assigned is not None
    for point in (point for start, end in assigned.ranges() for point in range(start, end)):
        if 0xD800 <= point < 0xE000 or point == 0x295:  # of another class in Unicode 17
            continue
        sign = chr(point)
        text = f"x. {sign} y. {sign} Y.{sign}Y.{sign}y {sign}.Y? {sign} y {sign}. B{sign}"
        expected = sentences(text, 0, 0, len(text))
        assert find_breaks(text, SENTENCE, 0, 0, len(text)) == expected, hex(point)


def test_a_sentence_goes_on_after_a_quoted_question() -> None:
    parts = [
        '"Why?" asked Tom. ',
        "“No!” said I (really?) and left. ",
        '"Why?" ',
        "Tom left. ",
        "Why? ",
        "no! ",
        "End.",
    ]
    text = "".join(parts)
    ends = find_breaks(text, SENTENCE, 0, 0, len(text))
    assert [text[start:end] for start, end in pairwise([0, *ends])] == parts


def ends_of(text: str) -> list[str]:
    ends = find_breaks(text, SENTENCE, 0, 0, len(text))
    return [text[start:end] for start, end in pairwise([0, *ends])]


@pytest.mark.parametrize(
    "sentence",
    [
        "See https://a.org/?q=saw&n=1 and https://a.org/?ID=3#x for more. ",
        "If a!=b, or a != b, go on. ",
        "A picture ![of a saw](saw.png) is here. ",
        "A badge [![of a saw](saw.png)](saw) is here. ",
        "**Note.** ",
        "_Really!_  ",
        "***Why?*** ",
        "`Why?` ",
        "~~Old.~~ ",
        "**“Why?”** ",
        "(**Why?**) ",
        "Known since 1920.[1] ",
        "Known since 1920![^note][12] ",
        "**Why?** asked Tom. ",
        "Known?[1] by all. ",
        "**Note.**\n",
        "Known.[1] \n",
    ],
)
def test_a_sentence_has_its_addresses_markup_and_references(sentence: str) -> None:
    assert ends_of(f"One. {sentence}Then.") == ["One. ", sentence, "Then."]
    assert ends_of(f"One. {sentence}") == ["One. ", sentence]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\n\n", "\u2029"])
def test_signs_of_a_list_begin_the_next_sentence(line_end: str) -> None:
    for item in ("* One. ", "* One", "[1] One", "_One_ two."):
        text = f"Why?{line_end}{item}"
        assert find_breaks(text, SENTENCE, 0, 0, len(text))[-2:] == [
            len(text) - len(item),
            len(text),
        ]


def test_what_opens_at_once_begins_the_next_sentence() -> None:
    for following in ("*Then*.", "[a link](to)", "(Then).", "Then."):
        assert ends_of(f"Why?{following}") == ["Why?", following]


def test_a_wrapped_line_of_any_kind_ends_no_sentence() -> None:
    line = "a line of fifty characters and more that wraps here"
    for line_end in ("\n", "\r\n", "\r", "\u2028"):
        text = f"{line}{line_end}and goes on. Next."
        assert find_breaks(text, SENTENCE, 0, 0, len(text)) == [len(text) - 5, len(text)]


@pytest.mark.parametrize("kind", [-1, 6])
def test_other_kinds_are_refused(kind: int) -> None:
    with pytest.raises(ValueError, match=f"there is no kind {kind} of breaks"):
        find_breaks("a", kind, 0, 0, 1)
