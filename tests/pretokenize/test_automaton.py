"""What the generator promises about its tables, and what it refuses."""

import numpy as np
import pytest

from cutline.errors import PatternError, UnsupportedPatternError
from cutline.pretokenize import Automaton
from cutline.pretokenize.automaton import generate
from cutline.pretokenize.store import SHIPPED_FOLDER, dump, file_name, load
from cutline.vocabulary.openai import PACKAGED_ENCODINGS
from tests.pretokenize.patterns import FALLBACK_PATTERNS, PATTERNS
from tests.pretokenize.runner import Runner

PACKAGED_PATTERNS = sorted({spec.pat_str for spec in PACKAGED_ENCODINGS.values()})


def pieces(pattern: str, text: str) -> list[str]:
    return [text[start:end] for start, end in Runner(generate(pattern)).spans(text)]


@pytest.mark.parametrize("name", PATTERNS)
def test_tables_have_the_promised_form(name: str) -> None:
    automaton = generate(PATTERNS[name])
    stride = automaton.n_classes + 1
    table = automaton.transitions.reshape(-1, stride)
    assert automaton.stride == stride
    assert automaton.ascii_class.shape == (128,)
    assert automaton.block_index.shape == (17_408,)
    assert not table[0].any()
    assert ((table >> 2) % stride == 0).all()
    assert ((table >> 2) // stride < len(table)).all()
    assert ((table & 3) < 3).all()
    assert not ((table[1] & 3) == 2).any()
    assert set((table[:, -1]).tolist()) <= {0, 1}
    runner = Runner(automaton)
    assert [runner.class_of(c) for c in range(128)] == automaton.ascii_class.tolist()
    assert not any(
        array.flags.writeable
        for array in (automaton.transitions, automaton.block_index, automaton.block_class)
    )


@pytest.mark.parametrize("name", ["cl100k", "o200k", "deepseek v3, words"])
def test_a_surrogate_is_in_no_set(name: str) -> None:
    automaton = generate(PATTERNS[name])
    surrogate = Runner(automaton).class_of(0xD800)
    assert not automaton.transitions.reshape(-1, automaton.stride)[1, surrogate]
    assert {Runner(automaton).class_of(c) for c in range(0xD800, 0xE000)} == {surrogate}


def test_sizes_of_the_packaged_automata() -> None:
    sizes = {
        name: (generate(PATTERNS[name]).n_classes, len(generate(PATTERNS[name]).transitions))
        for name in ("r50k, p50k", "cl100k", "o200k")
    }
    assert sizes == {"r50k, p50k": (11, 120), "cl100k": (12, 195), "o200k": (20, 378)}


@pytest.mark.parametrize("pattern", PACKAGED_PATTERNS)
def test_shipped_tables_equal_freshly_generated_ones(pattern: str) -> None:
    shipped = load((SHIPPED_FOLDER / file_name(pattern)).read_bytes(), pattern)
    # Through `dump` again: zlib libraries differ in how they compress the same bytes.
    assert dump(shipped, pattern) == dump(generate(pattern), pattern)


def test_only_packaged_patterns_are_shipped() -> None:
    shipped = {path.name for path in SHIPPED_FOLDER.glob("*.automaton")}
    assert shipped == {file_name(pattern) for pattern in PACKAGED_PATTERNS}


@pytest.mark.parametrize("name", PATTERNS)
def test_generating_twice_gives_equal_tables(name: str) -> None:
    assert dump(generate(PATTERNS[name]), "") == dump(generate(PATTERNS[name]), "")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        # the first alternative wins, not the longest
        ("a|ab", "ab", ["a"]),
        ("ab|a", "ab", ["ab"]),
        ("(?:a|ab)(?:c|bcd)", "abcd", ["abcd"]),
        ("(?:ab|a)(?:bcd|c)", "abcd", ["abc"]),
        # a longer alternative that fails in the end gives way to what matched before
        ("ab*c|[ab]", "abbbd", ["a", "b", "b", "b"]),
        ("ab*c|[ab]", "abbbc", ["abbbc"]),
        # repetition counts
        ("a{2}", "aaaaa", ["aa", "aa"]),
        ("a{2,}", "aaaaa", ["aaaaa"]),
        ("a{,2}b", "aaab", ["aab"]),
        ("a{1,3}", "aaaaa", ["aaa", "aa"]),
        ("(?:ab?){2,3}", "aabababa", ["aabab", "aba"]),
        ("a{x", "a{x", ["a{x"]),
        # end of the text
        ("a$|a", "aa", ["a", "a"]),
        ("aa$|a|b", "aab", ["a", "a", "b"]),
        ("a$", "a\n", []),
        (r"a\n$", "a\n", ["a\n"]),
        # one character of look-ahead
        (r"\s+(?!\S)|\s|\S", "   a", ["  ", " ", "a"]),
        ("a(?=b)|.", "abac", ["a", "b", "a", "c"]),
        ("a+(?=b)", "aab", ["aa"]),
        ("a+(?![ab])|b", "aab", ["b"]),
        ("ab?(?!b)|.", "abb", ["a", "b", "b"]),
        ("ab?(?!b)|b", "abb", ["b", "b"]),
        # what no alternative matches is skipped
        (r"\p{L}+", "ab, cd", ["ab", "cd"]),
        # flags
        ("(?i)'S", "'s'S'\u017f", ["'s", "'S", "'\u017f"]),
        ("(?i:k)k", "Kk\u212akkK", ["Kk", "\u212ak"]),
        ("(?i:a(?-i:b))", "AbAB", ["Ab"]),
        ("(?s).|x", "\n", ["\n"]),
        (".", "\n\r\u2028", ["\r", "\u2028"]),
        # classes
        (r"[]a]+", "]a[", ["]a"]),
        (r"[^]a]+", "]b", ["b"]),
        (r"[a\-z]+", "a-z", ["a-z"]),
        (r"[-a]+", "-a", ["-a"]),
        (r"[a-]+", "-a", ["-a"]),
        (r"[a-c&&[^b]]+", "abc", ["a", "c"]),
        (r"[a-e--[b-c]--d]+", "abcdea", ["a", "ea"]),
        (r"[^a-c&&b-z]+", "abcdb", ["a", "d"]),  # all but the intersection, b and c
        (r"[a[b-c]&&b]+", "abc", ["b"]),
        (r"[\p{L}\d&&\p{ASCII}]+", "é1a", ["1a"]),
        (r"\pL\PL\p{^L}", "a1,", ["a1,"]),
        (r"\x41\x{42}\u0043\U00000044\u{45}\n\0\.\ ", "ABCDE\n\0. ", ["ABCDE\n\0. "]),
        (r"(?P<x>a)(?<y>b)(c)", "abc", ["abc"]),
    ],
)
def test_semantics_are_those_of_a_backtracking_engine(
    pattern: str, text: str, expected: list[str]
) -> None:
    assert pieces(pattern, text) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"\p{L}++|.",
        r"a?+b|.",
        r"\s++$|.",
        r"\d++(?!\d)|.",
        r"\p{N}{1,3}+|.",
        r"\p{N}{1,3}+a|.",
        "(?>ab|a)|.",
        "(?>a+)b|.",
        "(?:ab|a)++|.",
        "a{3}+a|.",
        "a++b*+c?+|.",
    ],
)
def test_possessive_quantifiers_that_equal_greedy_ones_compile(pattern: str) -> None:
    assert generate(pattern).has_gaps is True  # a newline


