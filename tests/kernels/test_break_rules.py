"""Graphemes and words end where UAX #29 says, in the version of Unicode that is shipped.

The oracle is uniseg, which has the rules and the same version in Python.
"""

import random
from functools import cache

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from uniseg.graphemecluster import grapheme_cluster_boundaries
from uniseg.wordbreak import word_boundaries

from cutline.kernels.breaks.breaks import (
    GRAPHEME,
    WORD,
    find_breaks,
    find_last_break,
    keep_graphemes,
    says_something,
)
from cutline.pretokenize.unicode import find_property
from tests.conftest import short_or_long
from tests.texts import NAMED_TEXTS, random_texts

CLOSING_MARKS = regex.compile("[%…・ー々ゝゞヽヾๆฯໆៗ་༌༔]|\\p{Terminal_Punctuation}")
# Letters for vowels before and after their consonants, in scripts without blanks.
VOWELS_BEFORE = regex.compile("[เ-ไເ-ໄᦵ-ᦷᦺꪵꪶꪹꪻꪼ]")
VOWELS_AFTER = regex.compile("[ะาำๅະາຳຽᦰ-ᦴᦸᦹᦻ-ᧀꪱꪺꪽ]")
REFERENCE = regex.compile(r"&#?[A-Za-z0-9]{1,30};")  # of HTML, to a character
# One of each kind that the rules tell apart, with what they look for around it.
SIGNS = (
    *("\r", "\n", "\x0b", "\u2028", "\x00", "a", "Z", "א", "1", "٣", "_", "'", '"', ".", ",", ":"),
    *(" ", "\u3000", "\u00a0", "\u0301", "\u200d", "\ufe0f", "\u00ad", "\u200c", "\u0903"),
    *(
        "カ",
        "ー",
        "あ",
        "中",
        "ก",
        "ำ",
        "า",
        "ໂ",
        "가",
        "각",
        "\u1100",
        "\u1161",
        "\u11a8",
        "\u0600",
        "क",
    ),
    *("\u094d", "ত", "\u09cd", "\u0bcd", "🇩", "🇪", "👩", "🏿", "❤", "😀", "(", ")", "«", "»", "-"),
    *("&", "#", ";", "&eacute;", "&#233;", "&" + "a" * 30 + ";", "&" + "a" * 31 + ";"),
    *("་", "།", "।", "؟", "።", "ๆ", "ᠵ"),
    *("\u05c9", "\U0001f1e6", "\U000e0061", "𓀀", "ﬁ", "\ufeff"),
)
TEXTS = st.lists(st.sampled_from(SIGNS), max_size=40).map("".join)


@cache
def points(*names: str) -> frozenset[int]:
    """The characters of some categories."""
    found: set[int] = set()
    for name in names:
        chars = find_property(name)
        assert chars is not None
        found.update(point for span in chars.ranges() for point in range(*span))
    return frozenset(found)


def graphemes(text: str, start: int) -> list[int]:
    return [start + place for place in grapheme_cluster_boundaries(text[start:])][1:]


def words(text: str, start: int) -> list[int]:
    whole = {start, *graphemes(text, start)}
    closing = points("Pe", "Pf", "Pd")
    opening = points("Ps", "Pi")
    found = [start + place for place in word_boundaries(text[start:])][1:]
    return [
        place
        for place in found
        if place == len(text)
        or (
            place in whole
            and ord(text[place - 1]) not in opening
            and ord(text[place]) not in closing
            and not CLOSING_MARKS.match(text[place])
            and not VOWELS_BEFORE.match(text[place - 1])
            and not VOWELS_AFTER.match(text[place])
            and not is_beside_reference(text, start, place)
        )
    ]


def is_beside_reference(text: str, start: int, place: int) -> bool:
    """Whether a place is in a character reference, or between one and a letter."""
    return any(
        found.start() < place < found.end()
        or (place == found.start() > start and regex.match(r"[\p{L}\p{N}]", text[place - 1]))
        or (place == found.end() and regex.match(r"[\p{L}\p{N}]", text[place:]))
        for found in REFERENCE.finditer(text, start)
    )


RULES = {GRAPHEME: graphemes, WORD: words}


def check(text: str, start: int, after: int, until: int) -> None:
    for kind, rule in RULES.items():
        want = [place for place in rule(text, start) if after < place <= until]
        assert (text, find_breaks(text, kind, start, after, until)) == (text, want)
        last = find_last_break(text, kind, start, after, until)
        assert last == (want[-1] if want else -1)
    places = range(start, len(text) + 1)
    whole = [start, *graphemes(text, start)] if start < len(text) else [start]
    assert keep_graphemes(text, start, places) == whole


@settings(max_examples=2_000)
@given(TEXTS, st.lists(st.integers(0, 40), min_size=3, max_size=3))
def test_graphemes_and_words_of_any_text(text: str, places: list[int]) -> None:
    start, after, until = sorted(min(place, len(text)) for place in places)
    check(text, start, after, until)
    check(text, 0, 0, len(text))


def test_graphemes_and_words_of_named_and_random_texts() -> None:
    for text in [*NAMED_TEXTS.values(), *random_texts(81, 100)]:
        check(text[:800], 0, 0, min(len(text), 800))
        check(text[:800], min(7, len(text)), min(7, len(text)), min(len(text), 800))


@short_or_long("n_parts", 40, 400)
def test_graphemes_and_words_of_a_corpus(corpus: str, n_parts: int) -> None:
    for start in range(0, len(corpus) - 500, len(corpus) // n_parts):
        part = corpus[start : start + 500]
        check(part, 0, 0, len(part))


def test_runs_that_the_rules_walk_back_through() -> None:
    for unit in ("🇩", "🇩\u0301", "\u200d", "\u0301", "क\u094d", "👩\u200d", "a'", "1,", 'א"'):
        text = f"x{unit * 60}y"
        check(text, 0, 0, len(text))
        check(text, 20, 31, 90)


def around(sign: str) -> str:
    """A text with a character wherever the rules look."""
    return "".join(
        f"{sign}{other}{sign}"
        for other in (
            "a",
            sign,
            "\u0301",
            "\u200d",
            "क",
            "क\u094d",
            "👩",
            "👩\u200d",
            "🇩",
            "1",
            ",",
        )
    ) + "".join(
        f"{sign}{other}" for other in ("\u1100", "\u1161", "\u11a8", "\u0600", "'b", "\r\n")
    )


def assigned() -> list[int]:
    return sorted(points("Assigned") - set(range(0xD800, 0xE000)))


def test_characters_drawn_from_all() -> None:
    for point in random.Random(5).sample(assigned(), 400):
        text = around(chr(point))
        check(text, 0, 0, len(text))


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(16))
def test_every_character_wherever_the_rules_look(part: int) -> None:
    for point in assigned()[part::16]:
        text = around(chr(point))
        check(text, 0, 0, len(text))


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", SIGNS)
def test_every_short_text_of_one_sign_of_each_kind(first: str) -> None:
    for second in SIGNS:
        for third in SIGNS:
            text = first + second + third + first
            check(text, 0, 0, len(text))


def test_what_says_something() -> None:
    assert not says_something("  \n\t-=*#(){}\u3000\u00a0", 0, 99)
    for text in ("a", "1", "中", "é", "😀", "…", "٣"):
        assert says_something(f" - {text} - ", 0, 9)
        assert not says_something(f" - {text} - ", 0, 3)
    with pytest.raises(ValueError, match="0 <= start <= after must hold"):
        says_something("a", 2, 1)
