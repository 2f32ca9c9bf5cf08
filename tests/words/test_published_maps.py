"""The character maps that sentencepiece itself writes, as XLM-R, T5 and Albert have them."""

import io
import random
from functools import cache
from typing import Any

import pytest

from cutline.formats.sentencepiece_model import _fields
from cutline.words.precompiled import Precompiled
from tests.texts import NAMED_TEXTS
from tests.words.charsmaps import charsmap
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


@pytest.mark.parametrize("rule", [*RULES, "of blanks"])
def test_words_that_come_again_are_mapped_as_in_a_whole_text(rule: str) -> None:
    made = charsmap({" ": "_", " \u0301": "x"}) if rule == "of blanks" else published_map(rule)
    step, oracle = Precompiled(made), norm.Precompiled(made)
    pool = [*random_texts(f"{rule} words", 60), "", "", "\u0301", "\u0301e", "\u200d", "\n", "a\r"]
    pool += ["\u0600", "x\u0600", "e\u0301" * 20]  # the first leads, even a blank
    rng = random.Random(rule)
    for n in (60, 200, 200, 5_000, 20_000):
        words = pool if n % 200 else pool[:-3]
        text = " ".join(rng.choices(words, k=n))
        assert step.apply(text) == oracle.normalize_str(text)


def test_characters_whose_clusters_are_never_looked_up_do_not_interact() -> None:
    """Clusters of six bytes are not: a letter of Hindi and a vowel sign, or a nukta, have six."""
    step = Precompiled(published_map("nmt_nfkc"))
    for pair in ("\u0928\u093f", "\u0928\u093c", "\u30ab\u3099", "\U00011099\U000110ba"):
        assert step.acts_alone(pair)
        assert step.apply(pair) == "".join(map(step.apply, pair))
    for pair in ("e\u0301", "\u0627\u0653", "\uff25\u0301"):
        assert not step.acts_alone(pair)


OPENERS = {1: "e", 2: "\u0435", 3: "\u0915", 4: "\U00011083"}
JOINERS = {2: "\u0301", 3: "\u093c", 4: "\U00011046"}


@pytest.mark.parametrize("n_opener", OPENERS)
@pytest.mark.parametrize("n_joiner", JOINERS)
@pytest.mark.parametrize("is_key", [False, True])
def test_clusters_around_six_bytes(n_opener: int, n_joiner: int, is_key: bool) -> None:
    opener, joiner = OPENERS[n_opener], JOINERS[n_joiner]
    parts = norm.Precompiled(charsmap({opener if is_key else opener + joiner: "z"})), META
    rules, expected = rules_of(*parts), words_of(*parts)
    rng = random.Random(n_opener)
    for _ in range(500):
        text = "".join(
            rng.choices([opener, joiner, "a", " ", "\u0915", "\u0302"], k=rng.randint(1, 8))
        )
        assert words(rules, text) == expected(text), ascii(text)


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
