"""Slices, cuts and chunks of a text that a tokenizer changes."""

from contextlib import suppress
from functools import partial
from operator import index

from cutline.checks import plain_text, utf8_of
from cutline.chunks import Chunk
from cutline.counting import IntervalCounter, cutting
from cutline.errors import BudgetError
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.run_counter import run_counter
from cutline.pipeline.slice_counter import SliceCounter
from cutline.pipeline.spelled import SpelledCounter, is_spelled
from cutline.text_encoder import TextEncoder

__all__ = ["intervals", "split", "split_at"]

_CHARACTERS_A_TOKEN = 8  # of the first window of `split_at`


def _counter(pipeline: Pipeline, encoding: TextEncoder, text: str) -> SliceCounter:
    if is_spelled(pipeline, encoding, text):
        return SpelledCounter(pipeline, encoding, text)
    counter = run_counter(pipeline, encoding, text)
    return SliceCounter(pipeline, encoding, text) if counter is None else counter


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


def split_at(pipeline: Pipeline, encoding: TextEncoder, text: str, n: int, start: int) -> int:
    """Find the longest slice that fits; see `Encoding.split_at`."""
    text, n, start = plain_text(text), index(n), index(start)
    window, begin, bound = text, start, None
    is_right = n >= 0 and 0 <= start <= len(text)
    if is_right:
        bound = pipeline.max_characters_of(encoding, n)
        window, begin = text[start:] if bound is None else text[start : start + bound], 0
    if not pipeline.changes(window):
        found = cutting.split_at(encoding, window, n, begin)
    elif is_right:
        utf8_of(window, start)
        found = _split_at_in_windows(pipeline, encoding, window, n)
    else:
        found = _counter(pipeline, encoding, window).split_at(begin, n)
    return found + start - begin


def _split_at_in_windows(pipeline: Pipeline, encoding: TextEncoder, text: str, n: int) -> int:
    """Do it for a text that is changed: what is far beyond the cut takes no time."""
    width = _CHARACTERS_A_TOKEN * min(n, len(text)) + 256
    prefixes_of = partial(pipeline.prefixes_for, inside=False)
    while True:
        width = pipeline.upper_bound.end_of_marks(text, width)  # of others no bound is known
        part = text[:width]
        counter = _counter(pipeline, encoding, part)
        if (
            width >= len(text)
            or counter.settled > n
            or (
                not isinstance(counter, SpelledCounter)
                and pipeline.upper_bound.limit(encoding, text, n, prefixes_of) < width
            )
        ):
            return counter.split_at(0, n)
        width *= 4


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
