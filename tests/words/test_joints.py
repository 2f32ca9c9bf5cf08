"""Long words of Unigram are cut where no token lies across, however many paths are as good."""

import random
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.conftest import short_or_long
from tests.words.configurations import CONFIGURATIONS

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

NAMES = (
    "runs inside words",
    "sentencepiece, of no class, as it is",
    "sentencepiece, of no class, that keeps blanks",
    "metaspace without splits",
    "runs and the end inside words",
    "xlm-r",
)
SCORES = (
    lambda rng: [-1.0, -2.0],
    lambda rng: [-1.5, -3.0, -4.5],
    lambda rng: [-1.0, -1.1, -2.2, -2.1000000000000001, -3.3],
    lambda rng: [-float(one) for one in range(1, 9)],
    lambda rng: [-5 * rng.random() for _ in range(40)],
)


def model_with_ties(rng: random.Random, letters: str) -> Any:
    """A model with few scores, so that many paths have the same sum; some have as many tokens."""
    scores, longest = rng.choice(SCORES)(rng), rng.choice((3, 6))
    tokens = {
        "".join(rng.choices(letters, k=rng.randint(1, longest))) for _ in range(rng.randint(3, 40))
    }
    tokens |= set(letters) if rng.random() < 0.5 else set()
    texts = ["\u2581", *sorted(tokens), *(f"\u2581{one}" for one in sorted(tokens))]
    texts += [f"{one}\u2581" for one in sorted(tokens) if rng.random() < 0.1]
    texts += ["\u2581\u2581"] if rng.random() < 0.2 else []
    rows = [("<unk>", 0.0), *((text, rng.choice(scores)) for text in dict.fromkeys(texts))]
    falls_back = rng.random() < 0.25
    rows += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)] if falls_back else []
    return tokenizers.models.Unigram(rows, 0, falls_back)


def cut_of(count: Any, text: str, start: int, budget: int) -> int:
    """The greatest end that fits."""
    return max(end for end in range(start, len(text) + 1) if count(text[start:end]) <= budget)


@short_or_long("n_models", 6, 60)
@pytest.mark.parametrize("name", NAMES)
def test_slices_among_ties_are_counted_like_texts(name: str, n_models: int, tmp_path: Path) -> None:
    rng, n_joints = random.Random(name), 0
    for _ in range(n_models):
        letters = rng.choice(("ab", "abc", "abcdefgh", "abxyz\n-"))
        oracle = tokenizers.Tokenizer(model_with_ties(rng, letters))
        normalizer, oracle.pre_tokenizer = CONFIGURATIONS[name]()
        if normalizer is not None:
            oracle.normalizer = normalizer
        path = tmp_path / "tokenizer.json"
        path.write_text(oracle.to_str(), encoding="utf-8")
        oracle, encoding = tokenizers.Tokenizer.from_file(str(path)), cutline.load(path)

        def count(text: str, oracle: Any = oracle) -> int:
            return len(oracle.encode(text, add_special_tokens=False).ids)

        letters += rng.choice((" ", "   ", "  q", "\u2581 ", ""))
        text = "".join(rng.choices(letters, k=rng.randint(100, 500)))
        n = len(text)
        assert encoding.encode_ordinary(text) == oracle.encode(text, add_special_tokens=False).ids
        counter: Any = encoding.intervals(text)
        n_joints += counter._kernel.start_from(1) >= 0
        for _ in range(60):
            start, end = sorted(rng.choices(range(n + 1), k=2))
            assert counter.count(start, end) == count(text[start:end]), (text, start, end)
        for budget in (0, 1, 5, 40):
            start = rng.randint(0, n)
            cut = cut_of(count, text, start, budget)
            assert counter.split_at(start, budget) == encoding.split_at(text, budget, start) == cut
        at_end = encoding.appender()
        for end in range(37, n, 37):
            at_end.append(text[end - 37 : end])
            assert at_end.count == count(text[:end])
    assert n_joints
