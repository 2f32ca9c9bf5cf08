"""`GrowingCount` counts what encoding the whole text would give, after any change at its end."""

import random

import pytest

from cutline.chat.growing import Cuts, GrowingCount
from tests.chat.made import KINDS, SPECIAL, drawn_text, encoding_of, tokenizer_of


def walk(kind: str, seed: int) -> None:
    rng, encoding, text = random.Random(seed), encoding_of(kind), ""
    growing = GrowingCount(encoding)
    for _ in range(rng.randrange(1, 8)):
        act = rng.random()
        if act < 0.25:
            text = text[: rng.randrange(len(text) + 1)]
            growing.truncate(len(text))
        elif act < 0.4:
            start = text[: rng.randrange(len(text) + 1)]
            text = start + rng.choice(SPECIAL) + drawn_text(rng)
            growing.append(text[growing.keep_common(text) :])
        else:
            more = "".join(drawn_text(rng) + rng.choice(SPECIAL) for _ in range(3))
            more *= 60 if rng.random() < 0.05 else 1
            text += more + (drawn_text(rng) * 900 if rng.random() < 0.1 else "")
            growing.append(text[growing.length :])
        tail = rng.choice(("", drawn_text(rng)))
        expected = tokenizer_of(kind).encode(text + tail, add_special_tokens=False).ids
        assert growing.count_with(tail) == len(expected)
        assert growing.copy().count_with(tail) == len(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_whole_texts(kind: str) -> None:
    for seed in range(100):
        walk(kind, seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_whole_texts_after_many_changes(kind: str) -> None:
    for seed in range(100, 4000):
        walk(kind, seed)


def test_both_searches_find_the_same_tokens() -> None:
    rng = random.Random(1)
    for kind in KINDS:
        cuts = Cuts.of(encoding_of(kind))
        for _ in range(200):
            parts = [drawn_text(rng) + rng.choice(SPECIAL)[: rng.randrange(20)] for _ in range(5)]
            assert [*cuts.find_all("".join(parts))] == [*cuts._find_in_long("".join(parts))]
