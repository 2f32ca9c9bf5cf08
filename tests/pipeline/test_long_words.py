"""Cuts in long words of BPE whose tokens, or texts, say that they end a word, or begin one."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.pipeline import slice_counter
from tests.pipeline import test_word_ends, test_word_starts
from tests.pipeline.ended_characters import KINDS, trained
from tests.pipeline.families import (
    BYTES,
    FAMILIES,
    PREFIX,
    SUFFIX,
    build,
    count_of,
    is_affixed,
    sequence,
    split,
    tokenizers,
)

AFFIXED = [name for name in FAMILIES if is_affixed(name)]
LED = (
    "blanks as letters",
    "blanks as letters, not split",
    "led by a mark",
    "prefix space",
    "stripped",
)
MADE: dict[str, Callable[[], Any]] = {
    **{name: lambda name=name: build(name) for name in LED},
    **{name: lambda name=name: build(name) for name in AFFIXED},
    **{f"{kind} of characters": lambda kind=kind: trained(kind, 1) for kind in KINDS},
}
LETTERS = (
    "ab", "abcdefghijklmnopqrstuvwxyz", "aE\u0301b", "日本ab", "thein", "a!'s ", "e\u0301\u0323",
    "a\u2603\U0001f600\xe9",
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_counter, "_SHORT", 6)


def check_cuts(
    encoding: cutline.Encoding, count: Callable[[str], int], text: str, seed: int
) -> None:
    rng, n = random.Random(seed), len(text)
    counter = encoding.intervals(text)
    for start in {0, *rng.choices(range(n), k=2)}:
        counts = [count(text[start:end]) for end in range(start, n + 1)]
        for budget in {0, 1, 2, *rng.choices(range(n // 2 + 1), k=4)}:
            best = start + max(at for at, tokens in enumerate(counts) if tokens <= budget)
            assert counter.split_at(start, budget) == best, (text, start, budget)
        assert encoding.split_at(text, budget, start) == best


@pytest.mark.parametrize("name", MADE)
def test_cuts_are_the_greatest_that_fit(name: str) -> None:
    tokenizer = MADE[name]()
    encoding, rng = cutline.Encoding.from_tokenizers(tokenizer), random.Random(name)
    for seed in range(24):
        text = "".join(rng.choices(rng.choice(LETTERS), k=rng.randint(10, 60)))
        check_cuts(encoding, count_of(tokenizer), text, seed)


def with_marks_apart() -> Any:
    """CLIP's tokens, and one that is a mark and the end of its word."""
    document = json.loads(build("clip").to_str())
    lead, trail = "\u00cc", f"\u00a3{SUFFIX}"  # U+0323 as ByteLevel writes it
    document["model"]["vocab"][lead + trail] = 1 + max(document["model"]["vocab"].values())
    document["model"]["merges"].append([lead, trail])
    document["added_tokens"] = []
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    tokenizer.pre_tokenizer = sequence(split(r"\p{M}|\p{L}+", "removed", invert=True), BYTES)
    return tokenizer


MARKED = {**MADE, "marks apart": with_marks_apart}


@pytest.mark.parametrize("name", MARKED)
def test_cuts_among_many_marks(name: str) -> None:
    tokenizer, rng = MARKED[name](), random.Random(name)
    tokenizer.normalizer = tokenizers.normalizers.NFC()
    encoding, count = cutline.Encoding.from_tokenizers(tokenizer), count_of(tokenizer)
    for seed, marks in enumerate(("\u0323", "\u0301\u0323", "\u064b\u064c\u0670")):
        n = 250 if name == "marks apart" else 90
        text = f"ab{''.join(rng.choices(marks, k=n))}c"
        check_cuts(encoding, count, text, seed)


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_cuts_with_random_merges(seed: int, at_end: bool) -> None:
    chooser = random.Random(seed)
    if at_end:
        inner, last = ["a", "b"], [f"{one}{test_word_ends.SUFFIX}" for one in "ab"]
        n = chooser.randint(1, 12)
        merges = test_word_ends.drawn_merges(chooser, n, inner, last, longest=1 << 16)
        tokenizer = test_word_ends.made(merges)
    else:
        first, inner = ["a", "b"], [PREFIX + one for one in "ab"]
        merges = test_word_starts.drawn_merges(chooser, 12, first, inner, PREFIX)
        tokenizer = test_word_starts.made(merges)
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
    except VocabularyError:
        return
    for number in range(6):
        text = "".join(chooser.choices("aab", k=chooser.randint(10, 50)))
        check_cuts(encoding, count_of(tokenizer), text, number)


@pytest.mark.parametrize(
    "name",
    [
        "clip",
        "clip, of transformers 5",
        "subwords of words alone",
        "gpt 1 of characters",
        "words of characters",
    ],
)
@pytest.mark.parametrize("letters", ["abcdefghijklmnopqrstuvwxyz", "e\u0301", "日本"])
def test_a_word_of_twenty_thousand_letters(
    name: str, letters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trying all ends of it would take minutes."""
    monkeypatch.undo()
    encoding = cutline.Encoding.from_tokenizers(MADE[name]())
    if len(letters) == 26:
        text = "".join(random.Random(1).choices(letters, k=20_000))
    else:
        text = letters * (20_000 // len(letters))
    text += " and another"
    chunks = cutline.TextChunker(encoding, 77).chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    for chunk in (chunks[0], chunks[-1]):
        assert chunk.token_count == encoding.count(chunk.text) <= 77
    assert encoding.split_at(text, 77) >= chunks[0].end_index


@pytest.mark.parametrize("pattern", ["the cat's on ", "日本", "abcdefgh"])
def test_a_cut_reads_no_more_of_a_text_than_it_must(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading all of it each time would take minutes."""
    monkeypatch.undo()
    encoding = cutline.Encoding.from_tokenizers(build("clip"))
    text = pattern * (2_000_000 // len(pattern))
    for start in range(0, len(text), len(text) // 200):
        end = encoding.split_at(text, 50, start)
        assert encoding.count(text[start:end]) <= 50
        assert end == len(text) or encoding.count(text[start : end + 1]) > 50
