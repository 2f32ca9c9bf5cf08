"""Plans for re-indexing: what is kept is what both texts have, and pairs keep the order."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutline
from cutline import Chunk, plan


def rows(contents: str) -> list[dict[str, Any]]:
    """A row for each letter, with its place."""
    return [{"content_hash": one, "index": place} for place, one in enumerate(contents)]


def pairs(old: str, new: str) -> list[tuple[int, int]]:
    return [(a["index"], b["index"]) for a, b in plan(rows(old), rows(new)).kept]


@given(st.text("abcX", max_size=12), st.text("abcY", max_size=12))
def test_as_many_are_kept_as_both_have(old: str, new: str) -> None:
    found = plan(rows(old), rows(new))
    assert Counter(one["content_hash"] for one, _ in found.kept) == Counter(old) & Counter(new)
    assert all(a["content_hash"] == b["content_hash"] for a, b in found.kept)
    befores = [a["index"] for a, _ in found.kept] + [a["index"] for a in found.removed]
    afters = [b["index"] for _, b in found.kept] + [b["index"] for b in found.added]
    assert sorted(befores) == list(range(len(old)))
    assert sorted(afters) == list(range(len(new)))
    for ordered in ([b["index"] for _, b in found.kept], [b["index"] for b in found.added]):
        assert ordered == sorted(ordered)
    assert found.moved == [(a, b) for a, b in found.kept if a["index"] != b["index"]]


@given(st.text("ab", max_size=12), st.text("XYZ", max_size=3), st.integers(0, 12))
def test_what_an_insertion_or_a_deletion_leaves_is_paired_in_order(
    text: str, more: str, at: int
) -> None:
    """However many chunks are equal: no pair crosses another, and all before the edit stay."""
    at = min(at, len(text))
    longer = text[:at] + more + text[at:]
    kept = [(place, place + (len(more) if place >= at else 0)) for place in range(len(text))]
    if more:
        assert pairs(text, longer) == kept
        assert pairs(longer, text) == [(b, a) for a, b in kept]
    else:
        assert pairs(text, text) == kept


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("", "a", []),
        ("aaa", "a", [(0, 0)]),
        ("a", "aaa", [(0, 0)]),
        ("XaYa", "YaXa", [(2, 0), (3, 1), (0, 2), (1, 3)]),  # neighbours move together
        ("aXb", "bXa", [(2, 0), (1, 1), (0, 2)]),
    ],
)
def test_pairs(old: str, new: str, expected: list[tuple[int, int]]) -> None:
    assert pairs(old, new) == expected


def test_chunks_are_compared_with_stored_rows() -> None:
    chunker = cutline.TextChunker("o200k_base", 8, stable=True)
    old, new = chunker("Red fish, blue fish. One fish."), chunker("One fish.")
    stored = [{"key": 7, "content_hash": one.content_hash, "start_index": 1} for one in old]
    found = plan(stored, new)
    assert len(found.kept) + len(found.added) == len(new)
    assert len(found.kept) + len(found.removed) == len(old)
    assert plan(old, old) == ([(one, one) for one in old], [], [])
    moved = Chunk("One", 3, 6, 1, 1), Chunk("One", 4, 7, 1, 1)
    assert plan(moved[:1], moved[1:]).moved == [moved]
    assert plan(iter(moved[:1]), iter(moved[:1])).moved == []


def test_headings_are_content() -> None:
    one, other = Chunk("a", 0, 1, 1, 0, ("A",)), Chunk("a", 0, 1, 1, 0, ("B",))
    assert plan([one], [other]) == ([], [other], [one])


def test_errors_name_the_chunk() -> None:
    with pytest.raises(ValueError, match=r"old\[1\] must have a str as 'content_hash', got None"):
        plan([*rows("a"), {}], [])
    with pytest.raises(TypeError, match=r"new\[0\] must be a Chunk or a mapping, got str"):
        plan([], ["text"])  # type: ignore[list-item]


def test_nodes_of_a_hierarchy_are_told_to_be_chunks() -> None:
    nodes = cutline.HierarchicalChunker("o200k_base", sizes=(8,))("One fish, two fish.")[0]
    with pytest.raises(TypeError, match=r"new\[0\] must be a .*, got Node: pass its chunk"):
        plan([], nodes)  # type: ignore[type-var]
