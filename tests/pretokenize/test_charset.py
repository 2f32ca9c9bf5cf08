"""The algebra of character sets is that of sets, observed wherever a range can end."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cutline.pretokenize.charset import CODE_POINTS, CharSet, union

Ranges = list[tuple[int, int]]
LANDMARKS = [0x7F, 0x80, 0xFFFF, 0x10000, 0x10FFFF, CODE_POINTS]
BOUNDS = [*range(40), *range(0xD7F0, 0xD804), *range(0xDFF8, 0xE010), *LANDMARKS]
PROBES = np.array(sorted({p + d for p in BOUNDS for d in (-1, 0, 1)} & set(range(CODE_POINTS))))
IS_SCALAR = (PROBES < 0xD800) | (PROBES >= 0xE000)

range_lists: st.SearchStrategy[Ranges] = st.lists(
    st.tuples(st.sampled_from(BOUNDS), st.sampled_from(BOUNDS)).map(
        lambda pair: (min(pair), max(pair))
    ),
    max_size=5,
)


def plain(ranges: Ranges) -> NDArray[np.bool_]:
    inside = np.zeros(len(PROBES), dtype=bool)
    for start, end in ranges:
        inside |= (start <= PROBES) & (end > PROBES)
    return inside & IS_SCALAR


def is_canonical(characters: CharSet) -> bool:
    edges = characters.edges.tolist()
    return len(edges) % 2 == 0 and edges == sorted(set(edges))


@given(range_lists, range_lists)
def test_operations_equal_those_of_sets(first: Ranges, second: Ranges) -> None:
    left, right = CharSet.from_ranges(first), CharSet.from_ranges(second)
    a, b = plain(first), plain(second)
    for result, expected in (
        (left, a),
        (left | right, a | b),
        (left & right, a & b),
        (left - right, a & ~b),
        (~left, IS_SCALAR & ~a),
    ):
        assert is_canonical(result)
        assert (result.contains(PROBES) == expected).all()
    assert (left == right) == (a == b).all()
    assert (left != right) or hash(left) == hash(right)


@given(st.lists(range_lists, max_size=4))
def test_union_of_any_number_of_sets(lists: list[Ranges]) -> None:
    together = union(map(CharSet.from_ranges, lists))
    expected = np.logical_or.reduce([plain(ranges) for ranges in [[], *lists]])
    assert (together.contains(PROBES) == expected).all()


@given(range_lists)
def test_length_counts_members_once(ranges: Ranges) -> None:
    characters = CharSet.from_ranges(ranges)
    assert len(characters) + len(~characters) == 1_112_064
    assert len(characters) == sum(end - start for start, end in characters.ranges())


def test_membership_at_the_edges_of_ranges() -> None:
    characters = CharSet.from_ranges([(5, 7), (0x10FFFF, CODE_POINTS)])
    members = [point for point in (4, 5, 6, 7, 0x10FFFE, 0x10FFFF) if point in characters]
    assert members == [5, 6, 0x10FFFF]
    assert 0xD800 not in ~characters