@pytest.mark.parametrize("pattern", ["a++a", r"\s++(?!\S)", "a*+[ab]", "(?>a|ab)c", "(?:ab|a)++b"])
def test_possessive_quantifiers_that_differ_from_greedy_ones_are_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError, match="differs from the greedy form at position 0"):
        generate(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(?<=a)b", r"look-behind '\(\?<=' at position 0 of split pattern '\(\?<=a\)b'"),
        ("a(?<!a)b", r"look-behind '\(\?<!' at position 1"),
        ("^a", r"anchor '\^' at position 0"),
        (r"a\b", r"escape '\\b' at position 1"),
        (r"\Ba", r"escape '\\B' at position 0"),
        (r"a\z", r"escape '\\z' at position 1"),
        (r"\Aa", r"escape '\\A' at position 0"),
        (r"(a)\1", r"escape '\\1' at position 3"),
        (r"(?P<x>a)(?P=x)", "back-reference"),
        ("ab*?", r"lazy quantifier '\*\?' at position 2"),
        ("ab{1,2}?", r"lazy quantifier '\{1,2\}\?' at position 2"),
        ("a(?=bc)", r"look-ahead '\(\?=' at more than one character at position 1"),
        ("a(?!b)c", "a look-ahead or '\\$' that something follows at position 1"),
        ("(?:a(?!b))+", "a look-ahead or '\\$' that something follows at position 4"),
        ("a$b", "that something follows at position 1"),
        ("a(?!b)*", "a repeated look-ahead at position 1"),
        ("a*", "can match the empty string"),
        ("a|", "can match the empty string"),
        ("$|a", "can match the empty string"),
        (r"(?!\S)|a", "can match the empty string"),
        ("", "can match the empty string"),
        ("b(?:a?)*", "an endless repetition of the empty string at position 1"),
        ("a(?i)b", "flags after the start at position 1"),
        ("(?x)a b", "flag 'x' at position 0"),
        ("(?m)a$", "flag 'm' at position 0"),
        (r"\p{Klingon}", "unknown property 'Klingon' at position 0"),
        ("[[:alpha:]]", r"'\[:' in a class at position 1"),
        ("[a~~b]", "'~~' in a class at position 2"),
        (r"[\w-z]", "a range to or from a set at position 1"),
        (r"\h", r"escape '\\h' at position 0"),
        ("(?(1)a)", "condition"),
        (r"[^\s\S]", "matches no text at all"),
        ("(" * 60 + "a" + ")" * 60, "a group nested too deeply at position 50"),
        ("[" * 60 + "a" + "]" * 60, "a class nested too deeply at position 51"),
        ("(?:a{100}){300}", "more than 20000 automaton nodes"),
        ("(?:[ab]*a[ab]{12})c", "more than 4000 automaton states"),
        ("|".join(map(chr, range(0x4E00, 0x4F00))), "distinguishes 258 classes of characters"),
    ],
)
def test_what_is_outside_the_subset_is_refused_by_name(pattern: str, message: str) -> None:
    with pytest.raises(UnsupportedPatternError, match=message):
        generate(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a)", r"unmatched '\)' at position 1 of split pattern 'a\)'"),
        ("(a", r"group '\(' is not closed, opened at position 0"),
        ("[a", r"class '\[' is not closed, opened at position 0"),
        ("[a&&", "is not closed, opened at position 0"),
        ("*a", "nothing to repeat at position 0"),
        ("a|+", "nothing to repeat at position 2"),
        ("a**", "multiple repeat at position 2"),
        ("a{" + "9" * 5000 + "}", "a repetition count far too large at position 1"),
        ("a{3,2}", r"repetition '\{3,2\}' is reversed at position 1"),
        ("[z-a]", "reversed range 'z' to 'a' at position 1"),
        ("a\\", "a backslash ends the pattern at position 1"),
        (r"\x4", "expected 2 hexadecimal digits"),
        (r"\u12", "expected 4 hexadecimal digits"),
        (r"\uD800", r"U\+D800 is not a Unicode scalar value at position 0"),
        (r"\x{110000}", r"U\+110000 is not a Unicode scalar value"),
        (r"\p{}", "expected a property name"),
        ("(?@a)", r"unknown group '\(\?@' at position 0"),
    ],
)
def test_what_is_no_regular_expression_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(PatternError, match=message) as caught:
        generate(pattern)
    assert not isinstance(caught.value, UnsupportedPatternError)


