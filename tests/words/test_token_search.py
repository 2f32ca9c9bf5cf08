"""Texts with ordinary added tokens, of models that encode words: whole, in slices, and cut.

What `tokenizers` makes of each slice is the oracle.
"""

import random
from itertools import combinations
from typing import Any

import pytest

import cutline
from tests.words.test_encoding import CASES, random_text
from tests.words.tokenizers_of import tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
AddedToken = tokenizers.AddedToken

TOKENS = (
    "<x>", "<Y>", "<b c>", "[e\u0301]", "\u00c9!", "\u4e16", "$$", "<\ufb01>", "\u2581q", "a=", "|",
    "<e\u0302>", "Ab", "\u0130", "#\u1100\u1161", "<z> ", " w", "\U0001f600.", "\u0301", "(c)",
)  # fmt: skip
BESIDE = ("", "", " ", "  ", "a", "e", "\u0301", "\u200b", "\n", "\u0338", "\u1161", ">", "<", ".")


def some_tokens(rng: random.Random) -> list[Any]:
    texts = rng.sample(TOKENS, rng.choice((1, 1, 2, 3)))
    odd = rng.random() < 0.15
    return [
        AddedToken(text, normalized=rng.random() < 0.6, single_word=odd and rng.random() < 0.3)
        for text in texts
    ]


def text_with(rng: random.Random, tokens: list[Any], n: int) -> str:
    parts = []
    for _ in range(rng.randint(1, n)):
        token = rng.choice(tokens).content
        ways = (token, token, token.upper(), token.lower(), token[:-1], token[1:])
        plain = rng.choice(("abc", "e d ", "a.", " ", "5"))
        written = random_text(rng, 4) if rng.random() < 0.4 else plain
        parts += [rng.choice(ways), rng.choice(BESIDE), written, rng.choice(BESIDE)]
    return "".join(rng.sample(parts, len(parts)))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_texts_and_slices(kind: str, name: str) -> None:
    rng = random.Random(f"tokens {kind} {name}")
    for _ in range(3):
        tokenizer, tokens = tokenizer_of(kind, name, rng), some_tokens(rng)
        tokenizer.add_tokens(tokens)
        try:
            encoding = cutline.Encoding.from_tokenizers(tokenizer)
        except cutline.CutlineError:
            continue
        for _ in range(6):
            text = text_with(rng, tokens, 3)[:24]
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            assert encoding.encode_ordinary(text) == ids, (tokens, text)
            assert encoding.count(text) == len(ids), (tokens, text)
            counter, counts = encoding.intervals(text), {}
            for start, end in combinations(range(len(text) + 1), 2):
                want = len(tokenizer.encode(text[start:end], add_special_tokens=False).ids)
                assert counter.count(start, end) == want, (tokens, text, start, end)
                counts[start, end] = want
            for start in range(len(text)):
                for n in (0, 1, 2, 3, 5, 8):
                    ends = range(len(text), start, -1)
                    fits = next((end for end in ends if counts[start, end] <= n), start)
                    assert counter.split_at(start, n) == fits, (tokens, text, start, n)
