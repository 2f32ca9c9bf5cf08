"""Slices of a text, for models that encode words apart."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cutline.checks import checked_budget, need_no_surrogates, plain_text, utf8_of
from cutline.chunks import Chunk, checked_sizes, too_large
from cutline.counting import cutting
from cutline.counting.break_cuts import BreakCuts
from cutline.errors import OffsetError
from cutline.kernels.base.chunks import make_chunks
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.breaks.word_breaks import WordTexts, cut_words_at_breaks
from cutline.kernels.words.intervals import WordIntervals
from cutline.kernels.words.token_intervals import TokenIntervals
from cutline.pipeline.entangled import EntangledParts
from cutline.pipeline.slice_counter import SliceCounter
from cutline.pipeline.standing import Standing
from cutline.pipeline.words import WordPipeline
from cutline.text_encoder import TextEncoder

__all__ = ["WordCounter", "intervals", "split", "split_at", "text_cutter"]

_CHARACTERS_A_TOKEN = 8  # of the first window of `split_at`
_SHORT = 128  # characters: trying all ends costs less than growing
_MOST_GAP, _LEAST_GAP = 32, 8  # tokens from one start to the next


class WordCounter(SliceCounter):
    """The same for WordPiece and Unigram, in texts without added tokens.

    Cost: what is asked first encodes the text once; to cut all of it, by its runs. A count takes
    constant time in ordinary text: at most two parts of words are encoded; linear in the slice
    inside a word of Unigram without joints (docs/words.md, "Slices and cuts"), and where characters
    change one another without end. Memory is about 2 bytes a character.
    """

    _pipeline: WordPipeline

    def _build(self) -> None:
        """See `SliceCounter`: kernels are built when they are asked for."""
        self._sparse: tuple[int, WordIntervals] | None = None

    @cached_property
    def _kernel(self) -> WordIntervals:
        """What counts any slice."""
        return self._kernel_with(0)

    def _kernel_with(self, gap: int) -> WordIntervals:
        pipeline, text = self._pipeline, self._text
        return WordIntervals(
            pipeline.kernel, text, partial(EntangledParts, pipeline, text), gap=gap
        )

    def _kernel_for(self, n: int) -> WordIntervals:
        """Return what counts slices of about n tokens, each of which begins where one ends."""
        gap = _gap_for(n)
        if gap == 0 or "_kernel" in vars(self):
            return self._kernel
        sparse = self._sparse
        if sparse is None or sparse[0] > gap:
            sparse = self._sparse = gap, self._kernel_with(gap)
        return sparse[1]

    @property
    def total(self) -> int:
        """The tokens of the whole text."""
        return self._kernel.total

    @property
    def nbytes(self) -> int:
        """The memory it uses in bytes, without the text."""
        return self._kernel.nbytes

    def count(self, start: int, end: int) -> int:
        """Count the tokens of a slice; see `SliceCounter`."""
        start, end = index(start), index(end)
        self._check_span(start, end)
        return self._kernel.count(start, end)

    def count_many(self, spans: ArrayLike) -> NDArray[np.int64]:
        """Count the tokens of many slices: int64, shape (k,) for spans of shape (k, 2)."""
        return self._kernel.count_many(self._checked_rows(spans))

    def _counts_to(self, end: int, places: Iterable[int]) -> Iterator[int]:
        """See `SliceCounter`."""
        return (self.count(place, end) for place in places)

    def split_at(self, start: int, n: int) -> int:
        """Find the longest slice from a start that fits a token budget; see `SliceCounter`."""
        return self._kernel.split_at(*self._checked_start(start, n))

    @property
    def settled(self) -> int:
        """See `SliceCounter`."""
        return self._kernel.settled

    def cut_all(self, n: int, overlap: int = 0) -> memoryview:
        """Cut the text into slices of at most n tokens; rows of start, end, tokens, is last."""
        kernel = self._kernel if overlap else self._kernel_for(n)
        return kernel.cut_all(n, overlap)

    def cut_at_breaks(self, asked: BreakCuts) -> tuple[memoryview, int]:
        """Cut at the last breaks that fit; see `kernels/breaks/word_breaks`."""
        kernel = self._kernel_for(asked.n) if asked.overlap is None else self._kernel
        return cut_words_at_breaks(kernel, *asked)


def _gap_for(n: int) -> int:
    """Return the gap between starts for slices of n tokens that share nothing; 0: none."""
    gap = min(_MOST_GAP, n // 8)
    return gap if gap >= _LEAST_GAP else 0


class TokenCounter(WordCounter):
    """The same where a text has added tokens, and it is known which ones each slice has."""

    @cached_property
    def _standing(self) -> Standing | None:
        """These tokens; who knows them already sets them."""
        return self._pipeline.added.standing(self._text)

    def _kernel_with(self, gap: int) -> WordIntervals:
        pipeline, text = self._pipeline, self._text
        parts_of = partial(EntangledParts, pipeline, text)
        kernel = TokenIntervals(pipeline.kernel, text, parts_of, gap=gap)
        assert self._standing is not None
        kernel.add_tokens(*self._standing, self._counter_of)
        return kernel

    def _counter_of(self, text: str) -> WordIntervals:
        return WordCounter(self._pipeline, self._encoding, text)._kernel


class _PartCounter(SliceCounter):
    """The same where a text has other added tokens.

    Counts add up at safe split points, and at the end of an added token for slices that have all of
    it. Between two of these no slice has an added token.

    Cost: building encodes the text once, part by part. A cut is linear in what it keeps, if added
    tokens strip no white space. Else it tries each end after the last safe split point that fits.
    """

    _pipeline: WordPipeline

    def _build(self) -> None:
        """See `SliceCounter`."""
        text = self._text
        self._tokens = {end: start for start, end in self._pipeline.safe_points.after_tokens(text)}
        self._points = sorted({*self._pipeline.safe_points.find(text), *self._tokens})
        # Of each point the last place where a slice may start.
        self._last_starts = [self._tokens.get(point, point - 1) for point in self._points]
        counts = [self._count_after(start, end) for start, end in pairwise(self._points)]
        self._before = np.cumsum([0, *counts], dtype=np.int64)

    def _first_point(self, start: int) -> int:
        """See `SliceCounter`."""
        return bisect_left(self._last_starts, start)

    def _count_after(self, start: int, end: int) -> int:
        """Count the tokens of a slice that begins at a point."""
        part = self._text[start:end]
        is_own = start in self._tokens
        return self._encoding.count(part) if is_own else self._encoding._count_after(part)

    def _longest_fit(self, start: int, point: int, end: int, n: int) -> int:
        """Find the greatest end, up to `end`, of a slice that begins at a point.

        What is not a text of its own is counted with the character before it, whose tokens are
        apart.
        """
        text, count = self._text, self._encoding.count
        begin = point if point == start or point in self._tokens else point - 1
        n += count(text[begin:point])
        while end > point:
            found = self._longest_without_tokens(begin, end, n)
            if found is None and end - point > _SHORT:
                found = self._longest_grown(begin, end, n)
            if found is not None:
                return max(point, found)
            if count(text[begin:end]) <= n:
                return end
            end -= 1
        return point

    def _longest_without_tokens(self, begin: int, end: int, n: int) -> int | None:
        """Find the greatest end of a slice without added tokens; None: it has some."""
        encoding, text = self._encoding, self._text
        width = _CHARACTERS_A_TOKEN * min(n, end - begin) + 256
        while True:
            stop = min(end, begin + width)
            beyond = self._pipeline.added.place_after(text, stop)
            if self._pipeline.added.may_be_in(text[begin : min(end, beyond)]):
                return None
            counter = WordCounter(self._pipeline, encoding, text[begin:stop])
            if stop == end or counter.settled > n:
                return begin + counter.split_at(0, n)
            width *= 4


def intervals(
    pipeline: WordPipeline, encoding: TextEncoder, text: str, *, byte_offsets: bool = False
) -> WordCounter | _PartCounter:
    """Return a counter for the slices of a text; see `Encoding.intervals`."""
    text = plain_text(text)
    need_no_surrogates(text)
    if byte_offsets and not text.isascii():
        raise ValueError(
            f"{encoding.name!r} changes texts before it splits them: slices are counted by code "
            "points only"
        )
    standing = pipeline.added.standing(text)
    if standing is None and pipeline.added.may_be_in(text):
        return _PartCounter(pipeline, encoding, text)
    if standing is None or not len(standing.spans):
        return WordCounter(pipeline, encoding, text)
    counter = TokenCounter(pipeline, encoding, text)
    counter._standing = standing
    return counter


def text_cutter(
    pipeline: WordPipeline,
    encoding: TextEncoder,
    n: int,
    min_fill: float,
    kinds: "array[int]",
    overlap: Overlap | None,
) -> tuple[Callable[[], WordTexts], Callable[[str], bool]]:
    """Return what makes a cutter of many texts, and which of them it takes: see `WordTexts`."""
    gap = 0 if overlap is not None else _gap_for(n)
    make = partial(WordTexts, pipeline.kernel, n, min_fill, kinds, overlap, gap)
    return make, lambda text: not pipeline.added.may_be_in(text)


def split_at(pipeline: WordPipeline, encoding: TextEncoder, text: str, n: int, start: int) -> int:
    """Find the longest slice that fits; see `Encoding.split_at`."""
    text, n, start = plain_text(text), checked_budget(n, "n"), index(start)
    if not 0 <= start <= len(text):
        raise OffsetError(f"start must be from 0 to {len(text)}, the text's length, got {start}")
    width = _CHARACTERS_A_TOKEN * min(n, len(text)) + 256
    while True:
        utf8_of(text[start : start + width], start)
        counter = _counter_of_window(pipeline, encoding, text, start, start + width)
        if len(counter) == len(text) - start or counter.settled > n:
            return start + counter.split_at(0, n)
        width *= 4


def _counter_of_window(
    pipeline: WordPipeline, encoding: TextEncoder, text: str, start: int, stop: int
) -> WordCounter | _PartCounter:
    """Return a counter for a part of a text across whose end no added token of the text lies.

    Nor do others that overlap it.
    """
    if stop >= len(text):
        return intervals(pipeline, encoding, text[start:])
    width, wider = stop - start, text[start : pipeline.added.place_after(text, stop)]
    standing = pipeline.added.standing(wider)
    if standing is None and pipeline.added.may_be_in(wider):
        return _PartCounter(pipeline, encoding, wider[:width])
    if standing is not None:
        groups = standing.groups
        across = groups[(groups[:, 0] < width) & (groups[:, 1] > width), 0]
        width = int(across[0]) if len(across) else width
    return intervals(pipeline, encoding, wider[:width])


def split(
    pipeline: WordPipeline, encoding: TextEncoder, text: str, chunk_size: int, chunk_overlap: int
) -> list[Chunk]:
    """Cut a text into chunks; see `Encoding.split`."""
    text = plain_text(text)
    chunk_size, chunk_overlap = checked_sizes(chunk_size, chunk_overlap)
    counter = intervals(pipeline, encoding, text)
    least = encoding._most_tokens_of_a_character
    if not isinstance(counter, WordCounter):
        count_slices = partial(intervals, pipeline, encoding)
        return cutting.split_by_counting(count_slices, text, chunk_size, chunk_overlap, least)
    places = counter.cut_all(chunk_size, chunk_overlap)
    reached = places[-3] if len(places) else 0
    if reached < len(text):
        tokens = counter.count(reached, reached + 1)
        raise too_large(text[reached], reached, tokens, chunk_size, least())
    return make_chunks(Chunk, text, places, ("character", "end"), offset=0, index=0)
