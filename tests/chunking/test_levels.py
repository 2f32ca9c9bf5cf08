"""Each level finds the boundaries that a reader would, and the last one wherever it is asked."""

import re
from itertools import accumulate

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.chunking.level_choice import make_levels
from cutline.chunking.levels import (
    BitmapLevel,
    CharacterLevel,
    FunctionLevel,
    GraphemeLevel,
    Level,
    LineLevel,
    ParagraphLevel,
    PatternLevel,
    PhraseLevel,
    SentenceLevel,
    WordLevel,
)


def parts(level: Level, text: str) -> list[str]:
    places = level.every(text, 0, 0, len(text))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True) if a < b]


@pytest.mark.parametrize(
    "expected",
    [
        ["one\n\n", "two\n \t\n\n", "  three\r\n\r\n", "four\nfive"],
        ["\n\n\n", "a"],
        ["a\n"],
    ],
)
def test_paragraphs_end_behind_blank_lines(expected: list[str]) -> None:
    assert parts(ParagraphLevel(), "".join(expected)) == expected


LONG = "a line of fifty characters and more that wraps here"


@pytest.mark.parametrize(
    "expected",
    [
        ["one\n", "two\r\n", "\r\n", "three\r", "four\u2028", "five\x0b", "six\x85", "seven"],
        [f"{LONG}\nbecause it goes on\n", "here"],
        [f"{LONG},\r\nas this does\r\n", "here"],
        [f"{LONG}.\n", "New\n", "here"],
        [f"{LONG}\n", "- an item\n", "\n", "here"],
        [f"{LONG}\n"],
        [f"short\n{LONG}\n"[:6], f"{LONG}\nx"],
    ],
)
def test_lines_end_unless_they_only_wrap(expected: list[str]) -> None:
    assert parts(LineLevel(), "".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["Mr. Smith met Dr. Jones at 5 p.m. ", "He paid $3.50, e.g. in cash. ", "Good!"],
        ["J. R. R. Tolkien wrote it. ", "(Really.) ", '"Did he?" she asked.'],
        ["Das kostet z.B. 3 Euro. ", "Wirklich? ", "Ja."],
        ["これは文です。", "次の文。", "「はい。」と言った。", "「いいえ。」"],
        ["今天天气很好。", "我们去公园吧！", "好吗？", "好。"],
        [f"{LONG}\nand goes on. ", "Next."],
        ["A heading\n", "A sentence. ", "Another"],
        ["نعم. ", "هل هذا صحيح؟ ", "لا."],
        ["😀😀 Hello. ", "(𝒜 second.) ", "👩‍🚀 Goes."],
    ],
)
def test_sentences_end_where_a_reader_says(expected: list[str]) -> None:
    assert parts(SentenceLevel(), "".join(expected)) == expected


def test_no_chunk_begins_with_a_closing_mark_or_ends_with_an_opening_one() -> None:
    text = "Hello, (well-known) “world”! 「日本語」、はい。"
    words = parts(WordLevel(), text)
    assert "".join(words) == text
    assert words[:5] == ["Hello,", " ", "(well-", "known)", " "]
    assert not any(word[0] in ",)”!」、。" or word[-1] in "(“「" for word in words)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "བོད་ཡིག་ནི་གསར་པ་རེད། དེ་ནི་",
            "दिल्ली है। यह शहर है॥",
            "هل هذا، صحيح؟ نعم۔",
            "አዲስ፡አበባ። ናት፣ እንዴት",
        ),
        *("ភាសាខ្មែរ។ ក្មេងៗ ៕", "เด็กๆ กรุงเทพฯ และ", "ເດັກນ້ອຍໆ ແລະ", "ရန်ကုန်၊ မြို့။", "ここゝ人々、"),
    ],
)
def test_no_chunk_begins_with_a_mark_that_ends_or_repeats_a_word(text: str) -> None:
    words = parts(WordLevel(), text)
    assert "".join(words) == text
    assert not any(word[0] in "་།।॥،؟۔፡።፣។៕ៗๆฯໆ၊။ゝ々、" for word in words)


def test_letters_that_are_written_as_character_references_are_parts_of_words() -> None:
    expected = ["caf&eacute;s ", "et ", "th&#233;i&egrave;re, ", "o&ugrave;"]
    text = "".join(expected)
    starts = {0, *accumulate(map(len, expected))}
    for level in (PhraseLevel(), WordLevel()):
        inside = [place for place in level.every(text, 0, 0, len(text)) if place not in starts]
        assert all(text[place] == " " for place in inside)
    # Where each letter is one, as in old Russian pages, a chunk may end between them.
    assert parts(WordLevel(), "&#1057;&#1072;") == ["&#1057;", "&#1072;"]
    assert parts(PhraseLevel(), "a=b&c=d;e=f;g") == ["a=b&c=d;", "e=f;", "g"]


