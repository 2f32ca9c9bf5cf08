"""Ends that no fitting slice goes beyond, among texts whose pieces are dropped, merged or marked.

And the added tokens that only a slice has, or a longer text: no bound may miss them.
"""

import random
from typing import Any

import pytest

import cutline
from cutline.pipeline import slice_counter
from tests.pipeline.families import build, count_of, tokenizers

FAMILIES = (
    "scripts apart", "words removed", "text merged", "looks behind", "between words", "falcon",
    "groups split again", "as bert splits", "clip", "words led by blanks",
    "subwords", "deepseek llm",
)  # fmt: skip
PARTS = [
    "a", "b", "the", "in", " ", " ", "\n", "e\u0301", "\u0301\u0323", "\u0301", "1", "12", "!",
    "'s", "\u65e5", "\u1100\u1161", "\u0627\u064b", "Ab", "<x>",
]  # fmt: skip


@pytest.fixture(autouse=True)
def long_from_a_few_characters_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_counter, "_SHORT", 6)


def random_text(rng: random.Random) -> str:
    parts = rng.sample(PARTS, rng.randint(1, 5))
    runs = (rng.choice(parts) * rng.choice((1, 1, 1, 2, 9)) for _ in range(rng.randint(3, 40)))
    return "".join(runs)[:80]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_over_a_budget_stays_over_it(family: str) -> None:
    rng, n_found = random.Random(family), 0
    encoding = cutline.Encoding.from_tokenizers(build(family))
    pipeline: Any = encoding._pipeline
    pieces, mark = pipeline.sure_pieces, getattr(pipeline, "mark", str)
    for _ in range(200):
        text, budget = random_text(rng), rng.choice((0, 1, 2, 5, 12))
        end = pieces.end_over(encoding, text, budget)
        if end is None:
            continue
        n_found += 1
        for _ in range(5):
            longer = text[:end] + random_text(rng) * rng.randint(0, 1)
            assert encoding._count_normalized(mark(longer)) > budget, (text, end, longer, budget)
    assert n_found > 40 or family in ("looks behind", "between words")  # of these nothing is sure


@pytest.mark.parametrize("family", FAMILIES)
def test_cuts_are_the_greatest_ends_that_fit(family: str) -> None:
    tokenizer, rng = build(family), random.Random(f"cuts of {family}")
    encoding, count = cutline.Encoding.from_tokenizers(tokenizer), count_of(tokenizer)
    for _ in range(20):
        text = random_text(rng)
        start = rng.choice((0, rng.randrange(len(text))))
        counts = [count(text[start:end]) for end in range(start, len(text) + 1)]
        counter = encoding.intervals(text)
        for budget in {0, 1, *rng.choices(range(1, 30), k=4)}:
            best = start + max(at for at, tokens in enumerate(counts) if tokens <= budget)
            assert counter.split_at(start, budget) == best, (text, start, budget)
        assert encoding.split_at(text, budget, start) == best, (text, start, budget)


Token = tokenizers.AddedToken
RARE = "zqj" * 3  # of which no tokens are made
HIDDEN: dict[str, tuple[str, Any, str]] = {
    "what ends a slice has no mark": (
        "lower case", Token("abcdefghe", normalized=True), "ABCDEFGHE\u0301" + "xy\u0301" * 60,
    ),
    "longer than a window": ("gpt 2", Token(RARE * 9, normalized=False), RARE * 9 + "x" * 90),
    "white space far before a token": (
        "gpt 2", Token("<x>", normalized=False, lstrip=True), "a" + " " * 3_000 + "<x>b",
    ),
    "white space before one that a step makes": (
        "lower case", Token("<x>", normalized=True, lstrip=True), "a" + " " * 3_000 + "<X>b",
    ),
    "a word ends a slice": (
        "qwen 2.5", Token(RARE, normalized=False, single_word=True), f"{RARE}x" * 20,
    ),
    "a word that a step changes": (
        "lower case", Token(RARE.upper(), normalized=False, single_word=True),
        f"{RARE}x".upper() * 20,
    ),
    "a word before a token": (
        "not split", Token("zq", normalized=False, single_word=True), "the!zq" * 30,
    ),
    "a word behind a token": (
        "not split", Token("zq", normalized=False, single_word=True), "thezq!" * 30,
    ),
    "of a letter and marks": (
        "decomposed", Token("e" + "\u0323" * 60, normalized=True), "e" + "\u0323" * 90,
    ),
    "before marks are sorted": (
        "qwen 2.5", Token("\u0323" * 60 + "x", normalized=False), "e" + "\u0323" * 60 + "x" * 30,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_added_tokens_that_only_some_slices_have(name: str) -> None:
    family, token, text = HIDDEN[name]
    tokenizer = build(family)
    tokenizer.add_tokens([token, Token("the", normalized=False)])
    encoding, count = cutline.Encoding.from_tokenizers(tokenizer), count_of(tokenizer)
    counter, best = encoding.intervals(text), len(text)
    for budget in (89, 55, 34, 21, 13, 8, 5, 4, 3, 2, *(1,) * (len(text) < 1_000)):
        while count(text[:best]) > budget:
            best -= 1
        assert counter.split_at(0, budget) == best, budget
        assert encoding.split_at(text, budget) == best, budget
