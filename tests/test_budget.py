"""Truncating and packing: results counted by tiktoken, promises tried by their definitions."""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.counting.truncating import LOOK_AHEAD
from cutline.counting.truncating import truncate as truncate_with_spans
from cutline.errors import BudgetError, SurrogateError
from cutline.packing import Boundary, Item, Keep, Packed, pack, truncate
from tests.oracles import DISTINCT, Count, counter
from tests.texts import NAMED_TEXTS, SURROGATE_TEXTS, base64_text, random_text, run_length_text

KEEPS: tuple[Keep, ...] = ("start", "end", "both")
BOUNDARIES: tuple[Boundary, ...] = ("character", "grapheme", "word")
MARKERS = ("…", "", " [...] ", "\n\n(cut)\n\n", "'s", "s", "1")
BUDGETS = (0, 1, 2, 3, 4, 5, 8, 16, 64)


def assert_truncated(
    count: Count, text: str, n: int, keep: Keep, marker: str, boundary: Boundary = "character"
) -> None:
    """The result fits, is what it says, and could not be longer."""
    enc = cutline.get_encoding("o200k_base")
    if count(text) <= n:
        assert truncate(text, n, keep, marker, boundary=boundary) == text
        return
    if count(marker) > n:
        with pytest.raises(BudgetError, match="alone has"):
            truncate(text, n, keep, marker, boundary=boundary)
        return
    result, kept = truncate_with_spans(enc, text, n, keep, marker, boundary)
    assert result == truncate(text, n, keep, marker, boundary=boundary)
    assert (text, n, count(result) <= n) == (text, n, True)
    head, tail = head_and_tail(text, keep, kept)
    assert result == text[:head] + marker + text[tail:]
    assert head < tail
    if boundary == "character":
        look_ahead = LOOK_AHEAD if keep != "both" else 1
        for more in range(1, min(look_ahead, tail - head - 1) + 1):
            longer = text[: head + more * (keep == "start")] + marker
            longer += text[tail - more * (keep != "start") :]
            assert (text, n, longer, count(longer) > n) == (text, n, longer, True)


