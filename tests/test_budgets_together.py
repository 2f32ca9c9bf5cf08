"""Truncating, packing and verifying within several limits, counted by other encoders."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.counting.limits import further_limits
from cutline.counting.truncating import LOOK_AHEAD
from cutline.counting.truncating import truncate as truncate_with_spans
from cutline.errors import BudgetError
from cutline.packing import Item, Keep, pack, truncate
from cutline.verification import verify
from tests.oracles import Count, counter, real_tiktoken
from tests.test_budget import BOUNDARIES, KEEPS, MARKERS, assert_packed, head_and_tail
from tests.texts import NAMED_TEXTS, random_text, run_length_text
from tests.wrapping import made

OWN = counter("o200k_base")


def utf8_bytes(text: str) -> int:
    return len(text.encode())


def others() -> list[tuple[Any, Count]]:
    return [
        ("cl100k_base", counter("cl100k_base")),
        ("r50k_base", counter("r50k_base")),
        (made.wrapped("bert"), made.counter("bert")),
        ("bytes", utf8_bytes),
        ("characters", len),
    ]


def check_truncated(
    text: str, n: int, limits: list[tuple[Any, Count, int]], keep: Keep, marker: str
) -> None:
    """The result fits everything, and could not be longer."""

    def fits(one: str) -> bool:
        return OWN(one) <= n and all(count(one) <= most for _, count, most in limits)

    also = {key: most for key, _, most in limits}
    if fits(text):
        assert truncate(text, n, keep, marker, also_fits=also) == text
        return
    if not fits(marker):
        with pytest.raises(BudgetError, match="alone has"):
            truncate(text, n, keep, marker, also_fits=also)
        return
    enc = cutline.get_encoding("o200k_base")
    result, kept = truncate_with_spans(
        enc, text, n, keep, marker, "character", further_limits(also)
    )
    assert result == truncate(text, n, keep, marker, also_fits=also)
    assert result == enc.truncate(text, n, keep, marker, also_fits=also)
    assert fits(result)
    head, tail = head_and_tail(text, keep, kept)
    assert result == text[:head] + marker + text[tail:]
    look_ahead = LOOK_AHEAD if keep != "both" else 1
    for more in range(1, min(look_ahead, tail - head - 1) + 1):
        longer = text[: head + more * (keep == "start")] + marker
        assert not fits(longer + text[tail - more * (keep != "start") :])


@pytest.mark.parametrize("keep", KEEPS)
@settings(max_examples=150)
@given(st.integers(0, 2**32), st.integers(0, 40), st.sampled_from(MARKERS))
def test_truncated_texts_fit_all_limits_and_could_not_be_longer(
    keep: Keep, seed: int, n: int, marker: str
) -> None:
    rng = random.Random(seed)
    text = rng.choice((random_text(rng), rng.choice([*NAMED_TEXTS.values()])[:200]))
    chosen = rng.sample(others(), rng.choice((1, 2)))
    limits = [(key, count, rng.randint(0, 40)) for key, count in chosen]
    check_truncated(text, n, limits, keep, marker)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_every_boundary_keeps_all_limits(boundary: Any) -> None:
    for text in NAMED_TEXTS.values():
        for keep in KEEPS:
            cut = truncate(
                text, 30, keep, boundary=boundary, also_fits={"r50k_base": 17, "bytes": 40}
            )
            assert (counter("r50k_base")(cut) <= 17, utf8_bytes(cut) <= 40) == (True, True)


def test_wrapped_tokenizers_truncate_within_other_limits() -> None:
    cut = made.wrapped("bert").truncate("The words of a story. " * 9, 30, also_fits={"gpt2": 8})
    assert cut.endswith("…")
    assert counter("r50k_base")(cut) == 8


def test_a_marker_over_another_limit_is_named_with_it() -> None:
    with pytest.raises(BudgetError) as caught:
        truncate("one two three", 8, also_fits={"bytes": 2})
    assert str(caught.value) == (
        "the marker '…' alone has 3 bytes, more than the 2 of also_fits: use a shorter one, or "
        "an empty one"
    )
    assert truncate("one two three", 8, marker="", also_fits={"gpt2": 0}) == ""


@pytest.mark.parametrize("separator", ["\n\n", "", None])
@settings(max_examples=120)
@given(st.integers(0, 2**32), st.integers(0, 300))
def test_packed_texts_fit_all_limits(separator: str | None, seed: int, n: int) -> None:
    rng = random.Random(seed)
    items = [
        Item(
            rng.choice((run_length_text(rng, 300), random_text(rng))), rng.random(),
            rng.choice((None, 1, 10)), rng.choice((0, 3)), rng.choice(KEEPS),
        )
        for _ in range(rng.randint(0, 7))
    ]  # fmt: skip
    chosen = rng.sample(others(), rng.choice((1, 2)))
    limits = [(key, count, rng.randint(0, 300)) for key, count in chosen]
    also = {key: most for key, _, most in limits}
    packed = pack(items, n, separator=separator, also_fits=also)
    assert_packed(OWN, items, packed, n, separator)
    for _, count, most in limits:
        texts = [packed.text]
        if separator is None:
            texts = [one.text for one in packed.items]
        assert sum(map(count, texts)) <= most
    # What is never reached changes nothing.
    wide = dict.fromkeys(also, 10**6)
    assert pack(items, n, separator=separator, also_fits=wide) == pack(
        items, n, separator=separator
    )


def test_short_items_are_placed_as_if_each_was_tried() -> None:
    rng = random.Random(8)
    for _ in range(150):
        items = [Item(random_text(rng)[:20], rng.randrange(3)) for _ in range(rng.randint(0, 6))]
        n, most, most_bytes = rng.randint(0, 50), rng.randint(0, 50), rng.randint(0, 150)
        packed = pack(items, n, also_fits={"r50k_base": most, "bytes": most_bytes})
        places: list[int] = []
        for place in sorted(range(len(items)), key=lambda at: (-items[at].priority, at)):
            joined = "\n\n".join(items[at].text for at in sorted([*places, place]))
            counts = OWN(joined), counter("r50k_base")(joined), utf8_bytes(joined)
            if counts[0] <= n and counts[1] <= most and counts[2] <= most_bytes:
                places.append(place)
        assert [one.status == "whole" for one in packed.items] == [
            place in places for place in range(len(items))
        ]


def test_what_is_over_another_limit_is_a_finding() -> None:
    text = "naïve façade. " * 20
    chunks = cutline.get_encoding("o200k_base").split(text, 30)
    limits = {"r50k_base": 60, "bytes": 90, made.wrapped("bert"): 1000}
    report = verify(text, chunks, chunk_size=30, also_fits=limits)
    counts = [counter("r50k_base")(chunk.text) for chunk in chunks]
    sizes = [utf8_bytes(chunk.text) for chunk in chunks]
    over = [(n, "over budget") for n, size in enumerate(sizes) if size > 90]
    assert over
    assert [(found.chunk, found.kind) for found in report.findings] == over
    assert report.findings[0].message.startswith(f"{sizes[0]} bytes, over the 90 of also_fits: 'na")
    tokens, of_bytes, _ = report.also_fits
    assert (tokens.unit, tokens.limit) == ("tokens of 'r50k_base'", 60)
    assert (tokens.largest, of_bytes.largest) == (max(counts), max(sizes))
    assert tokens.mean_fill == pytest.approx(sum(counts) / len(counts) / 60)
    assert "largest chunk" in str(tokens)
    assert str(tokens) in str(report)
    exact = cutline.TokenChunker("o200k_base", 30, also_fits=limits)(text)
    assert verify(text, exact, chunk_size=30, also_fits=limits)
    assert verify("", [], chunk_size=4, also_fits=limits).also_fits[0].largest == 0


def test_any_tokenizer_verifies_a_limit() -> None:
    def letters(text: str) -> int:
        return len(text)

    kinds: list[tuple[Any, str]] = [
        (real_tiktoken("r50k_base"), "tokens of 'r50k_base'"),
        (letters, "tokens of 'letters'"),
        (made.made("bert"), "tokens of 'Tokenizer'"),
    ]
    for key, unit in kinds:
        report = verify("one two", ["one two"], chunk_size=9, also_fits={key: 1})
        assert (report.also_fits[0].unit, report.ok) == (unit, False)


BAD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a list": (lambda: verify("a", [], chunk_size=1, also_fits=["gpt2"]), TypeError, "mapping"),  # type: ignore[arg-type]
    "zero": (lambda: verify("a", [], chunk_size=1, also_fits={"gpt2": 0}), ValueError, "1 or more"),
    "negative": (lambda: truncate("a", 1, also_fits={"gpt2": -1}), ValueError, "0 or more"),
    "no number": (lambda: pack(["a"], 1, also_fits={"gpt2": 1.5}), TypeError, r"got 1\.5"),  # type: ignore[dict-item]
    "no counter": (lambda: verify("a", [], chunk_size=1, also_fits={3: 5}), TypeError, "got int"),
}


@pytest.mark.parametrize(("call", "kind", "message"), BAD.values(), ids=BAD)
def test_what_is_no_limit_is_refused(
    call: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call()
