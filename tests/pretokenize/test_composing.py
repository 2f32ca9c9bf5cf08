"""Splittings that follow each other, against the same ones of `tokenizers`."""

import itertools
import random
from typing import Any

import pytest

from cutline.errors import UnsupportedPatternError
from cutline.formats.huggingface import GPT2_REGEX
from cutline.pretokenize.composing import Matches, compose
from cutline.pretokenize.fallback import regex_spans
from cutline.pretokenize.oniguruma import from_oniguruma
from cutline.pretokenize.store import compile_pattern
from tests.pretokenize.patterns import PATTERNS
from tests.pretokenize.runner import Runner

DIGITS, THREES = r"\p{N}", r"\p{N}{1,3}"
CL100K = PATTERNS["cl100k as released"]

# Patterns in the order of the splittings, each kept with what it leaves.
COMPOSED: dict[str, list[str]] = {
    "starcoder": [DIGITS, GPT2_REGEX],
    "digits together": [r"\p{N}+", GPT2_REGEX],
    "digits in threes": [THREES, GPT2_REGEX],
    "deepseek v3": [
        PATTERNS["deepseek v3, numbers"],
        PATTERNS["deepseek v3, cjk"],
        PATTERNS["deepseek v3, words"],
    ],
    "youtu": [PATTERNS["youtu, cjk"], GPT2_REGEX],
    "lines": [PATTERNS["lines"], CL100K],
    "line ends": [r"[\r\n]", CL100K],
    "bloom": [PATTERNS["bloom"]],
    "bloom, digits": [DIGITS, PATTERNS["bloom"]],
    "letters": [r"\p{L}+"],
    "letters with a blank": [r" ?\p{L}+"],
    "letters with white space": [r"\p{P}", r"\s?\p{L}+"],
    "classes": [r"[a-c]+", r"[b-z]+", r"[^b]+"],
    "threes, then single": [THREES, DIGITS, GPT2_REGEX],
    "sixes, then threes": [r"\p{N}{1,6}", THREES, GPT2_REGEX],
}
ALPHABET = " aA12'sn\n中é.\u0301\t(=ゟ²…、b\u3040\x00"


def texts() -> list[str]:
    numbers = random.Random(61)
    short = ["".join(one) for n in (1, 2) for one in itertools.product(ALPHABET, repeat=n)]
    short += ["".join(one) for one in itertools.product(" a1\n中.", repeat=4)]
    longer = ["".join(numbers.choices(ALPHABET, k=numbers.randint(3, 16))) for _ in range(1_500)]
    return [*short, *longer]


def pieces_of(pre_tokenizer: Any, text: str) -> list[tuple[int, int]]:
    return [place for _, place in pre_tokenizer.pre_tokenize_str(text)]


@pytest.mark.parametrize("name", COMPOSED)
def test_a_composed_pattern_splits_like_its_parts_in_turn(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pre = tokenizers.pre_tokenizers
    in_turn = pre.Sequence(
        [pre.Split(tokenizers.Regex(pattern), "isolated") for pattern in COMPOSED[name]]
    )
    stages = [Matches(from_oniguruma(pattern), keeps_gaps=True) for pattern in COMPOSED[name]]
    pat_str = compose(stages)
    assert pat_str is not None
    automaton = compile_pattern(pat_str)
    assert not automaton.has_gaps
    runner = Runner(automaton)
    for text in texts():
        assert runner.spans(text) == pieces_of(in_turn, text), text
    joined = "".join(texts()[-300:])
    starts, ends = regex_spans(pat_str, joined)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == pieces_of(in_turn, joined)


def test_one_pattern_without_gaps_stays_as_it_is() -> None:
    for pattern in (GPT2_REGEX, PATTERNS["llama 3"], PATTERNS["o200k"]):
        assert compose([Matches(pattern, keeps_gaps=True)]) == pattern
    assert compose([Matches(r"\p{L}+", keeps_gaps=False)]) == r"\p{L}+"
    assert compose([]) is None


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([GPT2_REGEX, r"\p{N}"], "are split again"),
        ([THREES, r"[0-4]", GPT2_REGEX], "groups of up to 3 .* are split again"),
        ([r"\p{N}{1,3}", r"\p{N}{1,2}", GPT2_REGEX], "groups of up to 3 .* are split again"),
        ([THREES, r" ?\p{L}+|1|\s"], "splits groups of up to 3"),
        (["abb"], "leaves gaps"),
        ([r"a b|b"], "leaves gaps"),
        ([r"[b-z]{1,3}", r"[^b]"], "splits groups of up to 3"),
        ([r"\s?\p{L}+", r"\s?\p{P}+", GPT2_REGEX], "are split again"),
    ],
)
def test_what_is_not_known_to_be_one_pattern_is_refused(patterns: list[str], message: str) -> None:
    with pytest.raises(UnsupportedPatternError, match=message):
        compose([Matches(pattern, keeps_gaps=True) for pattern in patterns])
