"""Patterns written for Oniguruma split there as here, and the other way round."""

import random

import pytest

from cutline.errors import PatternError, UnsupportedPatternError
from cutline.formats.huggingface import GPT2_REGEX
from cutline.pretokenize import compile_pattern, regex_spans
from cutline.pretokenize.atoms import AtomReader
from cutline.pretokenize.oniguruma import _same_properties, from_oniguruma, to_oniguruma
from cutline.vocabulary import CL100K_PAT_STR, O200K_PAT_STR
from tests.pretokenize.patterns import PATTERNS
from tests.texts import NAMED_TEXTS, random_texts

TRANSLATED: dict[str, str] = {
    r"\p{N}{1,3}+": r"(?>\p{N}{1,3})",
    r"x(?:ab|c){2}+d": r"x(?>(?:ab|c){2})d",
    r"[a-c]{2,}+": r"(?>[a-c]{2,})",
    r"a?+b*+c++": r"a?+b*+c++",
    r"\s+$|a": r"\s+\z|a",
    r"(?s:.)|a": r"(?m:.)|a",
    r"(?s)a.|b": r"(?m)a.|b",
    r"(?i-s:a.)": r"(?i-m:a.)",
    r"(a)(?P<x>b)?": r"(?:a)(?:b)?",
    r"'(?i:[sdmt]|ll|ve|re)": r"'(?i:[sdmt]|ll|ve|re)",
    r"(?i:'s|'ll)?": r"(?i:'s|'ll)?",
    r"\pL\p{Script=Han}[\pN\P{sc=Latin}]": r"\p{L}\p{Han}[\p{N}\P{Latin}]",
    r"\x41\u0042[\x43D\U00000044]": r"\x{41}\x{0042}[\x{43}D\x{00000044}]",
    r"a{b}]": r"a\{b\}\]",
    r"[\w-]\w": r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}-]"
    r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]",
    r"\W": r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]",
    r"(?>a|ab)(?!\S)(?=c)": r"(?>a|ab)(?!\S)(?=c)",
    r"[\p{L}&&[^\p{Han}]]": r"[\p{L}&&[^\p{Han}]]",
}

REFUSED: dict[str, str] = {
    r"a|\bb": r"escape '\b' at position 2",
    r"(?<=a)b": "look-behind",
    r"a+?": "lazy quantifier",
    r"[a-z--b]": "a set operation in '[a-z--b]' at position 0",
    r"\p{Emoji}": r"unknown property 'Emoji' at position 0",
    r"\p{isLatin}": r"property '\p{isLatin}' at position 0",
    r"(?i:ss)": "'s' before 's' where case is ignored at position 4",
    r"(?i:(?:s)t)": "'s' before ')' where case is ignored at position 7",
    r"(?i:s{2})": "'s' before '{' where case is ignored at position 4",
    r"(?i:\u00df)": r"'\u00df' where case is ignored",
    r"(?i:\p{Lu})": r"'\p{Lu}' where case is ignored",
    r"(?i:[^a])": "'[^a]' where case is ignored",
    "(?i:é)": "'é' where case is ignored",
}

FROM_ONIGURUMA: dict[str, str] = {
    r"\p{N}{1,3}+": r"(?:\p{N}{1,3})+",
    r"(?>\p{N}{1,3})|a": r"\p{N}{1,3}+|a",
    r"(?>(?:ab|c){2})d": r"(?:ab|c){2}+d",
    r"(?>a{2})+": r"(?>a{2})+",
    r"(?>ba{2})|(?>b|a{2})": r"(?>ba{2})|(?>b|a{2})",
    r"\s++\z": r"\s++$",
    r"\s+$": r"\s+(?![^\n])",
    r"(?m:.)": r"(?s:.)",
    r"\x41\x{E9}\u00e9": r"\x{41}\x{E9}\x{00e9}",
    r"\w+|[^\w\s]": r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]+"
    r"|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\s]",
    r"\W|[\Wa]": r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]"
    r"|[[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]a]",
}

REFUSED_FROM_ONIGURUMA: dict[str, str] = {
    r"^a": "anchor '^' at position 0",
    r"\bthe": r"escape '\b' at position 0",
    r"a\xE9": r"byte '\xE9' at position 1",
    r"\h": r"escape '\h'",
    r"[\b]": r"escape '\b'",
    r"[[:alpha:]]": "'[:' in a class",
    r"(?x: a)": "flag 'x'",
    r"a(?<=b)": "group '(?<'",
    r"(?~a)": "group '(?~'",
    r"\p{Punct}": "property",
}


