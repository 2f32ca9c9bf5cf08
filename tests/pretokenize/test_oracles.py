"""The tiktoken oracle notices a piece that is cut, joined, shifted, lost or invented."""

import pytest

from tests.pretokenize.oracles import texts_split_otherwise

PATTERN = r"\p{L}+|\d"


@pytest.mark.parametrize(
    "spans",
    [
        [(0, 2), (3, 5), (5, 6)],  # cut
        [(0, 2), (3, 7)],  # joined
        [(0, 2), (3, 5), (5, 7)],  # shifted
        [(0, 2), (3, 6)],  # lost
        [(0, 2), (2, 3), (3, 6), (6, 7)],  # invented
    ],
)
def test_wrong_spans_are_noticed(spans: list[tuple[int, int]]) -> None:
    text = "ab cde1"
    assert texts_split_otherwise(PATTERN, [text], [[(0, 2), (3, 6), (6, 7)]]) == []
    assert texts_split_otherwise(PATTERN, [text], [spans]) == [text]
