"""Merged hits: against a brute-force oracle over sets of characters."""

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutline
from cutline import Chunk, HierarchicalChunker, merge_hits
from tests.integrations.samples import FISH
from tests.oracles import counter

count = counter("o200k_base")
TEXT = "One fish, two fish. Ré 中文 fish, blue fish; black fish and old fish."
SPAN = st.tuples(st.integers(0, len(TEXT)), st.integers(0, 12))
Span = tuple[int, int]


def chunk_of(start: int, end: int) -> Chunk:
    return Chunk(TEXT[start:end], start, end, count(TEXT[start:end]), 0, (f"from {start}",))


def chunks_of(spans: list[Span]) -> list[Chunk]:
    return [chunk_of(start, min(len(TEXT), start + length)) for start, length in spans]


def runs(characters: set[int]) -> list[Span]:
    """The maximal runs of neighbours."""
    found = []
    for _, run in groupby(enumerate(sorted(characters)), key=lambda pair: pair[1] - pair[0]):
        places = [place for _, place in run]
        found.append((places[0], places[-1] + 1))
    return found


def oracle(
    hits: list[Chunk], parents: list[Chunk], max_tokens: int | None, min_share: float
) -> list[Span]:
    kept: set[int] = set()

    def take(chunk: Chunk) -> None:
        nonlocal kept
        wider = kept | set(range(chunk.start_index, chunk.end_index))
        total = sum(count(TEXT[start:end]) for start, end in runs(wider))
        if max_tokens is None or total <= max_tokens:
            kept = wider

    for hit in hits:
        take(hit)
    for parent in sorted(parents, key=lambda one: (len(one.text), one.start_index)):
        inner = set(range(parent.start_index, parent.end_index))
        if inner and len(kept & inner) >= min_share * len(inner):
            take(parent)
    return runs(kept)


@given(
    st.lists(SPAN, max_size=8),
    st.lists(SPAN, max_size=4),
    st.none() | st.integers(0, 30),
    st.sampled_from([0.01, 0.5, 1.0]),
)
def test_passages_are_those_of_the_definition(
    hits: list[Span], parents: list[Span], max_tokens: int | None, min_share: float
) -> None:
    small, large = chunks_of(hits), chunks_of(parents)
    found = merge_hits(
        iter(small), "o200k_base", max_tokens=max_tokens, parents=iter(large), min_share=min_share
    )
    assert [(one.start_index, one.end_index) for one in found] == oracle(
        small, large, max_tokens, min_share
    )
    for place, one in enumerate(found):
        assert one.text == TEXT[one.start_index : one.end_index]
        assert (one.token_count, one.index) == (count(one.text), place)
        assert one.headings == (f"from {one.start_index}",)


def test_hits_under_one_parent_become_the_parent() -> None:
    chunker = cutline.MarkdownChunker("o200k_base")
    large, small = HierarchicalChunker(chunker, (40, 8))(FISH * 3)
    parent = next(node for node in large if len(node.children) > 2)
    hits = [small[place].chunk for place in parent.children[::2]]
    (found,) = merge_hits(hits, "o200k_base", parents=[node.chunk for node in large])
    assert (found.text, found.headings) == (parent.chunk.text, parent.chunk.headings)
    budget = parent.chunk.token_count - 1
    parents = [node.chunk for node in large]
    apart = merge_hits(hits, "o200k_base", max_tokens=budget, parents=parents)
    assert [one.text for one in apart] == [hit.text for hit in hits]


def test_hits_of_several_texts_and_bad_numbers_are_refused() -> None:
    hits = [Chunk("abc", 0, 3, 1, 0), Chunk("xd", 2, 4, 1, 1)]
    with pytest.raises(ValueError, match=r"at \(2, 4\), 'xd', has another text than"):
        merge_hits(hits, "o200k_base")
    for share in (0, 1.5):
        with pytest.raises(ValueError, match="min_share must be more than 0 and at most 1"):
            merge_hits([], "o200k_base", min_share=share)
    with pytest.raises(ValueError, match="max_tokens must be 0 or more, got -1"):
        merge_hits([], "o200k_base", max_tokens=-1)
    assert merge_hits([], "o200k_base") == []


NODES = HierarchicalChunker("o200k_base", sizes=(16, 8))(FISH)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ((NODES[1],), TypeError, r"hits\[0\] must be a cutline.Chunk, got Node: pass its chunk"),
        (([NODES[1][0].chunk], NODES[0]), TypeError, r"parents\[0\] must be .* got Node: pass its"),
        (([{"text": "a"}],), TypeError, r"hits\[0\] must be a cutline.Chunk, got dict"),
        ((None,), TypeError, "hits must be several, got NoneType"),
        (("ab",), TypeError, "hits must be several, got one str: put it into a list"),
        ((NODES[1][0].chunk,), TypeError, "hits must be several, got Chunk"),
        (([Chunk("ab", 3, 6, 1, 0)],), cutline.OffsetError, r"hits\[0\] has the offsets \(3, 6\)"),
        (([Chunk("ab", -2, 0, 1, 0)],), cutline.OffsetError, r"of a text of 2 characters: 'ab'"),
    ],
)
def test_what_are_no_chunks_is_named(given: Any, error: type[Exception], said: str) -> None:
    hits, parents = (*given, ())[:2]
    with pytest.raises(error, match=said):
        merge_hits(hits, "o200k_base", parents=parents)


def test_the_share_is_a_number() -> None:
    with pytest.raises(TypeError, match="min_share must be a number, got 'half'"):
        merge_hits([], "o200k_base", min_share="half")  # type: ignore[arg-type]