@pytest.mark.parametrize("pattern", TRANSLATED)
def test_a_pattern_is_written_for_oniguruma(pattern: str) -> None:
    assert to_oniguruma(pattern) == TRANSLATED[pattern]


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_may_mean_something_else_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError) as caught:
        to_oniguruma(pattern)
    assert REFUSED[pattern] in str(caught.value)


@pytest.mark.parametrize("pattern", FROM_ONIGURUMA)
def test_a_pattern_of_onigurumas_is_read(pattern: str) -> None:
    assert from_oniguruma(pattern) == FROM_ONIGURUMA[pattern]


@pytest.mark.parametrize("pattern", [CL100K_PAT_STR, O200K_PAT_STR, r"(?:ab|c{2,}+){2}+|\s+$"])
def test_what_is_written_is_read_back_in_the_same_spelling(pattern: str) -> None:
    assert from_oniguruma(to_oniguruma(pattern)) == pattern


@pytest.mark.parametrize("pattern", REFUSED_FROM_ONIGURUMA)
def test_a_pattern_that_means_something_else_here_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError) as caught:
        from_oniguruma(pattern)
    assert REFUSED_FROM_ONIGURUMA[pattern] in str(caught.value)


@pytest.mark.parametrize("pattern", ["(", "a)", "[a", "*", "a{2}{3}", "\\"])
def test_what_is_no_regular_expression_is_refused(pattern: str) -> None:
    for translate in (to_oniguruma, from_oniguruma):
        with pytest.raises(PatternError):
            translate(pattern)


# The engine itself


def matches_there(pattern: str, text: str) -> list[str]:
    """The matches that the `tokenizers` package finds."""
    tokenizers = pytest.importorskip("tokenizers")
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    return [piece for piece, _ in split.pre_tokenize_str(text)]


def matches_here(pattern: str, text: str) -> list[str]:
    starts, ends = regex_spans(pattern, text)
    return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


TEXTS = [
    *NAMED_TEXTS.values(),
    *random_texts(41, 200),
    "aB AB\n ab  \n",
    "a{b}] 12345 'S 'ſ 'Ll ABCD dddd",
    "abcabccd \r\n\u200c\u200d_\u0663\u2160 ²¼",
    "".join(map(chr, range(0x2FF))),
]
SPLITTING = [pattern for pattern in (*PATTERNS.values(), *TRANSLATED) if "{1}" not in pattern]


@pytest.mark.parametrize("pattern", dict.fromkeys(SPLITTING))
def test_both_engines_find_the_same_matches(pattern: str) -> None:
    try:
        compile_pattern(pattern)
        written = to_oniguruma(pattern)
    except UnsupportedPatternError as error:
        pytest.skip(str(error))
    for text in TEXTS:
        assert matches_there(written, text) == matches_here(pattern, text)


@pytest.mark.parametrize("pattern", [*FROM_ONIGURUMA, *PATTERNS.values(), GPT2_REGEX])
def test_a_pattern_read_from_there_finds_the_same_matches(pattern: str) -> None:
    try:
        read = from_oniguruma(pattern)
    except UnsupportedPatternError as error:
        pytest.skip(str(error))
    for text in TEXTS:
        assert matches_here(read, text) == matches_there(pattern, text)


@pytest.mark.parametrize(
    "atom", [*(rf"\p{{{name}}}" for name in sorted(_same_properties())), r"\s", r"\d", ".", r"\w"]
)
def test_both_engines_have_the_same_classes(atom: str) -> None:
    """Where a class begins and ends, and in a sample of all code points."""
    edges = AtomReader(atom).read_atom().edges.tolist()
    points = {edge + step for edge in edges for step in (-1, 0)}
    points.update(random.Random(5).sample(range(0x110000), 2_000))
    text = "".join(
        chr(point)
        for point in sorted(points)
        if 0 <= point < 0x110000 and not 0xD800 <= point < 0xE000
    )
    assert matches_there(to_oniguruma(atom), text) == matches_here(atom, text)


@pytest.mark.parametrize("atom", [r"\w", r"\W", r"[\w]", r"[^\w]", r"[\W\d]"])
def test_classes_that_mean_something_else_there_are_read(atom: str) -> None:
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    text = "".join(map(chr, points))
    assert matches_there(atom, text) == matches_here(from_oniguruma(atom), text)
