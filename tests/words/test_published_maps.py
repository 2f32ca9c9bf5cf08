"""The character maps that sentencepiece itself writes, as XLM-R, T5 and Albert have them."""

import io
import random
from functools import cache
from typing import Any

import pytest

from cutline.formats.sentencepiece_model import _fields
from cutline.words.precompiled import Precompiled
from tests.texts import NAMED_TEXTS
from tests.words.configurations import (
    META,
    RUNS,
    SPLIT,
    rules_of,
    splits,
    steps,
    tokenizers,
    words_of,
)
from tests.words.reference import words
from tests.words.test_char_rules import AWKWARD, SCALARS
from tests.words.test_entangled import check_beginnings

package = pytest.importorskip("sentencepiece", reason="it writes the maps")
norm = tokenizers.normalizers

RULES = ("nmt_nfkc", "nmt_nfkc_cf", "nfkc")
NORMALIZER, MAP = 3, 2
"""Numbers of fields in a ModelProto and a NormalizerSpec."""


@cache
def published_map(rule: str) -> bytes:
    written = io.BytesIO()
    package.SentencePieceTrainer.train(
        sentence_iterator=iter([*map(str, range(200)), "a b c d e f"]),
        model_writer=written,
        vocab_size=40,
        hard_vocab_limit=False,
        normalization_rule_name=rule,
        minloglevel=2,
    )
    (spec,) = (value for number, value in _fields(written.getvalue()) if number == NORMALIZER)
    (found,) = (value for number, value in _fields(spec) if number == MAP)
    assert isinstance(found, bytes)
    return found


def random_texts(seed: str, n: int) -> list[str]:
    rng = random.Random(seed)
    pool = AWKWARD + "\u2075\u00bd\u01c4\u1e9b\u0323\uff76\uff9e\u3132\u315c\u00a8\u00b4 \u1100"
    return ["".join(rng.choices(pool, k=rng.randint(1, 9))) for _ in range(n)]


@pytest.mark.parametrize("rule", RULES)
def test_a_published_map_does_what_it_does_in_tokenizers(rule: str) -> None:
    step, oracle = Precompiled(published_map(rule)), norm.Precompiled(published_map(rule))
    for code_point in SCALARS[::7]:
        for text in (chr(code_point), f"e{chr(code_point)}\u0301"):
            assert step.apply(text) == oracle.normalize_str(text), ascii(text)
    for text in random_texts(rule, 20_000):
        assert step.apply(text) == oracle.normalize_str(text), ascii(text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", RULES)
def test_a_published_map_does_to_each_character_what_it_does_in_tokenizers(rule: str) -> None:
    step, oracle = Precompiled(published_map(rule)), norm.Precompiled(published_map(rule))
    for code_point in SCALARS:
        for context in ("{}", "e{}\u0301", "\r{}\n", "\u0915\u094d{}\u0301"):
            text = context.format(chr(code_point))
            assert step.apply(text) == oracle.normalize_str(text), ascii(text)


def models() -> dict[str, tuple[Any, Any]]:
    found = norm.Precompiled(published_map("nmt_nfkc"))
    quotes = norm.Replace("``", '"'), norm.Replace("''", '"')
    stripped = norm.NFKD(), norm.StripAccents(), norm.Lowercase()
    return {
        "xlm-r": (found, splits(SPLIT, META)),
        "in runs": (steps(found, RUNS), META),
        "t5": (steps(found, norm.Strip(left=False, right=True), RUNS), META),
        "deberta": (steps(norm.Strip(), found, RUNS), META),
        "albert": (steps(*quotes, *stripped, found), splits(SPLIT, META)),
    }


@pytest.mark.parametrize("name", ["xlm-r", "in runs", "t5", "deberta", "albert"])
def test_words_with_a_published_map_are_those_of_tokenizers(name: str) -> None:
    parts = models()[name]
    rules, expected = rules_of(*parts), words_of(*parts)
    named = [text for text in NAMED_TEXTS.values() if text.isascii() or text.isprintable()]
    for text in named + random_texts(name, 4_000):
        assert words(rules, text) == expected(text), ascii(text)


@pytest.mark.parametrize("name", ["xlm-r", "in runs", "t5", "deberta", "albert"])
def test_what_begins_anew_is_normalized_apart_with_a_published_map(name: str) -> None:
    rules = rules_of(*models()[name])
    assert sum(check_beginnings(rules, text) for text in random_texts(name, 2_000)) > 100