def test_what_stands_before_a_chunk_has_no_say_in_its_graphemes() -> None:
    text = "👨\u200d👩x🇩🇪🇫🇷xक्क्क"
    for start in range(len(text)):
        level, rest = GraphemeLevel(), text[start:]
        moved = [place - start for place in level.every(text, start, start, len(text))]
        assert moved == level.every(rest, 0, 0, len(rest))


NEAR = (ParagraphLevel(), LineLevel(), SentenceLevel(), WordLevel())


@settings(max_examples=200)
@given(
    text=st.text("ab. \n\r,(Z日。", max_size=900),
    places=st.lists(st.integers(0, 900), min_size=3, max_size=3),
)
def test_the_last_boundary_lies_where_it_is_asked_for(text: str, places: list[int]) -> None:
    start, after, until = sorted(min(place, len(text)) for place in places)
    for level in (*NEAR, CharacterLevel()):
        last = level.last(text, start, after, until)
        assert last == -1 or after < last <= until
        between = [*level.every(text, start, after, until)]
        assert between == sorted(set(between))
        assert all(after < place <= until for place in between)
        # Nothing before the start or far behind the end has a say.
        part, moved = text[start : until + 256], (0, after - start, until - start)
        assert level.last(part, *moved) == (last - start if last >= 0 else -1)
        assert [*level.every(part, *moved)] == [place - start for place in between]


@settings(max_examples=100)
@given(st.text("ab \n\r\t", max_size=900), st.integers(0, 900))
def test_near_levels_find_what_a_search_of_all_finds(text: str, until: int) -> None:
    until = min(until, len(text))
    for level in (ParagraphLevel(), LineLevel()):
        every = level.every(text, 0, 0, until)
        assert level.last(text, 0, 0, until) == (every[-1] if every else -1)


def test_patterns_end_at_boundaries_and_lookaheads_begin_there() -> None:
    text = "# One\ntext\n# Two\ntext"
    assert parts(PatternLevel("x", re.compile("(?m)(?=^#)")), text) == [
        "# One\ntext\n",
        "# Two\ntext",
    ]
    assert parts(PatternLevel("x", regex.compile(r"\n")), text) == text.splitlines(keepends=True)


def test_functions_give_offsets_in_any_order() -> None:
    level = FunctionLevel("x", lambda text: (3, 1, 0, 1, len(text)))
    assert parts(level, "abcdef") == ["a", "bc", "def"]
    assert level.last("abcdef", 1, 2, 5) == 4
    with pytest.raises(TypeError, match="level 'y' must give offsets, integers: 'float'"):
        FunctionLevel("y", lambda text: [1.5]).last("abcdef", 0, 0, 6)  # type: ignore
    with pytest.raises(ValueError, match=r"level 'x' gave the offset 9 for a text of 6"):
        FunctionLevel("x", lambda text: [9]).last("abcdef", 0, 0, 6)


def test_marks_are_found_where_they_are() -> None:
    from bitarray import bitarray

    level = BitmapLevel("block", bitarray("0100101"))
    assert level.every("abcdef", 0, 0, 6) == [1, 4, 6]
    assert level.every("abcdef", 0, 1, 5) == [4]
    assert [level.last("abcdef", 0, 1, until) for until in range(1, 7)] == [-1, -1, -1, 4, 4, 6]


def test_levels_are_made_of_names_patterns_and_functions() -> None:
    def marks(text: str) -> list[int]:
        return []

    made = make_levels(["word", re.compile("; "), marks, LineLevel()], "grapheme")
    names = [level.name for level in made]
    assert names == ["word", "; ", "marks", "line", "grapheme", "character"]
    assert [level.name for level in make_levels(["grapheme", "word"], "character")] == [
        "word",
        "character",
    ]


@pytest.mark.parametrize(
    ("levels", "boundary", "error", "message"),
    [
        ("word", "grapheme", TypeError, "levels must be several, got one str, 'word'"),
        (["words"], "grapheme", ValueError, "there is no level 'words': there are 'paragraph'"),
        ([3], "grapheme", TypeError, "a level must be a name, .* got int"),
        ([re.compile(b"x")], "grapheme", TypeError, "must be str, got bytes b'x'"),
        ([], "word", ValueError, "boundary must be 'grapheme' or 'character', got 'word'"),
    ],
)
def test_what_is_no_level_is_refused(
    levels: list[str], boundary: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make_levels(levels, boundary)


def test_words_tear_no_graphemes() -> None:
    for text in ("ᄀᄀᄀ각ᆨᆨ x", "\u0600🇩🇪 x", "각각\u0301 x"):
        graphemes = GraphemeLevel().every(text, 0, 0, len(text))
        assert set(WordLevel().every(text, 0, 0, len(text))) <= set(graphemes)
