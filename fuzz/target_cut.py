"""Cuts are the greatest, and chunks those of the definition, found by trying every place.

Input: subject, budget and whether a long text is cut, start or overlap (a byte each), then the text
as UTF-8.
"""

from array import array

from cutline.counting.break_cuts import BreakCuts
from cutline.counting.few_slices import few_slices
from cutline.errors import BudgetError
from cutline.kernels.breaks.breaks import CHARACTER
from fuzz.subjects import Subject, reference_count, subject
from tests.oracles import greedy_spans, longest_fit

MAX_CHARACTERS = 48
WHOLE_TEXT = 1_500  # characters: six lanes scan it
ANY_CHARACTER = array("i", [CHARACTER])
MAX_CUTS = 30  # of those, since each encodes all of the text


def run(data: bytes) -> None:
    if len(data) < 4:
        return
    chosen, n = subject(data[0]), data[1] % 12 + 1
    text = chosen.text(0, data[3:])
    if data[1] // 12 % 4 == 0:  # most of the time goes there
        check_whole_text(chosen, text, n, data[2] % n)
    text = text[:MAX_CHARACTERS]
    check_cut(chosen, text, n, data[2] % (len(text) + 1))
    check_chunks(chosen, text, n, data[2] % n)


def check_cut(chosen: Subject, text: str, n: int, start: int) -> None:
    want = longest_fit(chosen.count, text, n, start, chosen.token_reach)
    assert chosen.ours.split_at(text, n, start) == (start if want is None else want)


def check_chunks(chosen: Subject, text: str, n: int, overlap: int) -> None:
    want = greedy_spans(chosen.count, text, n, overlap, chosen.token_reach)
    try:
        chunks = chosen.ours.split(text, n, overlap)
    except BudgetError:
        assert want is None
        return
    assert [(chunk.start_index, chunk.end_index) for chunk in chunks] == want
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.text == text[chunk.start_index : chunk.end_index]
        assert chunk.token_count == chosen.count(chunk.text) <= n
        assert chunk.token_count == reference_count(chosen, chunk.text)


def check_whole_text(chosen: Subject, text: str, n: int, overlap: int) -> None:
    """Chunks of a longer text end where cuts of slices do, and some cuts of the text."""
    if not text:
        return
    text = (text * (WHOLE_TEXT // len(text) + 1))[: 2 * WHOLE_TEXT]
    try:
        chunks = chosen.ours.split(text, n, overlap)
    except BudgetError:
        return
    counter = chosen.ours.intervals(text)
    for chunk in chunks:
        assert counter.split_at(chunk.start_index, n) == chunk.end_index
    for chunk in chunks[:: len(chunks) // MAX_CUTS + 1]:
        assert chosen.ours.split_at(text, n, chunk.start_index) == chunk.end_index
    counts = chosen.ours.count_batch([chunk.text for chunk in chunks], num_threads=1)
    assert counts.tolist() == [chunk.token_count for chunk in chunks]
    assert chunks[-1].end_index == len(text)
    check_few_slices(chosen, text, n)


def check_few_slices(chosen: Subject, text: str, n: int) -> None:
    """Few slices of the text are counted and cut like any of them."""
    few = few_slices(chosen.ours, text)
    if few is None:
        return
    rows, _ = few.cut_at_breaks(BreakCuts(0, 0, len(text), n, 0.0, ANY_CHARACTER))
    counter = chosen.ours.intervals(text)
    for start, end, tokens in zip(rows[::4], rows[1::4], rows[2::4], strict=True):
        assert counter.split_at(start, n) == end
        assert counter.count(start, end) == tokens
    for start in range(0, len(text), len(text) // MAX_CUTS + 1):
        assert few.count(start // 2, start) == counter.count(start // 2, start)
