"""Totals, overlap and lost text are those of the chunks."""

import pytest

from cutline import Chunk
from cutline.view.totals import lost_spans, totals_of
from tests.view.samples import TEXTS, encoding, overlapping, stripped

TEXT_PARAMETERS = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


@TEXT_PARAMETERS
def test_lost_text_is_what_no_chunk_holds(text: str) -> None:
    for chunks in (overlapping(text), stripped(text)):
        held = {place for chunk in chunks for place in range(chunk.start_index, chunk.end_index)}
        lost = [place for start, end in lost_spans(text, chunks) for place in range(start, end)]
        assert lost == sorted(set(range(len(text))) - held)


@TEXT_PARAMETERS
def test_totals_are_sums_over_chunks(text: str) -> None:
    for chunks in (overlapping(text), stripped(text)):
        totals = totals_of(text, chunks, 16)
        sizes = [encoding().count(chunk.text) for chunk in chunks]
        held = {place for chunk in chunks for place in range(chunk.start_index, chunk.end_index)}
        assert (totals.chunk_count, totals.token_count) == (len(chunks), sum(sizes))
        assert (totals.smallest, totals.largest) == (min(sizes, default=0), max(sizes, default=0))
        assert totals.lost_characters == len(text) - len(held)
        assert totals.overlap_characters == sum(len(c.text) for c in chunks) - len(held)
        if sizes:
            assert totals.mean_fill == pytest.approx(sum(sizes) / len(sizes) / 16)


def test_there_is_no_fill_without_a_budget_or_without_chunks() -> None:
    assert totals_of("ab", [Chunk("ab", 0, 2, 1, 0)], None).mean_fill is None
    assert totals_of("ab", [], 4).mean_fill is None
