"""Growing texts that a normalizer changes before BPE: what is settled stays, whatever comes."""

import random
from typing import Any

import pytest

import cutline
from tests.grown import check_growth, settle_at_once
from tests.pipeline import test_characters
from tests.pipeline.families import FAMILIES, build, texts_with

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


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_growing_text_is_counted_like_the_whole(name: str) -> None:
    oracle = build(name)
    encoding = cutline.Encoding.from_tokenizers(oracle)
    if encoding._changes_texts:
        check(oracle, encoding, name, 30)


@pytest.mark.parametrize("name", test_characters.CONFIGURATIONS)
def test_with_models_over_characters(name: str) -> None:
    encoding, oracle = test_characters.pair(name)
    check(oracle, encoding, name, 30)
