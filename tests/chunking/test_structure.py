import random
from itertools import product

import pytest
from bitarray import bitarray

from cutline import DataChunker, verify
from cutline.chunking.levels import BreakLevel
from cutline.chunking.outline import Outline
from cutline.chunking.structure import (
    LINE_END,
    Structure,
    enclosing,
    line_starts,
    nested_bitmaps,
    tidy_units,
)
from cutline.kernels.breaks.sections import sections_of

from .sections_oracle import heading_paths, section_starts

REGIONS = ((10, 50, "list"), (20, 30, "code"), (20, 25, "table"), (60, 70, "quote"))


def structure() -> Structure:
    return Structure(
        ("a",),
        (bitarray(101),),
        headings=((5, ("A",)), (40, ("A", "B")), (80, ())),
        regions=REGIONS,
    )


def test_headings_stand_from_their_offset_on() -> None:
    paths = [structure().headings_at(at) for at in (0, 4, 5, 39, 40, 79, 80, 100)]
    assert paths == [(), (), ("A",), ("A",), ("A", "B"), ("A", "B"), (), ()]


def test_metadata_names_the_innermost_region_that_an_end_divides() -> None:
    assert structure().metadata(22, 27) == {
        **{"continues": "table", "continues_from": 20},
        **{"continued": "code", "continued_to": 30},
    }
    assert structure().metadata(35, 65) == {
        **{"continues": "list", "continues_from": 10},
        **{"continued": "quote", "continued_to": 70},
    }


def test_metadata_is_empty_when_no_region_is_divided() -> None:
    assert structure().metadata(0, 10) == {}
    assert structure().metadata(10, 50) == {}
    assert structure().metadata(50, 60) == {}
    assert structure().metadata(0, 100) == {}


def test_metadata_agrees_with_a_look_at_all_regions() -> None:
    for at in range(101):
        around = [region for region in REGIONS if region[0] < at < region[1]]
        expected = min(around, key=lambda region: region[1] - region[0])[2] if around else None
        assert structure().metadata(at, 100).get("continues") == expected


def test_no_place_that_is_skipped_is_open_to_an_overlap() -> None:
    outline = Outline(structure())
    assert not outline.is_closed(15)
    for place in range(101):
        begin = outline.before_closed(place)
        assert begin <= place
        assert all(map(outline.is_closed, range(begin + 1, place + 1)))
    assert [outline.before_closed(place) for place in (19, 20, 24, 27, 65)] == [19, 20, 20, 27, 65]


def test_an_overlap_is_not_looked_for_inside_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table of empty lines, each level was searched line by line for each chunk."""
    searched: list[int] = []
    last = BreakLevel.last

    def counted(level: BreakLevel, text: str, start: int, after: int, until: int) -> int:
        searched.append(until)
        return last(level, text, start, after, until)

    monkeypatch.setattr(BreakLevel, "last", counted)
    chunker = DataChunker("csv", "o200k_base", 64, chunk_overlap=16)
    chunks = chunker.chunk("\n" * 20_000)
    assert 1 < len(searched) < 6 * len(chunks)  # no more than levels
    assert verify("\n" * 20_000, chunks, chunk_size=64, chunk_overlap=16).ok


def test_each_level_has_the_marks_of_the_better_ones_and_none_at_the_ends() -> None:
    first, second = nested_bitmaps(9, [[3, 0], [9, 5]])
    assert list(first.search(1)) == [3]
    assert list(second.search(1)) == [3, 5]


def test_an_empty_text_has_no_mark() -> None:
    assert nested_bitmaps(0, [[0], []])[1] == bitarray(1)


def test_units_are_sorted_outer_first_without_repetition() -> None:
    assert tidy_units([(5, 6), (0, 3), (0, 9), (0, 3)]) == ((0, 9), (0, 3), (5, 6))


def test_lines_start_after_line_ends_only() -> None:
    for characters in product("a\n\r\x0b\u2028", repeat=4):
        text = "".join(characters)
        assert line_starts(text) == [0, *(found.end() for found in LINE_END.finditer(text))]


def test_levels_without_cuts_of_their_own_are_not_searched() -> None:
    names = ("none", "best", "same", "more")
    outline = Outline(Structure(names, nested_bitmaps(9, [[], [3], [3], [5]])))
    assert [level.name for level in outline.levels] == ["best", "more"]


def test_spans_are_enclosed_by_the_closest() -> None:
    assert enclosing([(0, 9), (1, 4), (1, 2), (2, 3), (5, 9), (9, 10)]) == [-1, 0, 1, 1, 0, -1]


def test_random_headings_have_the_sections_of_the_plain_reader() -> None:
    rng = random.Random(0)
    titles = ("", "a", "b" * 200, "c" * 201)
    for _ in range(500):
        groups = [
            [(rng.randrange(1000), rng.randint(1, 7), rng.choice(titles)) for _ in range(size)]
            for size in rng.choices(range(5), k=rng.randint(0, 6))
        ]
        found = sections_of(groups)
        assert found.paths == [*heading_paths(groups)]
        assert found.starts == [*section_starts(groups)]


class Lengths:
    """Counts characters, and how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def count(self, start: int, end: int) -> int:
        self.asked += 1
        return end - start


def test_units_that_are_kept_whole_are_each_counted_once() -> None:
    depth = 500
    text = 4 * depth
    deep = tuple((at, text - at) for at in range(depth))
    counter = Lengths()
    outline = Outline(Structure((), (), units=deep))
    for end in range(text - 1, 0, -1):
        found = outline.limit(counter, 10, end, 3 * depth)  # type: ignore[arg-type]
        inside = [start for start, stop in deep if 10 <= start < end < stop]
        fitting = [start for start in inside if text - 2 * start <= 3 * depth]
        assert found == min(fitting, default=end)
    assert counter.asked <= depth


def test_the_outermost_unit_that_fits_is_kept_whole() -> None:
    rng = random.Random(11)
    for _ in range(60):
        spans: list[tuple[int, int]] = []
        for _ in range(rng.randrange(40)):
            span = tuple(sorted(rng.sample(range(60), 2)))
            nests = all(
                span[1] <= a or b <= span[0] or (a <= span[0] and span[1] <= b)
                or (span[0] <= a and b <= span[1])
                for a, b in spans
            )  # fmt: skip
            if nests:
                spans.append((span[0], span[1]))
        units, counter = tidy_units(spans), Lengths()
        outline = Outline(Structure((), (), units=units))
        for _ in range(60):
            first, end, budget = rng.randrange(30), rng.randrange(60), rng.choice((3, 3, 20, 40))
            around = [(a, b) for a, b in units if first <= a < end < b and b - a <= budget]
            expected = min((a for a, _ in around), default=end)
            found = outline.limit(counter, first, end, budget)  # type: ignore[arg-type]
            assert found == expected, (units, first, end, budget)
