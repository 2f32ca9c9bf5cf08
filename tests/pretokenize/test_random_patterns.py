"""Random patterns of the subset mean what they mean to a backtracking engine.

The oracle is the `regex` module, which has possessive quantifiers, atomic
groups and look-ahead of its own; on this alphabet engines agree on the atoms.
"""

import random

import pytest
import regex

from cutline.errors import UnsupportedPatternError
from cutline.pretokenize import regex_spans
from cutline.pretokenize.automaton import generate
from tests.conftest import exhaustive
from tests.pretokenize.runner import Runner

ATOMS = ["a", "b", "c", "[ab]", "[^a]", r"\d", r"\D", "(?i:a)", "."]
QUANTIFIERS = ["?", "*", "+", "{2}", "{1,2}", "{,2}", "{2,}"]
LETTERS = "abcA1"


def random_pattern(source: random.Random, depth: int = 3) -> str:
    """Return a random pattern: mostly within the subset, often with a possessive quantifier."""
    kind = source.random()
    if depth == 0 or kind < 0.3:
        return source.choice(ATOMS)
    if kind < 0.55:
        return "".join(random_pattern(source, depth - 1) for _ in range(source.randint(2, 3)))
    if kind < 0.7:
        options = [random_pattern(source, depth - 1) for _ in range(source.randint(2, 3))]
        return f"(?:{'|'.join(options)})"
    if kind < 0.75:
        return f"(?>{random_pattern(source, depth - 1)})"
    if kind < 0.8:
        return random_pattern(source, depth - 1) + source.choice(["(?!a)", "(?=b)", "(?!.)", r"\Z"])
    body = random_pattern(source, depth - 1)
    quantifier = source.choice(QUANTIFIERS) + source.choice(["", "", "+"])
    return f"(?:{body}){quantifier}" if source.random() < 0.5 else source.choice(ATOMS) + quantifier


def random_texts(source: random.Random, count: int) -> list[str]:
    return ["".join(source.choices(LETTERS, k=source.randint(1, 9))) for _ in range(count)]


def compare(seed: int, patterns: int) -> tuple[int, int]:
    """Compare on random patterns and texts; return how many compiled, and with how many gaps."""
    source = random.Random(seed)
    compiled = without_gaps = 0
    for _ in range(patterns):
        pattern = "|".join(random_pattern(source) for _ in range(source.randint(1, 3)))
        expression = regex.compile(pattern, regex.V1)
        ours = pattern.replace(r"\Z", "$")
        try:
            automaton = generate(ours)
        except UnsupportedPatternError:
            continue
        compiled += 1
        without_gaps += not automaton.has_gaps
        runner = Runner(automaton)
        for text in random_texts(source, 30):
            expected = [match.span() for match in expression.finditer(text)]
            assert runner.spans(text) == expected, (pattern, text)
            starts, ends = regex_spans(ours, text)
            assert list(zip(starts, ends, strict=True)) == expected, (pattern, text)
            if not automaton.has_gaps:
                assert "".join(text[a:b] for a, b in expected) == text, (pattern, text)
    return compiled, without_gaps


@pytest.mark.parametrize(
    ("seed", "patterns"), [(1, 500), *(exhaustive(seed, 6_000) for seed in range(2, 8))]
)
def test_random_patterns_split_as_the_regex_module(seed: int, patterns: int) -> None:
    compiled, without_gaps = compare(seed, patterns)
    assert compiled > min(patterns * 2 // 5, 1_000)
    assert without_gaps > patterns // 600
