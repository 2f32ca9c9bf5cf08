"""Slices, cuts and chunks of a text that a tokenizer changes."""

from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from operator import index

from cutline.checks import plain_text, utf8_of
from cutline.chunks import Chunk
from cutline.counting import IntervalCounter, cutting, few_slices
from cutline.errors import BudgetError
from cutline.kernels.breaks.indexed_texts import IndexedTexts
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.breaks.run_breaks import RunTexts
from cutline.kernels.breaks.text_blocks import TextCutter
from cutline.kernels.encode.encoder import Encoder
from cutline.pipeline.known_counter import AddedCounter
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.run_counter import run_counter
from cutline.pipeline.slice_counter import SliceCounter
from cutline.pipeline.spelled import SpelledCounter, is_spelled
from cutline.text_encoder import TextEncoder

__all__ = ["intervals", "split", "split_at", "text_cutter"]

_CHARACTERS_A_TOKEN = 8  # of the first window of `split_at`
_LONG = 1 << 16  # characters
_GROWTH = 4


def _counter(pipeline: Pipeline, encoding: TextEncoder, text: str) -> SliceCounter:
    if is_spelled(pipeline, encoding, text):
        return SpelledCounter(pipeline, encoding, text)
    counter = run_counter(pipeline, encoding, text)
    return AddedCounter(pipeline, encoding, text) if counter is None else counter


def intervals(
    pipeline: Pipeline, encoding: TextEncoder, text: str, *, byte_offsets: bool = False
) -> IntervalCounter | SliceCounter:
    """Return a counter for the slices of a text; see `Encoding.intervals`."""
    text = plain_text(text)
    if not pipeline.changes(text):
        return IntervalCounter(encoding, text, byte_offsets=byte_offsets)
    if byte_offsets:
        raise ValueError(
            f"{encoding.name!r} changes this text before it splits it: its slices are counted by "
            "code points only"
        )
    return _counter(pipeline, encoding, text)


def text_cutter(
    pipeline: Pipeline,
    encoding: TextEncoder,
    n: int,
    min_fill: float,
    kinds: "array[int]",
    overlap: Overlap | None,
) -> tuple[Callable[[], TextCutter], Callable[[str], bool]] | None:
    """Return what makes a cutter of many texts, and which of them it takes; None: none.

    That is of those that are counted by runs, unless most stay as they are: then it is of these.
    """
    if pipeline.changes_all or not encoding._has_automaton:
        return None
    asks_few = overlap is None and n >= few_slices.LEAST_TOKENS
    if pipeline.changes_starts or not pipeline.looks_for_changes:
        rules = pipeline.run_rules if asks_few else None
        if rules is None:
            return None
        by_runs = partial(RunTexts, encoding, few_slices.SHARE * n, rules, n, min_fill, kinds)
        return by_runs, partial(_is_counted_by_runs, pipeline, encoding)
    share = few_slices.COUNTED_AGAIN if asks_few else -1.0
    limits: list[tuple[Encoder | str, int]] = [(encoding, n)]
    make = partial(IndexedTexts, limits, min_fill, kinds, False, overlap, share)
    return make, lambda text: not pipeline.changes(text)


def _is_counted_by_runs(pipeline: Pipeline, encoding: TextEncoder, text: str) -> bool:
    return is_spelled(pipeline, encoding, text) or pipeline.images_for(text) is not None


def split_at(pipeline: Pipeline, encoding: TextEncoder, text: str, n: int, start: int) -> int:
    """Find the longest slice that fits; see `Encoding.split_at`."""
    text, n, start = plain_text(text), index(n), index(start)
    if n < 0 or not 0 <= start <= len(text):
        return cutting.split_at(encoding, text, n, start)  # which says what is wrong
    bound = pipeline.max_characters_of(encoding, n)
    stop = len(text) if bound is None else min(len(text), start + bound)
    # Of a long text it takes time to say that nothing changes it.
    if (bound is None and stop - start > _LONG) or pipeline.changes(window := text[start:stop]):
        return _split_at_in_windows(pipeline, encoding, text, n, start, stop)
    return start + cutting.split_at(encoding, window, n, 0)


def _split_at_in_windows(
    pipeline: Pipeline, encoding: TextEncoder, text: str, n: int, start: int, stop: int
) -> int:
    """Find the longest slice up to `stop`: what is far beyond the cut takes no time."""
    width = _CHARACTERS_A_TOKEN * min(n, len(text)) + 256
    prefixes_of = partial(pipeline.prefixes_for, inside=False)
    while True:
        # Among marks no bound is known.
        end = min(stop, pipeline.upper_bound.end_of_marks(text, start + width))
        part = text[start:end]
        utf8_of(part, start)
        counter = _counter(pipeline, encoding, part)
        if (
            end == stop
            or counter.settled > n
            or (
                not (isinstance(counter, SpelledCounter) and pipeline.spec.characters)
                and pipeline.upper_bound.limit(encoding, text[start:stop], n, prefixes_of)
                < len(part)
            )
        ):
            return start + counter.split_at(0, n)
        width = _GROWTH * len(part)


def split(
    pipeline: Pipeline, encoding: TextEncoder, text: str, chunk_size: int, chunk_overlap: int
) -> list[Chunk]:
    """Cut a text into chunks; see `Encoding.split`."""
    text = plain_text(text)
    if not pipeline.changes(text):
        with suppress(BudgetError):  # its message would not name a size that fits all texts
            return cutting.split(encoding, text, chunk_size, chunk_overlap)
    least = encoding._most_tokens_of_a_character
    count_slices = partial(intervals, pipeline, encoding)
    return cutting.split_by_counting(count_slices, text, chunk_size, chunk_overlap, least)
