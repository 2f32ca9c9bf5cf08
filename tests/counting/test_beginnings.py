"""A start that is truncated before the whole text has come is that of the whole text."""

import random
from typing import Any

import pytest

from cutline import Encoding, get_encoding, truncate
from cutline.counting import beginnings
from cutline.counting.beginnings import BeginningRead, is_decided
from cutline.counting.limits import Limit, further_limits
from cutline.packing import Boundary
from tests.texts import NAMED_TEXTS, random_texts

BOUNDARIES: tuple[Boundary, ...] = ("character", "grapheme", "word")
# What no boundary of some kind is in for long, beside real texts.
LONG = {
    "lines": "y\n" * 6000,
    "letters": "a" * 12_000,
    "blanks": " " * 12_000,
    "marks": "a" + "\u0301" * 12_000,
    "flags": "🇯🇵" * 6_000,
    "prose": "The quick brown fox jumps over the lazy dog. " * 300,
}


def beginning_of(text: str, limits: list[Limit], step: int) -> str | None:
    """What is read of a text in parts; None: all of it."""
    read = BeginningRead(limits)
    for start in range(0, len(text), step):
        if read.add(text[start : start + step]):
            return read.text
    return None


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("marker", ["", "…", "\u0301", " y"])
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_what_follows_does_not_change_a_decided_start(
    text: str, marker: str, boundary: Boundary
) -> None:
    enc = get_encoding("o200k_base")
    for n in (1, 3, 40, 300):
        begun = beginning_of(text, [Limit(enc, n)], 700)
        if begun is None:
            continue
        if enc.count(marker) > n:
            continue
        expected = truncate(begun, n, marker=marker, boundary=boundary)
        for rest in ("", text, "\u0301" * 50, "x y" * 900):
            whole = begun + rest
            assert truncate(whole, n, marker=marker, boundary=boundary) == expected


def decided_starts_hold(enc: Encoding) -> int:
    """Compare starts of random texts with those of what decides them; how many are decided."""
    n_decided = 0
    for seed in range(3):
        parts = [*random_texts(seed, 150), *(text[:300] for text in NAMED_TEXTS.values())]
        random.Random(seed).shuffle(parts)
        text = " ".join(parts).encode(errors="replace").decode()
        for n, also in ((2, {}), (30, {}), (30, {"bytes": 50}), (4000, {"cl100k_base": 9})):
            limits = [Limit(enc, n), *further_limits(also)]
            if (begun := beginning_of(text, limits, 999)) is None:
                continue
            n_decided += 1
            for boundary in BOUNDARIES:
                options: dict[str, Any] = {"boundary": boundary, "marker": "", "also_fits": also}
                start = truncate(begun, n, encoding=enc, **options)
                assert start == truncate(text, n, encoding=enc, **options)
    return n_decided


@pytest.mark.parametrize("name", ["o200k_base", "gpt2"])
def test_starts_of_random_texts(name: str) -> None:
    assert decided_starts_hold(get_encoding(name)) > 6


def test_starts_by_other_tokenizers() -> None:
    pytest.importorskip("tokenizers", reason="makes the tokenizers of this test")
    from tests.pipeline.families import build

    for name in ("roberta", "stripped", "decomposed", "mistral nemo", "runs of blanks"):
        assert decided_starts_hold(Encoding.from_tokenizers(build(name)))


def test_no_more_is_asked_for_than_a_few_times_what_decides() -> None:
    enc = get_encoding("o200k_base")
    for n in (1, 100, 5000):
        begun = beginning_of("y\n" * 200_000, [Limit(enc, n)], 100)
        assert begun is not None
        assert len(begun) <= 2 * (beginnings._AHEAD + 2 * n + 100)


def test_a_limit_in_bytes_decides_alone() -> None:
    limits = further_limits({"bytes": 10})
    assert is_decided(" " * 4300, limits)
    assert not is_decided(" " * 4190, limits)


def test_what_fits_is_never_decided() -> None:
    enc = get_encoding("o200k_base")
    text = "The quick brown fox. " * 1000
    assert not is_decided(text, [Limit(enc, enc.count(text))])