def head_and_tail(text: str, keep: Keep, kept: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Where the start that is kept ends, and where the end that is kept begins."""
    head = next((end for start, end in kept if start == 0), 0)
    tail = next((start for start, end in kept if end == len(text)), len(text))
    assert sum(end - start for start, end in kept) == head + len(text) - tail
    if keep != "both":
        assert (head == 0) if keep == "end" else (tail == len(text))
    return head, tail


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("marker", MARKERS)
def test_truncated_texts_fit_and_could_not_be_longer(keep: Keep, marker: str) -> None:
    count = counter("o200k_base")
    for text in NAMED_TEXTS.values():
        if len(text) < 400:
            for n in BUDGETS:
                assert_truncated(count, text, n, keep, marker)


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 40), st.sampled_from(MARKERS))
def test_any_text_fits_any_budget(
    keep: Keep, boundary: Boundary, seed: int, n: int, marker: str
) -> None:
    text = random_text(random.Random(seed))
    assert_truncated(counter("o200k_base"), text, n, keep, marker, boundary)


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("keep", KEEPS)
def test_long_runs_fit_in_every_encoding(name: str, keep: Keep) -> None:
    count = counter(name)
    texts = [run_length_text(random.Random(seed), 6_000) for seed in range(6)]
    for text in [*texts, "a" * 5_000, base64_text(5_000), "\n" * 5_000]:
        for n in (4, 16, 300):
            result = truncate(text, n, keep, encoding=name)
            assert (result, count(result) <= n) == (result, True)


@pytest.mark.parametrize("name", DISTINCT)
def test_a_start_without_marker_is_the_greatest(name: str) -> None:
    enc = cutline.get_encoding(name)
    for text in NAMED_TEXTS.values():
        for n in BUDGETS:
            want = text[: enc.split_at(text, n)] if counter(name)(text) > n else text
            assert truncate(text, n, marker="", encoding=enc) == want


def test_both_halves_have_about_as_many_tokens() -> None:
    count = counter("o200k_base")
    text = " ".join(f"word{number} and more." for number in range(400))
    for n in (16, 101, 500):
        _, kept = truncate_with_spans(cutline.get_encoding("o200k_base"), text, n, "both")
        first, last = (count(text[start:end]) for start, end in kept)
        assert abs(first - last) <= 3


def test_words_and_clusters_stay_whole() -> None:
    text = (
        "Grüße 👨‍👩‍👧‍👦👨‍👩‍👧‍👦 e\u0301le\u0300ve, it's 3.14 brown foxes — 量子力学 안녕하세요 " * 3
    )
    for boundary, pattern in (("grapheme", r"\X"), ("word", r"(?w)\b")):
        edges = {match.start() for match in regex.finditer(pattern, text)} | {0, len(text)}
        for keep in KEEPS:
            for n in range(14, 60):
                enc = cutline.get_encoding("o200k_base")
                result, kept = truncate_with_spans(enc, text, n, keep, "…", boundary)
                assert {place for span in kept for place in span} <= edges, (boundary, n, result)
                if boundary == "word":
                    assert " …" not in result
                    assert "… " not in result


def test_a_word_over_budget_is_cut_between_clusters_and_a_cluster_between_characters() -> None:
    assert truncate("e\u0301" * 100, 8, boundary="word").count("e\u0301") > 1
    assert truncate("👨‍👩‍👧‍👦" * 2, 5, boundary="word") == truncate("👨‍👩‍👧‍👦" * 2, 5)
    assert truncate("👨‍👩‍👧‍👦" * 2, 5) != "…"


def test_truncating_refuses_what_it_cannot_do() -> None:
    with pytest.raises(BudgetError, match="use a shorter one, or an empty one"):
        truncate("one two three", 0)
    assert truncate("one two three", 0, marker="") == ""
    assert truncate("", 0) == ""
    with pytest.raises(ValueError, match="max_tokens must be 0 or more, got -1"):
        truncate("one", -1)
    with pytest.raises(ValueError, match="keep must be"):
        truncate("one", 1, "middle")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="boundary must be"):
        truncate("one", 1, boundary="line")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="marker must be a str"):
        truncate("one", 1, marker=None)  # type: ignore[arg-type]
    for text in SURROGATE_TEXTS.values():
        assert truncate(text, 1_000) == text
        with pytest.raises(SurrogateError):
            truncate(text * 50, 3, "end")


# Packing


def joined_count(count: Count, parts: Sequence[tuple[Item, str]], separator: str | None) -> int:
    """Tokens of placed texts, by the definition, with their overheads."""
    texts = [text for _, text in parts]
    overhead = sum(item.overhead_tokens for item, _ in parts)
    if separator is None:
        return overhead + sum(map(count, texts))
    return overhead + count(separator.join(texts))


def assert_packed(
    count: Count, items: Sequence[Item], packed: Packed, n: int, separator: str | None
) -> None:
    """The report is true of the text, and the text is within budget."""
    assert [one.item for one in packed.items] == list(items)
    placed = [one for one in packed.items if one.status != "dropped"]
    assert packed.text == (separator or "").join(one.text for one in placed)
    total = joined_count(count, [(one.item, one.text) for one in placed], separator)
    assert (packed.total_tokens, packed.tokens_left) == (total, n - total)
    assert total <= n
    for one in placed:
        assert packed.text[one.start_index : one.end_index] == one.text
        assert one.token_count == count(one.text)
        source = one.item.text
        if one.status == "whole":
            assert one.text == source
            assert one.kept == (((0, len(source)),) if source else ())
        else:
            assert one.item.min_tokens is not None
            assert one.token_count >= one.item.min_tokens
            assert one.kept
            assert all(source[start:end] in one.text for start, end in one.kept)
    for left, right in pairwise(placed):
        assert left.end_index is not None
        assert right.start_index == left.end_index + len(separator or "")
    dropped = [one for one in packed.items if one.status == "dropped"]
    assert all((one.start_index, one.text, one.kept) == (None, "", ()) for one in dropped)


def greedy_places(count: Count, items: Sequence[Item], n: int, separator: str | None) -> list[int]:
    """Which items are placed whole, by the definition: each tried with all those placed."""
    places: list[int] = []
    for place in sorted(range(len(items)), key=lambda at: (-items[at].priority, at)):
        tried = sorted([*places, place])
        parts = [(items[at], items[at].text) for at in tried]
        if joined_count(count, parts, separator) <= n:
            places = tried
    return places


@pytest.mark.parametrize("separator", ["\n\n", "", " ", None, "\n---\n"])
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 80))
def test_short_items_are_placed_as_if_each_was_tried(
    separator: str | None, seed: int, n: int
) -> None:
    rng, count = random.Random(seed), counter("o200k_base")
    items = [
        Item(random_text(rng)[:25], rng.randrange(3), overhead_tokens=rng.choice((0, 0, 4)))
        for _ in range(rng.randint(0, 8))
    ]
    packed = pack(items, n, separator=separator)
    assert_packed(count, items, packed, n, separator)
    whole = [place for place, one in enumerate(packed.items) if one.status == "whole"]
    assert whole == greedy_places(count, items, n, separator)


@pytest.mark.parametrize("separator", ["\n\n", "", None])
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(0, 400))
def test_nothing_over_budget_is_returned(separator: str | None, seed: int, n: int) -> None:
    rng = random.Random(seed)
    items = [
        Item(
            rng.choice((run_length_text(rng, 700), random_text(rng))),
            rng.random(),
            rng.choice((None, 1, 10)),
            rng.choice((0, 3)),
            rng.choice(KEEPS),
        )
        for _ in range(rng.randint(1, 8))
    ]
    boundary = rng.choice(BOUNDARIES)
    packed = pack(items, n, separator=separator, boundary=boundary)
    assert_packed(counter("o200k_base"), items, packed, n, separator)
    assert packed == pack(items, n, separator=separator, boundary=boundary)


def test_neighbours_that_merge_far_do_not_exceed_the_budget() -> None:
    """Runs of one piece, longer than the context that an item is first counted with."""
    count = counter("o200k_base")
    for letter, length in (("a", 1001), ("-", 500), ("-", 1001), ("=", 300)):
        items = [Item(letter * length, min_tokens=2) for _ in range(3)]
        total = count(letter * length * 3)
        for n in range(total - 4, total + 1):
            assert_packed(count, items, pack(items, n, separator=""), n, "")


@pytest.mark.parametrize("separator", ["\n\n", " ", "", None])
def test_long_items_that_fit_exactly_are_placed_whole(separator: str | None) -> None:
    rng, count = random.Random(5), counter("o200k_base")
    for _ in range(20):
        items = [
            Item(" ".join(random_text(rng) + "word" for _ in range(40)), rng.random())
            for _ in range(rng.randint(2, 6))
        ]
        total = joined_count(count, [(item, item.text) for item in items], separator)
        exact, less = (pack(items, n, separator=separator) for n in (total, total - 1))
        assert [one.status for one in exact.items] == ["whole"] * len(items)
        assert "dropped" in {one.status for one in less.items}


def test_higher_priority_first_then_earlier() -> None:
    items = [Item("one two three"), Item("four five six"), Item("seven eight nine", 1)]
    statuses = [one.status for one in pack(items, 7).items]
    assert statuses == ["whole", "dropped", "whole"]
    assert pack(items, 7).text == "one two three\n\nseven eight nine"


def test_an_item_below_its_minimum_is_dropped() -> None:
    long = "one two three four five six seven eight nine ten"
    assert pack([Item(long, min_tokens=6)], 6).items[0].status == "truncated"
    assert pack([Item(long, min_tokens=7)], 6).items[0].status == "dropped"
    assert pack([Item(long)], 6).items[0].status == "dropped"
    assert pack([long], 10).items[0].status == "whole"
    assert pack([Item(long, min_tokens=0)], 1).items[0].status == "dropped"


def test_overheads_count_for_placed_items_only() -> None:
    frames = [Item("hello world", overhead_tokens=4), Item("again", overhead_tokens=4)]
    packed = pack(frames, 7, separator=None)
    assert [one.status for one in packed.items] == ["whole", "dropped"]
    assert (packed.token_count, packed.overhead_tokens, packed.tokens_left) == (2, 4, 1)
    assert packed.report().splitlines()[-1] == "6 of 7 tokens, 1 left"


def test_what_an_item_keeps_is_told() -> None:
    text = "one two three four five six seven eight nine ten"
    packed = pack([Item(text, min_tokens=1, keep="both")], 7, boundary="word")
    (item,) = packed.items
    assert item.text == "…".join(text[start:end] for start, end in item.kept)
    assert len(item.kept) == 2


def test_nothing_packs_to_nothing() -> None:
    assert pack([], 0).text == ""
    assert pack(["one"], 0).items[0].status == "dropped"
    with pytest.raises(ValueError, match="max_tokens must be 0 or more"):
        pack(["one"], -1)
    with pytest.raises(ValueError, match="min_tokens must be 0 or more, or None"):
        Item("one", min_tokens=-1)
    with pytest.raises(ValueError, match="overhead_tokens must be 0 or more"):
        Item("one", overhead_tokens=-1)
    with pytest.raises(TypeError, match="items must be texts or Items, got int"):
        pack([1], 5)  # type: ignore[list-item]
