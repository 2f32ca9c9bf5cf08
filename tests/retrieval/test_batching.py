"""Batches for embedding: as few as possible, within all limits, in order, one at a time."""

from collections.abc import Iterator
from functools import cache
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutline
from cutline import batches


def fewest(counts: tuple[int, ...], max_tokens: int, max_items: int) -> int:
    """The smallest number of batches, by trying every first batch."""

    @cache
    def best(start: int) -> int:
        if start == len(counts):
            return 0
        ends = range(start + 1, min(len(counts), start + max_items) + 1)
        return 1 + min(best(end) for end in ends if sum(counts[start:end]) <= max_tokens)

    return best(0)


@given(st.lists(st.integers(0, 9), max_size=14).map(tuple), st.integers(9, 25), st.integers(1, 5))
def test_batches_are_the_fewest_within_the_limits(
    counts: tuple[int, ...], max_tokens: int, max_items: int
) -> None:
    items = [("text", count) for count in counts]
    made = list(batches(items, max_tokens=max_tokens, max_items=max_items, max_item_tokens=9))
    assert [item for batch in made for item in batch] == items
    assert all(0 < len(batch) <= max_items for batch in made)
    assert all(sum(count for _, count in batch) <= max_tokens for batch in made)
    assert len(made) == fewest(counts, max_tokens, max_items)


def test_items_are_read_one_at_a_time() -> None:
    read: list[int] = []

    def items() -> Iterator[tuple[str, int]]:
        for number in range(10**9):
            read.append(number)
            yield "text", 4

    made = batches(items(), max_tokens=10)
    assert len(next(made)) == len(next(made)) == 2
    assert len(read) == 5


def test_chunks_bring_their_counts_and_texts_are_counted() -> None:
    encoding = cutline.get_encoding("o200k_base")
    chunks = cutline.TextChunker(encoding, 8)("One fish, two fish. Red fish, blue fish. " * 9)
    made = list(batches(chunks, max_tokens=20))
    assert [chunk for batch in made for chunk in batch] == chunks
    texts = [chunk.text for chunk in chunks]
    counted = list(batches(texts, max_tokens=20, count=encoding.count))
    assert [[chunk.text for chunk in batch] for batch in made] == counted
    sent = list(batches(chunks, max_tokens=20, count=lambda chunk: chunk.token_count + 8))
    assert len(sent) > len(made)


def test_an_item_that_is_over_is_named() -> None:
    (chunk,) = cutline.TextChunker("o200k_base")("One fish, two fish. Red fish, blue fish.\n" * 2)
    over = r"item 1 \(characters 0 to 82\), 'One fish, two fish. Red fish, blue fish\.…', has "
    with pytest.raises(cutline.BudgetError, match=over + r"\d+ tokens, more than max_item_tok.*=9"):
        list(batches([cutline.Chunk("a", 0, 1, 1, 0), chunk], max_item_tokens=9))
    with pytest.raises(cutline.BudgetError, match=r"item 0, 'a', has 7 .* more than max_tokens=6"):
        list(batches([("a", 7)], max_tokens=6))
    with pytest.raises(TypeError, match=r"got str: pass count=encoding\.count for texts"):
        list(batches(["one"]))
    with pytest.raises(TypeError, match="tokens of item 0, 'a', must be an integer, got None"):
        list(batches([("a", None)]))
    with pytest.raises(ValueError, match="tokens of item 0, 'a', is -1, below 0"):
        list(batches([("a", -1)]))


@pytest.mark.parametrize("name", ["max_tokens", "max_items", "max_item_tokens"])
def test_limits_are_checked_at_once(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be 1 or more, got 0"):
        batches([], **{name: 0})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="chunks must be several, got one str"):
        batches("text")
    assert list(batches([])) == []


def test_what_counts_or_is_counted_is_named_at_once() -> None:
    encoding = cutline.get_encoding("o200k_base")
    with pytest.raises(TypeError, match=r"count must be a function, .*, got Encoding"):
        batches(["a"], count=encoding)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="chunks must be several, got NoneType"):
        batches(None)  # type: ignore[arg-type]


def test_rows_and_nodes_are_told_what_to_pass() -> None:
    row = {"text": "a b", "token_count": 2}
    with pytest.raises(
        TypeError, match=r"got dict: pass count=operator.itemgetter\('token_count'\)"
    ):
        list(batches([row]))
    assert list(batches([row], count=itemgetter("token_count"))) == [[row]]
    node = cutline.HierarchicalChunker("o200k_base", sizes=(8,))("One fish, two fish.")[0][0]
    with pytest.raises(TypeError, match="got Node: pass its chunk"):
        list(batches([node]))