@pytest.mark.parametrize("name", FALLBACK_PATTERNS)
def test_public_patterns_outside_the_subset_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedPatternError):
        generate(FALLBACK_PATTERNS[name])


@pytest.mark.parametrize(
    ("pattern", "has_gaps"),
    [
        (r"[\s\S]", False),
        (r"\s+|\S", False),
        (r"\s+|\S+$", True),  # a word inside the text is no match
        (r"\s+|\S+$|\S", False),
        ("(?s:a.|.)", False),
        ("(?s:a.)|[^a]", True),  # an "a" at the end
        ("(?s)a(?!b)|[^a]", True),
        (".", True),
        (r"\p{L}+", True),
    ],
)
def test_gaps_are_denied_only_when_proven(pattern: str, has_gaps: bool) -> None:
    assert generate(pattern).has_gaps is has_gaps


def test_equal_patterns_in_other_words_give_equal_tables() -> None:
    first, second = generate(r"(?:[a-c]|\d)+|\s"), generate(r"[\dabc]{1,}|[^\S]")

    def tables(automaton: Automaton) -> list[list[int]]:
        return [automaton.transitions.tolist(), automaton.block_class.tolist()]

    assert tables(first) == tables(second)
    assert np.array_equal(first.block_index, second.block_index)


@pytest.mark.parametrize("pattern", ["(?:){1000000000}a", "(?:(?:){60000}){60000}a"])
def test_repeating_nothing_takes_no_time(pattern: str) -> None:
    assert pieces(pattern, "aa") == ["a", "a"]
