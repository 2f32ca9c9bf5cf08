"""Sentence windows: each sentence of a text to find, and the sentences around it to read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from cutline.checks import checked_integer, plain_text
from cutline.chunking.boundary_places import boundaries
from cutline.chunks import Chunk
from cutline.protocols import SliceCounter, TokenCounter
from cutline.registry import token_counter_of

__all__ = ["SentenceWindow", "sentence_windows"]


class SentenceWindow(NamedTuple):
    """A sentence, and the part of the text around it.

    Attributes:
        sentence: one sentence, with the white space after it.
        window: the sentence with those before and after it; of the same `index`.
    """

    sentence: Chunk
    window: Chunk


def sentence_windows(
    text: str, encoding: TokenCounter | str, around: int = 3
) -> Iterator[SentenceWindow]:
    """Yield each sentence of a text, with a window of the sentences around it.

    The sentences joined are the text. Blank lines belong to the sentence before them.

    Args:
        text: any text.
        encoding: counts sentences and windows.
        around: how many sentences before and after, as far as there are.

    Raises:
        ValueError: `around` is below 0.
        SurrogateError: (a ValueError) the text has surrogate code points.

    Cost: linear in the text and the windows; the tokens are indexed once.
    Source: docs/small-to-big.md, "Sentence windows".

    >>> text = "One fish. Two fish. Red fish. Blue fish."
    >>> for sentence, window in sentence_windows(text, "o200k_base", around=1):
    ...     print(repr(sentence.text), window.start_index, window.end_index, window.token_count)
    'One fish. ' 0 20 7
    'Two fish. ' 0 30 10
    'Red fish. ' 10 40 9
    'Blue fish.' 20 40 6
    """
    text = plain_text(text)
    around = checked_integer(around, "around")
    if around < 0:
        raise ValueError(f"around must be 0 or more sentences, got {around}")
    counter = token_counter_of(encoding).intervals(text)
    return _windows(text, counter, _sentence_spans(text), around)


def _windows(
    text: str, counter: SliceCounter, spans: list[tuple[int, int]], around: int
) -> Iterator[SentenceWindow]:
    for place, (start, end) in enumerate(spans):
        first = spans[max(0, place - around)][0]
        last = spans[min(len(spans) - 1, place + around)][1]
        yield SentenceWindow(
            Chunk(text[start:end], start, end, counter.count(start, end), place),
            Chunk(text[first:last], first, last, counter.count(first, last), place),
        )


def _sentence_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([0, *boundaries(text, "sentence")]):
        if spans and text[start:end].isspace():
            start = spans.pop()[0]
        spans.append((start, end))
    return spans
