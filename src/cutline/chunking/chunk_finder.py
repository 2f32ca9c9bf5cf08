"""Finding the end of the next chunk: the longest fitting prefix, then its best boundary.

`split_at` gives the longest prefix that fits, so no later boundary does. Each level in turn is
searched for its last boundary up to there; the first one that fills the chunk wins. Counts come
from one `IntervalCounter`: no candidate is encoded. Source: docs/chunking.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import takewhile
from math import ceil
from operator import attrgetter, index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from cutline.chunking.chunk_run import ChunkRun
from cutline.chunking.levels import Level
from cutline.chunking.outline import PLAIN, Outline
from cutline.chunking.plain_finder import PlainFinder, cuts_at_breaks
from cutline.chunking.rules import Rules
from cutline.chunking.stretch import END, Stretch
from cutline.chunks import Chunk, too_large
from cutline.counting import IntervalCounter
from cutline.encoding import Encoding
from cutline.errors import BudgetError
from cutline.kernels.base.chunks import make_chunk
from cutline.kernels.base.late import numpy as np  # few rules need it
from cutline.kernels.breaks.breaks import keep_graphemes, says_something
from cutline.protocols import SliceCounter
from cutline.template import LEFT_OUT, SENT_TOKENS, TABLE_HEADER

if TYPE_CHECKING:
    from cutline.chunking.sending import Around, Sending
    from cutline.counting.together import Together
    from cutline.counting.units import UnitSlices

__all__ = ["ChunkFinder", "Cut"]

_GUESSES = 6  # attempts to estimate the budget that `count_text` leaves; then halve it
_ATTEMPTS = 70
_AT_ONCE = 64
_NEAR = 64


class Cut(NamedTuple):
    """A slice of the text that becomes a chunk; `fresh` is where its new text begins."""

    start: int
    end: int
    tokens: int
    boundary: str
    fresh: int


class ChunkFinder:
    """Cuts one text by some rules.

    Args:
        text: the text.
        counter: counts slices of the text.
        rules: the chunker's options.
        outline: the structure of the text, if it has one.
        offset: the text's offset in the source.
        encoding: made the counter; used for templates, and to find a size that fits any character.
        end_name: the name of the boundary at the end of the text.
    """

    def __init__(
        self,
        text: str,
        counter: SliceCounter,
        rules: Rules,
        outline: Outline = PLAIN,
        offset: int = 0,
        encoding: Any = None,
        end_name: str = END,
    ) -> None:
        self._encoding = encoding
        self._text = text
        # What shares text or compares lengths counts in the first tokenizer alone.
        self._own = self._counter = counter
        self._others = [(limit.measure.intervals(text), limit.most) for limit in rules.also_fits]
        self._obey(rules)
        self._outline = outline
        self._offset = offset
        # Where the last chunk ends, and the name of the boundary there.
        self._end, self._end_name = len(text), end_name
        self._levels = (*outline.levels, *rules.levels)
        self._plain: PlainFinder | None = None
        self._begin_plain(text, counter, rules, offset, end_name)

    def _begin_plain(
        self, text: str, counter: SliceCounter, rules: Rules, offset: int, end_name: str
    ) -> None:
        """Make what finds many chunks at once, if the rules and the counter are such."""
        sending, others, outline = self._sending, self._others, self._outline
        is_plain = rules.counts_slices and outline is PLAIN
        if rules.chunk_overlap:
            is_plain = is_plain and len(rules.known_overlaps) == len(rules.overlap_levels)
        is_plain = is_plain and (sending is None or sending.is_before)
        is_alone = not (others or rules.stable)
        if is_plain and isinstance(counter, IntervalCounter) and _are_indexed(others):
            self._plain = PlainFinder(text, counter, others, rules, offset, end_name, sending)
        elif is_plain and is_alone and cuts_at_breaks(counter):
            self._plain = PlainFinder(text, counter, (), rules, offset, end_name, sending)
        elif (
            rules.counts_slices
            and is_alone
            and sending is None
            and (isinstance(counter, IntervalCounter) or cuts_at_breaks(counter))
            and rules.are_known
        ):
            self._plain = PlainFinder(text, counter, (), rules, offset, end_name, outline=outline)
        if self._plain is not None:
            self._begin_sending(0, 0)  # the same for all chunks

    def _obey(self, rules: Rules) -> None:
        """Make what counts by some rules; of the first ones only the chunk size may change."""
        self._rules = rules
        self._keeps_graphemes = rules.keeps_graphemes
        self._joint: Together | None = None
        self._sending: Sending | None = None
        # Where a chunk begins that has no room for its headings.
        self._bare: set[int] = set()
        limits: list[tuple[SliceCounter, int]] = [*self._others]
        if rules.template is not None:
            from cutline.chunking.sending import Sending

            self._sending = Sending(
                rules.template, self._encoding, rules.chunk_size, self._text, self._own,
                self._others, rules.also_fits,
            )  # fmt: skip
            limits += self._sending.limits
        if limits:
            from cutline.counting.together import Together

            self._counter = self._joint = Together(self._own, limits, len(self._text))

    def resized(self, rules: Rules) -> ChunkFinder:
        """Return a finder which shares what was made for the text, for use by `within`.

        Args:
            rules: those of this finder with another chunk size.
        """
        twin = copy(self)
        twin._obey(rules)
        return twin

    def within(self, stretch: Stretch) -> tuple[ChunkFinder, int]:
        """Return a finder for a stretch of the text, and the offset of the text that it has: 0."""
        twin = copy(self)
        twin._plain = None  # it cuts with the first size, up to the end of the text
        twin._end, twin._end_name = stretch.end, stretch.end_name
        return twin, 0

    @property
    def outline(self) -> Outline:
        """The structure of the text."""
        return self._outline

    def next_chunks(self, start: int, floor: int, until: int, index: int) -> ChunkRun | None:
        """Find the chunks that `next_cut` would find, up to the first that needs a search."""
        if self._plain is None or floor >= until:
            return None
        return self._plain.chunks(start, floor, until, index, self._elsewhere)

    def next_cut(self, start: int, floor: int, index: int = 0) -> Cut:
        """Find the chunk after the one from `start` to `floor`; for the first chunk: 0, 0.

        The template may ask for its index.

        Its `start` is the earliest that the overlap allows, and its end is after `floor`. With
        `strip`, both may be at white space that the chunk omits. The overlap is reduced if the
        next grapheme would not fit with it.

        Raises:
            BudgetError: the character at `floor` alone is too large.
        """
        alone: Cut | None = None
        torn: Cut | None = None
        self._begin_sending(floor, index)
        for candidate in self._starts(start, floor):
            cut = self._cut_from(candidate, floor)
            if cut is None:
                continue
            if not self._tears(cut.start, cut.end):
                return cut
            if torn is None:
                torn, alone = cut, self._cut_from(floor, floor)
            if alone is None or self._tears(floor, alone.end):
                return torn  # the grapheme is larger than the budget
        if torn is None:
            if self._sending is None or floor in self._bare:
                raise self._too_large(floor)
            self._bare.add(floor)
            return self.next_cut(start, floor, index)
        return torn

    def _begin_sending(self, fresh: int, index: int) -> Around | None:
        """Count what is sent for a chunk whose new text begins here, and return what is around."""
        if self._sending is None:
            return None
        headings, header = self._outline.headings_at(fresh), self._outline.table_header_at(fresh)
        return self._sending.begin(headings, header, bare=fresh in self._bare, index=index)

    def _tears(self, start: int, place: int) -> bool:
        """Whether a cut splits a grapheme that is to be kept; text before `start` is ignored."""
        if not self._keeps_graphemes:
            return False
        return not keep_graphemes(self._text, start, (place,))

    def chunk(self, cut: Cut, index: int) -> Chunk:
        """Make the chunk of a cut."""
        start, end = self._inner(cut.start, cut.end)
        metadata = {"boundary": cut.boundary, **self._outline.metadata(cut.start, cut.end)}
        around = self._begin_sending(cut.fresh, index)
        if around is not None and self._sending is not None:
            metadata[SENT_TOKENS] = self._sending.tokens(start, end)
            if around.left_out:
                metadata[LEFT_OUT] = around.left_out
            if around.table_header:
                metadata[TABLE_HEADER] = around.table_header
        return make_chunk(
            Chunk,
            self._text,
            start,
            end,
            self._offset,
            cut.tokens,
            index,
            self._outline.headings_at(max(start, min(cut.fresh, end - 1))),
            metadata,
        )

    def skip_space(self, floor: int) -> int:
        """Skip white space, if it is stripped."""
        if not self._rules.strip:
            return floor
        text, end = self._text, self._end
        while floor < end and text[floor].isspace():
            floor += 1
        return floor

    # Starts

    def _starts(self, start: int, floor: int) -> Sequence[int]:
        """List the possible starts of the next chunk, the earliest first."""
        if self._rules.chunk_overlap and floor > start:
            return (*self._overlaps(*self._inner(start, floor))[::-1], floor)
        return (floor,)

    def _overlaps(self, start: int, end: int) -> list[int]:
        """Step back at the best level whose overlap has more than white space and punctuation."""
        levels = self._rules.overlap_levels
        # Without levels the overlap is a plain window of tokens.
        takes_any = levels[0].is_vital
        for level in levels:
            starts = self._steps_back(level, start, end, takes_any)
            if starts and (takes_any or says_something(self._text, starts[-1], end)):
                return starts
        return []

    def _steps_back(self, level: Level, start: int, end: int, takes_any: bool) -> list[int]:
        """Step back from boundary to boundary while the text up to `end` fits the overlap."""
        overlap, text = self._rules.chunk_overlap, self._text
        # Estimate from the chunk's characters per token, plus half.
        width = 3 * overlap * (end - start) // (2 * max(self._own.count(start, end), 1)) + 1
        while True:
            begin = max(start, end - width)
            places: list[int] = []
            if takes_any or says_something(text, begin, end):
                places = [*reversed(level.every(text, start, begin, end - 1))]
                if self._rules.strip or self._outline is not PLAIN:
                    places = [*filter(self._may_overlap, places)]
            counts = self._counts_to(end, places)
            fitting = sum(1 for _ in takewhile(lambda tokens: tokens <= overlap, counts))
            if fitting < len(places):
                return places[:fitting]
            if begin == start:
                return places
            if self._own.count(begin, end) > overlap:
                return places + self._steps_from(level, start, begin, end)
            width *= 4

    def _steps_from(self, level: Level, start: int, place: int, end: int) -> list[int]:
        """Step back one boundary at a time: usually, the first one is already too far."""
        places = []
        while place > start and (place := level.last(self._text, start, start, place)) > start:
            if self._may_overlap(place):
                if self._own.count(place, end) > self._rules.chunk_overlap:
                    break
                places.append(place)
            place = min(place - 1, self._outline.before_closed(place))
        return places

    def _may_overlap(self, place: int) -> bool:
        """Whether an overlap may begin at a boundary."""
        if self._rules.strip and self._text[place].isspace():
            return False
        return not self._outline.is_closed(place)

    def _counts_to(self, end: int, places: Sequence[int]) -> Iterator[int]:
        """Count from each place to an end, lazily; the places fall."""
        for first in range(0, len(places), _AT_ONCE):
            if first and isinstance(self._own, IntervalCounter):
                tails = self._own._count_tails(places[-1] - 1, end)
                yield from map(int, tails[end - 1 - np.array(places[first:])])
                return
            if first and hasattr(self._own, "_counts_to"):
                yield from self._own._counts_to(end, places[first:])
                return
            spans = [(place, end) for place in places[first : first + _AT_ONCE]]
            yield from self._own.count_many(spans)

    # Ends

    def evened(self, floor: int, first: Cut, last: Cut, index: int = 0) -> tuple[Cut, Cut]:
        """Move the cut between the last two chunks, if the last is small.

        Args:
            floor: the end of the chunk before both.
            first: the last chunk but one.
            last: the last chunk.
            index: of the first.
        """
        self._begin_sending(floor, index)
        size = self._rules.chunk_size
        longest = self._longest(first.start, size)
        fill = ceil(self._rules.min_fill * self._most(first.start, longest, size))
        if last.tokens >= fill:
            return first, last
        best = first, last
        half = (self._own.count(*self._inner(first.start, last.end)) + 1) // 2
        # A slice that ends after the last chunk may have fewer tokens.
        middle = min(last.end, max(floor + 1, self._own.split_at(first.start, half)))
        for level in self._levels:
            nearest = level.last(self._text, first.start, floor, middle)
            following = level.every(self._text, first.start, middle, first.end)
            for place in (nearest, *following[:1]):
                pair = self._pair(floor, first.start, place, last.end, level, index)
                if pair is not None and _smaller(pair) > _smaller(best):
                    best = pair
            if _smaller(best) >= fill:
                break
        return best

    def _pair(
        self, floor: int, start: int, place: int, end: int, level: Level, index: int
    ) -> tuple[Cut, Cut] | None:
        """Make two chunks that meet at a place; None if one of them is too large."""
        size = self._rules.chunk_size
        self._begin_sending(floor, index)
        if place <= floor or self._outline.limit(self._counter, start, place, size) < place:
            return None
        if self._tears(start, place):
            return None
        first = Cut(start, place, self._tokens(start, place), level.name, floor)
        if not self._is_within(first):
            return None
        fresh = self.skip_space(place)
        self._begin_sending(fresh, index + 1)
        for candidate in self._starts(start, fresh):
            last = Cut(candidate, end, self._tokens(candidate, end), self._end_name, fresh)
            if self._is_within(last):
                return first, last
        return None

    def _is_within(self, cut: Cut) -> bool:
        size = self._rules.chunk_size
        if cut.tokens > size:
            return False
        return self._rules.count_text is None or self._sent(cut) <= size

    def _cut_from(self, start: int, floor: int) -> Cut | None:
        """Find the end of a chunk from `start` on, after `floor`; None if nothing more fits."""
        rules, budget = self._rules, self._rules.chunk_size
        for attempt in range(_ATTEMPTS):
            cut = self._best(start, floor, budget)
            if cut is None or rules.count_text is None:
                return cut
            sent = self._sent(cut)
            if sent <= rules.chunk_size:
                return cut
            budget = min(budget, cut.tokens)
            if attempt >= _GUESSES:
                budget //= 2
            else:
                # The overhead is either constant or proportional to the text.
                less = budget - (sent - rules.chunk_size)
                scaled = min(budget - 1, budget * rules.chunk_size // sent)
                budget = less if 2 * less > scaled else scaled
            if budget < 1:
                break
        return self._smallest(start, floor)

    def _sent(self, cut: Cut) -> int:
        """Return the tokens that are sent, by `count_text`."""
        assert self._rules.count_text is not None
        sent = self._rules.count_text(self.chunk(cut, 0))
        try:
            return index(sent)
        except TypeError:
            kind = type(sent).__name__
            raise TypeError(f"count_text must return an int, got {kind} {sent!r}") from None

    def _smallest(self, start: int, floor: int) -> Cut | None:
        """Make the smallest possible chunk, the last resort with `count_text`."""
        for level in filter(attrgetter("is_vital"), self._rules.levels):  # the finest
            for place in level.every(self._text, start, floor, self._end_near(floor))[:1]:
                cut = Cut(start, place, self._tokens(start, place), level.name, floor)
                if self._is_within(cut):
                    return cut
        return None

    def _end_near(self, floor: int) -> int:
        """Return the end of the text that is searched for graphemes after a place."""
        return min(self._end, floor + _NEAR)

    def _best(self, start: int, floor: int, budget: int) -> Cut | None:
        """Find the best end within a budget of the chunk's own tokens."""
        fit_end = self._longest(start, budget)
        if fit_end <= floor:
            return None
        longest = fit_end
        if fit_end == self._end:
            tokens = self._tokens(start, fit_end)
            if tokens <= budget:
                return Cut(start, fit_end, tokens, self._end_name, floor)
            fit_end -= 1  # stripped text, or only a part of what fits, can have more tokens
        # A unit at `floor` may fit alone but not together with the overlap.
        first = floor + 1 if start == floor else floor
        limit = self._outline.limit(self._counter, first, fit_end, budget)
        if limit <= floor:
            return None
        if limit == fit_end:
            most = self._most(start, longest, budget)
        else:
            most = min(budget, self._tokens(start, limit))
        fill = ceil(self._rules.min_fill * most)
        return self._at_best_level(self._levels, start, floor, limit, budget, fill)

    def _most(self, start: int, longest: int, budget: int) -> int:
        """Return how many tokens a chunk can have: less than the budget, if another limit ends it.

        Args:
            start: of the chunk.
            longest: the end of the longest prefix within the budget and all limits.
            budget: of tokens.
        """
        joint = self._joint
        if joint and joint.is_cut_short(self.skip_space(start), longest, budget):
            return min(budget, self._tokens(start, longest))
        return budget

    def _longest(self, start: int, budget: int) -> int:
        """Return the end of the longest prefix within a budget and all limits."""
        return min(self._counter.split_at(self.skip_space(start), budget), self._end)

    def _elsewhere(self, start: int, fit_end: int) -> tuple[int, int, str]:
        """Find the best end at the levels that `PlainFinder` does not support."""
        assert self._plain is not None
        levels, size = self._plain.other_levels, self._rules.chunk_size
        fill = ceil(self._rules.min_fill * self._most(start, fit_end, size))
        cut = self._at_best_level(levels, start, start, fit_end, size, fill)
        assert cut is not None  # the character level always has `fit_end`
        return cut.end, cut.tokens, cut.boundary

    def _at_best_level(
        self, levels: Sequence[Level], start: int, floor: int, fit_end: int, budget: int, fill: int
    ) -> Cut | None:
        """Find the best end at some levels; the last of them has all places."""
        too_early = floor
        for level in levels:
            place = level.last(self._text, start, floor, fit_end)
            # Mostly a boundary of a better level is one of this, too: it has as few tokens.
            if place == too_early and not level.is_vital:
                continue
            cut = self._at_level(level, place, start, floor, budget, fill)
            if cut is not None:
                if cut.tokens >= fill or level.is_vital:
                    return cut
                too_early = cut.end
        return None

    def _at_level(
        self, level: Level, place: int, start: int, floor: int, budget: int, fill: int
    ) -> Cut | None:
        """Find the last boundary of a level that fits, or with `stable` that of the best hash.

        Its last boundary that may fit is at `place`; there is none if that is not after `floor`.
        """
        tokens = 0
        while place > floor:
            # Skip places inside units that fit on their own, and those over budget after stripping.
            free = place
            if not level.is_vital:
                free = self._outline.limit(self._counter, floor, place, budget)
            if free == place and (tokens := self._tokens(start, place)) <= budget:
                break
            place = level.last(self._text, start, floor, min(free, place - 1))
        if place <= floor:
            return None
        if self._rules.stable and tokens >= fill:
            place, tokens = self._chosen(level, start, floor, place, budget, fill)
        return Cut(start, place, tokens, level.name, floor)

    def _chosen(
        self, level: Level, start: int, floor: int, fit_end: int, budget: int, fill: int
    ) -> tuple[int, int]:
        """Choose the boundary with the highest hash of the text around it; on a tie, the last."""
        earliest = max(floor, self._own.split_at(start, max(fill - 1, 0)))
        earliest = min(earliest, fit_end)  # counts are not monotone
        found = level.every(self._text, start, earliest, fit_end)
        if isinstance(found, range):  # 20 times as fast for the character level
            places = np.arange(found.start, found.stop)
        else:
            places = np.array(found, dtype=np.int64)
        from cutline.chunking.hashing import hashes_around

        hashes = hashes_around(self._text, start, earliest, fit_end)[places - earliest]
        for place in map(int, places[np.argsort(hashes, kind="stable")[::-1]]):
            tokens = self._tokens(start, place)
            if fill <= tokens <= budget:
                return place, tokens
        return fit_end, self._tokens(start, fit_end)

    # Tokens and stripping

    def _tokens(self, start: int, end: int) -> int:
        return self._counter.count(*self._inner(start, end))

    def _inner(self, start: int, end: int) -> tuple[int, int]:
        """Strip white space from the ends of a slice, with `strip`."""
        if not self._rules.strip:
            return start, end
        part = self._text[start:end]
        start += len(part) - len(part.lstrip())
        return start, max(start, end - (len(part) - len(part.rstrip())))

    def _too_large(self, floor: int) -> BudgetError:
        character, size, place = self._text[floor], self._rules.chunk_size, self._offset + floor
        if self._own.count(floor, floor + 1) <= size < self._counter.count(floor, floor + 1):
            from cutline.counting.limits import over_limit

            limits = self._rules.also_fits
            if self._sending is not None and all(
                limit.measure.count(character) <= limit.most for limit in limits
            ):
                return self._sending.no_room(character, place)
            return over_limit(character, place, limits)
        if self._rules.count_text is not None:
            return BudgetError(
                f"count_text leaves no room at offset {place}: with character {character!r} alone "
                f"it is more than chunk_size={size}; shorten what is sent with each chunk, or "
                "raise chunk_size"
            )
        tokens = self._own.count(floor, floor + 1)
        encoding = self._encoding
        least = encoding._most_tokens_of_a_character() if isinstance(encoding, Encoding) else None
        return too_large(character, place, tokens, size, least)


def _are_indexed(
    others: list[tuple[SliceCounter, int]],
) -> TypeGuard[list[tuple[IntervalCounter | UnitSlices, int]]]:
    """Return whether a kernel can count the slices for further limits."""
    if not others:
        return True
    from cutline.counting.units import UnitSlices

    return all(isinstance(counter, IntervalCounter | UnitSlices) for counter, _ in others)


def _smaller(pair: tuple[Cut, Cut]) -> int:
    return min(cut.tokens for cut in pair)
