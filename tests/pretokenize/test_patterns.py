"""The automaton splits as tiktoken and as the `regex` module do."""

import pytest
import regex

from cutline.pretokenize import compile_pattern, regex_spans
from cutline.pretokenize.automaton import generate
from tests.conftest import short_or_long
from tests.pretokenize.alphabets import ITEMS, WHOLE_ALPHABET, run_length_texts, short_texts
from tests.pretokenize.oracles import (
    members_by_tiktoken,
    regex_spans_of,
    texts_split_otherwise,
)
from tests.pretokenize.patterns import FALLBACK_PATTERNS, PATTERNS
from tests.pretokenize.runner import Runner

PACKAGED = ["r50k, p50k", "cl100k", "o200k"]
CLASSES_COMPARED = ["L", "N", "M", "P", "S", "Lu", "Ll", "Lt", "Lm", "Lo", "Han"]


def differing_characters() -> set[str]:
    """Characters of the alphabet that tiktoken and the `regex` module class differently."""
    differing = set()
    for atom in [*(rf"\p{{{name}}}" for name in CLASSES_COMPARED), r"\s", r"\d", r"\w"]:
        by_regex = set(regex.findall(atom, WHOLE_ALPHABET))
        differing |= by_regex ^ members_by_tiktoken(atom, WHOLE_ALPHABET)
    return differing


def assert_equal_everywhere(pattern: str, texts: list[str]) -> None:
    runner = Runner(generate(pattern))
    spans = [runner.spans(text) for text in texts]
    assert texts_split_otherwise(pattern, texts, spans) == []


@short_or_long("count", 400, 20_000)
@pytest.mark.parametrize("name", PATTERNS)
def test_automaton_splits_random_texts_as_tiktoken(name: str, count: int) -> None:
    assert_equal_everywhere(PATTERNS[name], short_texts(1, count))


@pytest.mark.parametrize("name", PATTERNS)
def test_automaton_splits_random_texts_as_the_regex_module(name: str) -> None:
    differing = differing_characters()
    items = [item for item in ITEMS if not differing & set(item)]
    assert len(differing) < 5
    texts = short_texts(2, 400, items) + run_length_texts(3, 3, 1_500, 600, items)
    runner = Runner(generate(PATTERNS[name]))
    expected = regex_spans_of(PATTERNS[name], texts)
    assert [runner.spans(text) for text in texts] == expected


@pytest.mark.parametrize("name", PACKAGED)
def test_automaton_splits_long_runs_as_tiktoken(name: str) -> None:
    assert_equal_everywhere(PATTERNS[name], run_length_texts(4, 12, 3_000, 2_000))


@pytest.mark.parametrize("name", PATTERNS)
def test_automaton_splits_pairs_and_triples_of_characters_as_tiktoken(name: str) -> None:
    pairs = [a + b for a in WHOLE_ALPHABET for b in WHOLE_ALPHABET]
    ends = "a中'\n "
    triples = [a + middle + b for a in ends for middle in " \n'" for b in WHOLE_ALPHABET]
    assert_equal_everywhere(PATTERNS[name], [*pairs[::3], *triples])


@pytest.mark.parametrize("name", PACKAGED)
def test_automaton_splits_corpora_as_tiktoken(name: str, corpus: str) -> None:
    assert_equal_everywhere(PATTERNS[name], [corpus[:40_000], corpus[-40_000:]])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PATTERNS)
def test_every_character_is_classed_as_by_tiktoken(name: str) -> None:
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    chunks = ["".join(characters[i : i + 5_000]) for i in range(0, len(characters), 5_000)]
    assert_equal_everywhere(PATTERNS[name], chunks)


@pytest.mark.parametrize("name", [*PATTERNS, *FALLBACK_PATTERNS])
def test_fallback_splits_random_texts_as_tiktoken(name: str) -> None:
    pattern = (PATTERNS | FALLBACK_PATTERNS)[name]
    texts = short_texts(seed=5, count=150)
    spans = []
    for text in texts:
        starts, ends = regex_spans(pattern, text)
        spans.append(list(zip(starts.tolist(), ends.tolist(), strict=True)))
    assert texts_split_otherwise(pattern, texts, spans) == []


@pytest.mark.parametrize(
    ("name", "has_gaps"),
    [
        ("r50k, p50k", False),
        ("cl100k", False),
        ("o200k", False),
        ("llama 3", False),
        ("kimi k2", False),
        ("gpt2 as released", False),
        ("lines", False),
        ("deepseek v3, words", True),  # control characters
        ("deepseek v3, numbers", True),
        ("bloom", True),
    ],
)
def test_gaps_are_known(name: str, has_gaps: bool) -> None:
    assert compile_pattern(PATTERNS[name]).has_gaps is has_gaps
