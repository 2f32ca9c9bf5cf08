"""Cuts of text whose characters are each changed on their own, against `tokenizers`."""

import random
from typing import Any

import pytest

import cutline
from cutline.pipeline import anew_fit, slice_counter
from cutline.pipeline.pipeline import Pipeline
from tests.conftest import short_or_long
from tests.pipeline.families import added, build, normalizers
from tests.pipeline.test_long_words import check_cuts, count_of

FAMILIES = (
    "precompiled", "compatible", "compatible, decomposed", "lower case", "as nmt normalizes",
    "classes replaced", "runs of blanks", "qwen 2.5", "clip", "prefix space", "led by a mark",
    "bytes in the normalizer", "stripped", "as bert splits",
)  # fmt: skip
POOLS = (
    "\uff21\uff22\uff43\u4f60\u597d\uff01",
    "\u3392\ufb01\u2460\u00bdaE",
    "\uff76\uff77\uff78\u4f60!a",
    "\u4f60\u4f60!Hello",
    "\uff54\uff48\uff45 the",
    "\u00e9\u4f60e\u0301a\u00a8",
    "\uac00\uac01\u1100\u1161\U0001f600\u0915a",
    "\u3000\u4f60\u00a0\uff21",
)


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_counter, "_SHORT", 6)
    monkeypatch.setattr(anew_fit, "_WINDOW", 4)
    monkeypatch.setattr(anew_fit, "_CHARACTERS_A_TOKEN", 1)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("family", FAMILIES)
def test_cuts_are_the_greatest_that_fit(family: str, pool: str) -> None:
    tokenizer = build(family)
    encoding, rng = cutline.Encoding.from_tokenizers(tokenizer), random.Random(pool)
    for seed in range(6):
        text = "".join(rng.choices(pool, k=rng.randint(20, 90)))
        check_cuts(encoding, count_of(tokenizer), text, seed)


@short_or_long("n_texts", 20, 60)
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}])
@pytest.mark.parametrize("strips", [False, True])
def test_cuts_among_added_tokens(
    *, normalized: bool, flags: dict[str, bool], strips: bool, n_texts: int
) -> None:
    tokenizer = build("compatible")
    if strips:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), tokenizer.normalizer])
    tokenizer.add_tokens(added("ABcA", "\uff21\uff22", normalized=normalized, **flags))
    encoding, rng = cutline.Encoding.from_tokenizers(tokenizer), random.Random(0)
    for seed in range(n_texts):
        text = "".join(rng.choices("\uff21\uff22\uff43AB\u3000", k=rng.randint(12, 70)))
        parts = [text, "\u4f60" * rng.randint(9, 40), "\u3000" * rng.randint(0, 9), "ABcA" + text]
        check_cuts(encoding, count_of(tokenizer), "".join(parts), seed)


@pytest.mark.parametrize("family", ["precompiled", "compatible", "lower case"])
def test_a_cut_normalizes_little_beyond_it(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    lengths: list[int] = []
    changes = Pipeline.changes_after

    def noted(self: Pipeline, text: str) -> bool:
        lengths.append(len(text))
        return changes(self, text)

    encoding = cutline.Encoding.from_tokenizers(build(family))
    rng = random.Random(family)
    text = "".join(map(chr, rng.choices(range(0xFF21, 0xFF3B), k=60_000)))
    counter = encoding.intervals(text)
    monkeypatch.setattr(Pipeline, "changes_after", noted)
    for start in range(0, 2_000, 100):
        counter.split_at(start, 64)
    assert sum(lengths) < len(text) // 2


def test_a_window_ends_near_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though pieces leave characters out, for which the kernel has no bound."""
    monkeypatch.undo()
    lengths: list[int] = []
    longest_prefix = anew_fit._longest_prefix

    def noted(pipeline: Any, encoder: Any, window: str, n: int, *, is_whole: bool) -> Any:
        lengths.append(len(window))
        return longest_prefix(pipeline, encoder, window, n, is_whole=is_whole)

    monkeypatch.setattr(anew_fit, "_longest_prefix", noted)
    encoding = cutline.Encoding.from_tokenizers(build("as bert splits"))
    text = "\uff21\uff42" * 10_000
    counter = encoding.intervals(text)
    for start in range(0, 2_000, 100):
        counter.split_at(start, 64)
    assert 0 < sum(lengths) <= 20 * 1_024
