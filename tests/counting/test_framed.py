"""Slices with what a template puts around them, against encoding them as one text."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.counting.framed import FramedSlices
from cutline.counting.units import UNITS
from tests.conftest import short_or_long
from tests.oracles import Count, counter, with_count
from tests.pipeline import families
from tests.texts import NAMED_TEXTS, random_text
from tests.vocabularies import SCANS, random_ranks
from tests.wrapping import made

FRAMES = (
    ("", ""),
    ("passage: ", ""),
    ("a", ""),
    ("passage: ", "\n"),
    ("", "."),
    ("", "</d>"),
    ("# Saws > Care\n\n", " "),
    ("<|im_start|>", "<|im_end|>"),
    ("[CLS] don'", "'ll"),
    ("▁\u0301 ", "\u0301"),
    ("  \n", "\n\n  x"),
    ("12", "34"),
    ("日本", "語"),
    ("e", "\u0301e"),
)
LETTERS = st.sampled_from(
    ["one ", "two", ". ", "\n", "\n\n", "日本", "。", "'", "ll", " ", "x" * 9, "12", "é", "<|"]
)


def loaded(tokenizer: Any) -> tuple[Any, Count]:
    tokenizer = families.tokenizers.Tokenizer.from_str(tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    tokenizer.encode_special_tokens = True  # their text is ordinary text
    return encoding, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


KINDS: dict[str, Callable[[], tuple[Any, Count]]] = {
    **{
        name: lambda name=name: (cutline.get_encoding(name), counter(name))  # type: ignore[misc]
        for name in ("o200k_base", "cl100k_base", "r50k_base")
    },
    **{
        name: lambda name=name: loaded(families.build(name))  # type: ignore[misc]
        for name in families.FAMILIES
    },
    **{
        f"words of {name}": lambda name=name: loaded(made.made(name))  # type: ignore[misc]
        for name in ("bert", "bert_as_published", "unigram_of_t5")
    },
    **{
        f"wrapped {name}": lambda name=name: (made.wrapped(name), made.counter(name))  # type: ignore[misc]
        for name in made.KINDS
    },
    "bytes": lambda: (UNITS["bytes"], lambda text: len(text.encode())),
    "characters": lambda: (UNITS["characters"], len),
}


@cache
def measure(kind: str) -> tuple[Any, Count]:
    return KINDS[kind]()


def framed(kind: str, text: str, frame: tuple[str, str]) -> tuple[FramedSlices, Count]:
    of_kind, count = measure(kind)
    slices = FramedSlices(of_kind, of_kind.intervals(text), text)
    slices.before, slices.after = frame
    return slices, lambda part: count(frame[0] + part + frame[1])


def check(kind: str, text: str, frame: tuple[str, str], seed: int) -> None:
    slices, count = framed(kind, text, frame)
    rng = random.Random(seed)
    for _ in range(5):
        start, end = sorted(rng.randint(0, len(text)) for _ in range(2))
        assert slices.count(start, end) == count(text[start:end])
        n = max(0, count(text[start:end]) + rng.randint(-1, 1))
        found = slices.split_at(start, n)
        assert start <= found <= len(text)
        assert found == start or count(text[start:found]) <= n
        if not kind.startswith("wrapped"):
            # With something after it and no safe split point, this is promised of the next ends.
            last = len(text) if not frame[1] else min(len(text), found + 32)
            assert all(count(text[start:e]) > n for e in range(found + 1, last + 1))


@short_or_long("every", 3, 1)
@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_cuts_equal_those_of_the_whole(kind: str, every: int) -> None:
    rng = random.Random(kind)
    texts = [*(text[:200] for text in NAMED_TEXTS.values()), *(random_text(rng) for _ in range(9))]
    for number, text in list(enumerate(texts))[len(kind) % every :: every]:
        check(kind, text[:100], FRAMES[number % len(FRAMES)], number)


@settings(max_examples=300)
@given(
    kind=st.sampled_from(list(KINDS)),
    text=st.lists(LETTERS, max_size=40).map("".join),
    frame=st.sampled_from(FRAMES) | st.tuples(*[st.lists(LETTERS, max_size=3).map("".join)] * 2),
    seed=st.integers(0, 9),
)
def test_any_frame(kind: str, text: str, frame: tuple[str, str], seed: int) -> None:
    check(kind, text, frame, seed)


@settings(max_examples=150)
@given(seed=st.integers(0, 10**6), scan=st.sampled_from(SCANS), frame=st.sampled_from(FRAMES))
def test_any_vocabulary_and_pattern(seed: int, scan: str | None, frame: tuple[str, str]) -> None:
    rng = random.Random(seed)
    encoding, count = with_count(random_ranks(rng, b"ab1 '\n"), scan)
    text = "".join(rng.choices("ab1 '\n", k=60))
    slices = FramedSlices(encoding, encoding.intervals(text), text)
    slices.before, slices.after = frame
    for _ in range(8):
        start, end = sorted(rng.randint(0, len(text)) for _ in range(2))
        assert slices.count(start, end) == count(frame[0] + text[start:end] + frame[1])


@pytest.mark.parametrize("frame", [("passage: ", ""), ("", "\n"), ("a", "a"), ("日", "aa")])
def test_long_runs_are_counted_exactly(frame: tuple[str, str]) -> None:
    text = "a" * 3000
    slices, count = framed("o200k_base", text, frame)
    for start, n in ((0, 5), (7, 64), (1000, 200)):
        end = slices.split_at(start, n)
        assert count(text[start:end]) <= n < count(text[start : end + 1])
        assert slices.count(start, end) == count(text[start:end])
