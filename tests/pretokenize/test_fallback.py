"""The `regex` module splits what no automaton is generated for, with tiktoken's classes."""

import numpy as np
import pytest

from cutline.errors import PatternError, UnsupportedPatternError
from cutline.pretokenize import regex_spans
from tests.pretokenize.alphabets import short_texts
from tests.pretokenize.oracles import texts_split_otherwise

# Constructs outside the automaton's subset; each pattern matches every character.
OTHER_CONSTRUCTS = [
    r"(?<=a)b+|[\s\S]",
    r"(?<!\s)\s|\p{L}+|[\s\S]",
    r"\w+?\b|[\s\S]",
    r"\b\w|\w+|\W",
    r"\Ba|[\s\S]{1,2}",
    r"\s++(?!\S)|\s|\S+",
    r"a++a|\w+|[\s\S]",
    r"(?>'s|'|\p{L}+)s?|[\s\S]",
    r"(?=\p{Lu})\w{1,3}|[\s\S]",
    r"\p{N}{1,3}?(?=(?:\p{N}{3})*(?:\P{N}|$))|[\s\S]",
    r"(?:\p{L}\p{M}*)+(?!\p{L}|\p{M})|[\s\S]",
    r"^\s+|\p{L}+$|[\s\S]",
    r"(?m)^\s*?\S|\p{L}+$|[\s\S]",
    r"\A.|[\s\S]+?(?=\n)|[\s\S]",
    r"\p{L}(?i)[st]+|k|(?-i)s|(?s:.)",
    r"(?i)\p{Lu}+?'S|[^\p{Ll}]|[\s\S]",
    r"[\p{L}&&[^\p{Han}]]+?(?=\s)|[\s\S--a]|a",
    r"(\p{L})(?P<digits>\p{N})*?|[\s\S]",
]


def pieces(pattern: str, text: str) -> list[str]:
    starts, ends = regex_spans(pattern, text)
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("pattern", OTHER_CONSTRUCTS)
def test_other_constructs_split_as_tiktoken(pattern: str) -> None:
    texts = short_texts(seed=6, count=400)
    spans = []
    for text in texts:
        starts, ends = regex_spans(pattern, text)
        spans.append(list(zip(starts.tolist(), ends.tolist(), strict=True)))
    assert texts_split_otherwise(pattern, texts, spans) == []


def test_spans_are_code_point_offsets_in_int64() -> None:
    starts, ends = regex_spans(r"\p{L}+?\b", "é 中文!\U00020000")
    assert starts.dtype == ends.dtype == np.dtype(np.int64)
    assert (starts.tolist(), ends.tolist()) == ([0, 2, 5], [1, 4, 6])


def test_empty_text_and_no_match_give_empty_arrays() -> None:
    for text in ("", "123"):
        starts, ends = regex_spans("a+?", text)
        assert starts.shape == ends.shape == (0,)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("a*", "baac"), ("a*?", "baac"), (r"\b|\w+", "ab cd"), (r".*|\n", "ab\ncd"), ("a*?", "")],
)
def test_empty_matches_are_refused(pattern: str, text: str) -> None:
    # tiktoken's engine and the regex module go on differently after an empty match.
    with pytest.raises(UnsupportedPatternError, match="matches the empty string, at offset"):
        regex_spans(pattern, text)


def test_the_end_is_the_end_of_the_text() -> None:
    assert pieces(r"a$|\n$", "a\n") == ["\n"]
    assert pieces(r"a\z|\n\z", "a\n") == ["\n"]
    assert pieces(r"a\Z", "a\n") == ["a"]
    assert pieces(r"(?m)a$", "a\na") == ["a", "a"]


def test_surrogates_are_in_no_set() -> None:
    assert pieces(r"[\s\S]+?", "a\ud800b") == ["a", "b"]


def test_groups_nest_as_deep_as_in_tiktoken() -> None:
    pattern = "(?:" * 63 + "a" + "|b)" * 63
    starts, ends = regex_spans(pattern, "ab!a")
    assert (starts.tolist(), ends.tolist()) == ([0, 1, 3], [1, 2, 4])
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert texts_split_otherwise(pattern, ["ab!a"], [spans]) == []


def test_a_set_without_members_never_matches() -> None:
    assert pieces(r"[^\s\S]|a+?", "ab") == ["a"]


def test_a_pattern_with_more_classes_than_a_byte_holds_works() -> None:
    pattern = "|".join(chr(point) + "+?" for point in range(0x4E00, 0x4E00 + 300))
    assert pieces(pattern, "一丁 \u4f2b\u4f2c") == ["一", "丁", "\u4f2b"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", r"escape '\\1' at position 3"),
        (r"(?P<x>a)(?P=x)", r"group '\(\?P' at position 8"),
        ("(?x)a b", "flag 'x' at position 0"),
        (r"\X", r"escape '\\X' at position 0"),
        (r"\p{Klingon}", "unknown property"),
        ("(" * 64 + "a" + ")" * 64, "a group nested too deeply at position 63"),
        ("(" * 60 + "a" + "+)" * 60 + "(?<=b)", "a repetition nested too deeply at position 77"),
        ("(?:" * 5_000 + "a" + ")" * 5_000, "a group nested too deeply at position 189"),
    ],
)
def test_what_no_engine_here_supports_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(UnsupportedPatternError, match=message):
        regex_spans(pattern, "")


@pytest.mark.parametrize("pattern", ["(a", "a)", "*a", "[a", "a**", "(?<=a"])
def test_what_is_no_regular_expression_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError) as caught:
        regex_spans(pattern, "")
    assert not isinstance(caught.value, UnsupportedPatternError)
