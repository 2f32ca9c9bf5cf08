"""Slices, cuts and chunks of a text that a tokenizer changes."""

from contextlib import suppress
from functools import partial
from operator import index

from cutline.checks import plain_text
from cutline.chunks import Chunk
from cutline.counting import IntervalCounter, cutting
from cutline.errors import BudgetError
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.slice_counter import SliceCounter
from cutline.pipeline.spelled import SpelledCounter, is_spelled
from cutline.text_encoder import TextEncoder

__all__ = ["intervals", "split", "split_at"]


def _counter(pipeline: Pipeline, encoding: TextEncoder, text: str) -> SliceCounter:
    if is_spelled(pipeline, encoding, text):
        return SpelledCounter(pipeline, encoding, text)
    return SliceCounter(pipeline, encoding, text)


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
    bound = pipeline.max_characters_of(encoding, n) if n >= 0 else None
    if bound is None or not 0 <= start <= len(text):
        window, begin = text, start
    else:
        window, begin = text[start : start + bound], 0
    if pipeline.changes(window):
        found = _counter(pipeline, encoding, window).split_at(begin, n)
    else:
        found = cutting.split_at(encoding, window, n, begin)
    return found + start - begin


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
