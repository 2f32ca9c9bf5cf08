"""Piece counts that travel in groups: none is lost, none is in two, and all add up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from tests.texts import NAMED_TEXTS

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from cutline.integrations.piece_tables import PieceTables  # noqa: E402 (needs pyarrow)

TEXTS = st.lists(st.none() | st.text() | st.sampled_from(list(NAMED_TEXTS.values())), max_size=6)


def table_of(texts: "list[str | None]") -> "pa.Table":
    return pa.table({"text": pa.array(texts, pa.string())})


@settings(max_examples=60)  # the first time builds the tables
@given(st.lists(TEXTS, min_size=1, max_size=4), st.sampled_from([1, 2, 7, 200]))
def test_groups_of_parts_add_up_to_the_counts_of_all(
    parts: "list[list[str | None]]", n_groups: int
) -> None:
    tables = PieceTables("text", cutline.vocabulary.O200K_PAT_STR, (), n_groups)
    counted = pa.concat_tables([tables.counted(table_of(part)) for part in parts])
    groups = sorted(set(counted["group"].to_pylist()))
    assert all(group in range(n_groups) for group in groups)
    masks = [pa.compute.equal(counted["group"], group) for group in groups]
    added = [tables.added(counted.filter(mask)) for mask in masks]
    texts = [text for part in parts for text in part if text is not None]
    if not any(texts):
        assert not added
        return
    want = cutline.count_pieces(iter(texts), num_threads=1)
    assert tables.summed(pa.concat_tables(added)) == want
    distinct = [len(tables.summed(table)) for table in added]
    assert sum(distinct) == len(want), "a piece is in two groups"


@pytest.mark.parametrize("pat_str", [None, r"\p{L}+", r"(?<=t)o|\w+|\s"])
@pytest.mark.parametrize("special", [(), ("<|endoftext|>", "be")])
@pytest.mark.filterwarnings("ignore::cutline.PatternFallbackWarning")
def test_every_pattern_and_special_token_counts_as_in_one_process(
    pat_str: str | None, special: tuple[str, ...]
) -> None:
    texts = [*NAMED_TEXTS.values(), "to be<|endoftext|>or not to be", "", "x" * 70_000]
    tables = PieceTables("text", pat_str, special, n_groups=3)
    none_between = [cell for text in texts for cell in (text, None)]
    parts = [none_between[:20], none_between[20:]]
    counted = pa.concat_tables([tables.counted(table_of(part).slice(1)) for part in parts])
    want = cutline.count_pieces(
        iter(texts[1:10] + texts[11:]), pat_str=pat_str, special_tokens=special
    )
    assert tables.summed(counted) == want


def test_a_row_for_each_group_and_not_for_each_piece() -> None:
    tables = PieceTables("text", None, (), n_groups=5)
    words = [f"word {number}" for number in range(1_000)]
    assert tables.counted(table_of(words))["group"].to_pylist() == [0, 1, 2, 3, 4]


def test_no_text_is_refused_only_on_the_driver() -> None:
    tables = PieceTables("text", None, (), n_groups=3)
    none = tables.counted(table_of([None, ""]))
    assert not len(none)
    with pytest.raises(cutline.SourceError, match="no pieces in column 'text'"):
        tables.summed(none)
