"""Growing texts that a normalizer changes before BPE: what is settled stays, whatever comes."""

import random
from typing import Any

import pytest

import cutline
from tests.conftest import short_or_long
from tests.grown import check_growth, settle_at_once
from tests.pipeline import test_characters
from tests.pipeline.families import FAMILIES, build, texts_with, tokenizers

POOLS = (
    "abcde",
    "a",
    "ab ",
    " a\n",
    "e\u0301",
    "ae\u0301b \u0302",
    "\u1100\u1161\u11a8\uac00a",
    "\U0001f469\u200d\ufe0fa",
    "\u4e16\u3042\u0301\u2581",
    "\r\n1234",
    "AB\u0130\u03a3",
)


def parts_of(rng: random.Random, texts: list[str], added: list[str]) -> list[str]:
    """Slices of texts and of the texts of added tokens, and random characters."""
    parts = []
    pools = rng.choices(POOLS, k=2)
    for _ in range(rng.randint(8, 25)):
        pool = rng.choice((*pools, *texts, "".join(rng.choices(added, k=3)) if added else "a"))
        start = rng.randrange(len(pool) or 1)
        part = pool[start : start + rng.randint(1, 12)]
        if pool in pools:
            part = "".join(rng.choices(pool, k=rng.randint(1, 6)))
        parts.append(part)
    return parts


def check(oracle: Any, encoding: cutline.Encoding, seed: str, n: int) -> None:
    rng = random.Random(seed)
    oracle.encode_special_tokens = True
    texts = texts_with(oracle, 5, 20)
    added = [one.content for one in oracle.get_added_tokens_decoder().values() if one.content]
    for _ in range(n):
        check_growth(oracle, encoding, rng, parts_of(rng, texts, added))


@pytest.fixture(autouse=True)
def settles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    settle_at_once(monkeypatch)


@short_or_long("n_texts", 10, 30)
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_growing_text_is_counted_like_the_whole(name: str, n_texts: int) -> None:
    oracle = build(name)
    encoding = cutline.Encoding.from_tokenizers(oracle)
    if encoding._changes_texts:
        check(oracle, encoding, name, n_texts)


@short_or_long("n_texts", 10, 30)
@pytest.mark.parametrize("name", test_characters.CONFIGURATIONS)
def test_with_models_over_characters(name: str, n_texts: int) -> None:
    encoding, oracle = test_characters.pair(name)
    check(oracle, encoding, name, n_texts)


def test_a_text_that_is_cut_where_it_was_settled_may_go_on_otherwise() -> None:
    oracle = build("compatible")
    encoding = cutline.Encoding.from_tokenizers(oracle)
    one: Any = encoding.appender("xea")
    assert one.count == len(oracle.encode("xea", add_special_tokens=False).ids)
    assert one._settled[-1][0] == 2
    one.truncate(2)
    for text in ("xe\u0301", "xe\u0301\u0327"):
        one.append(text[-1])
        assert one.count == len(oracle.encode(text, add_special_tokens=False).ids)


def test_a_text_whose_first_characters_vanish_still_gets_its_prefix() -> None:
    oracle = tokenizers.Tokenizer.from_str(test_characters.pair("llama 2")[1].to_str())
    forms = tokenizers.normalizers
    oracle.normalizer = forms.Sequence(
        [forms.Replace("x", ""), forms.Prepend("\u2581"), forms.Replace(" ", "\u2581")]
    )
    one: Any = cutline.Encoding.from_tokenizers(oracle).appender()
    other: Any = cutline.Encoding.from_tokenizers(oracle).prepender()
    for character in "xxxab xx":
        one.append(character)
        assert one.count == len(oracle.encode(one.text, add_special_tokens=False).ids)
    for character in random.Random(1).choices("abcd x", k=300):
        other.prepend(character)
        assert other.count == len(oracle.encode(other.text, add_special_tokens=False).ids)
    assert one._settled[-1][0] > 0 < other._settled[-1][0]
