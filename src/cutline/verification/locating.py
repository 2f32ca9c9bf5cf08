"""Locating chunks in their text, if they have no offsets or wrong ones.

A chunk of repeated text can occur at many positions. All chains of positions without findings are
followed in parallel, up to a bounded number. Only if none is left, the chain that has come
farthest continues with the least wrong position: the chunk's own offset, if the chunk occurs
there. So repetition alone never makes a finding, as long as the number of chains suffices; offsets
that were found by searching, and are those of another occurrence, do.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cutline.verification.duck_typing import ReadChunk

__all__ = ["Place", "locate", "span_holds", "uncovered"]

Count = Callable[[str], int]

_MOST_CHAINS = 32
# Candidate positions at either end of the range in which an overlap can begin, and how much
# farther back than found by bisection, since counts are not monotone.
_MOST_PLACES, _SLACK = 32, 16
# Searches of the whole text for chunks that are not near their expected position.
_WIDE_SEARCHES = 32
_NEAR, _MOST_PENDING = 10_000, 100_000
_WHITE_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk's position, linked to those of the chunks before it.

    Attributes:
        start: the start of the found part of the chunk; None: it was not found.
        end: the end of that part.
        covered: the farthest end so far.
        last_start: the start of the last chunk that was found.
        previous: the place of the chunk before.
    """

    start: int | None
    end: int | None
    covered: int
    last_start: int
    previous: "Place | None"

    def then(self, start: int, end: int) -> "Place":
        """Return the place of the next chunk."""
        return Place(start, end, max(self.covered, end), start, self)

    def nowhere(self) -> "Place":
        """Return the place of a next chunk that was not found."""
        return Place(None, None, self.covered, self.last_start, self)


def span_holds(text: str, chunk: ReadChunk) -> bool:
    """Return whether a chunk has offsets and occurs there."""
    start, end = chunk.start, chunk.end
    if start is None or start < 0:
        return False
    if end is not None and end != start + len(chunk.text):
        return False
    return text.startswith(chunk.text, start) and start + len(chunk.text) <= len(text)


def uncovered(
    spans: Iterable[tuple[int, int, int]], length: int
) -> Iterator[tuple[int, int, int | None]]:
    """Yield the parts of a text outside numbered spans, with the number of the next span."""
    covered = 0
    for start, end, number in sorted(spans):
        if start > covered:
            yield covered, start, number
        covered = max(covered, end)
    if covered < length:
        yield covered, length, None


def locate(
    text: str, chunks: Sequence[ReadChunk], count: Count, chunk_overlap: int, strip: bool
) -> list[Place]:
    """Find a place for every chunk, from left to right."""
    search = _Search(text, count, chunk_overlap, strip)
    chains = [Place(None, None, 0, -1, None)]
    # Assume equal overlaps: distribute the characters that the chunks have beyond the text.
    excess = sum(len(chunk.text) for chunk in chunks) - len(text)
    shared_each = excess / max(1, len(chunks) - 1)
    passed = 0
    for number, chunk in enumerate(chunks):
        said = chunk.start if span_holds(text, chunk) else None
        passed += len(chunk.text)
        chains = search.next_places(chains, chunk.text, said, passed - number * shared_each)
    places: list[Place] = []
    place = _farthest(chains)
    while place.previous is not None:
        places.append(place)
        place = place.previous
    return places[::-1]


class _Search:
    def __init__(self, text: str, count: Count, chunk_overlap: int, strip: bool) -> None:
        self._text = text
        self._count = count
        self._overlap = chunk_overlap
        self._strip = strip
        self._wide_searches = _WIDE_SEARCHES
        self._pending = 0  # characters of chunks since the last one found
        self._white: tuple[int, int] = (0, -1)

    def next_places(
        self, chains: list[Place], part: str, said: int | None, expected: float
    ) -> list[Place]:
        """Extend all chains without findings, or if there are none, the least wrong one."""
        if said is not None:
            following = [chain for chain in chains if self._follows(chain, part, said)]
            if following:
                return self._found([_farthest(following).then(said, said + len(part))])
        if chain_ends := self._go_on(chains, part, self._faultless):
            return self._found(_some(chain_ends, expected))
        if said is not None:
            return self._found([_farthest(chains).then(said, said + len(part))])
        if chain_ends := self._go_on(chains, part, self._after_white_space):
            return self._found(_some(chain_ends, expected))
        place = self._least_wrong(_farthest(chains), part)
        if place.start is not None:
            return self._found([place])
        self._pending += len(part)
        return [place]

    def _found(self, chains: list[Place]) -> list[Place]:
        self._pending = 0
        return chains

    def _go_on(
        self, chains: list[Place], part: str, ways: Callable[[Place, str], Iterator[int]]
    ) -> list[Place]:
        """Append the chunk to every chain at every candidate start; keep one chain for each end."""
        found = {
            start + len(part): chain.then(start, start + len(part))
            for chain in chains
            for start in ways(chain, part)
        }
        return sorted(found.values(), key=lambda place: place.covered)

    def _follows(self, chain: Place, part: str, start: int) -> bool:
        """Return whether a start continues the chain without a finding."""
        if start >= chain.covered:
            return start == chain.covered or (
                self._strip and start <= self._white_space_end(chain.covered)
            )
        adds = start > chain.last_start and start + len(part) > chain.covered
        return adds and 0 < self._count(self._text[start : chain.covered]) <= self._overlap

    def _faultless(self, chain: Place, part: str) -> Iterator[int]:
        """Yield the starts without findings."""
        if self._text.startswith(part, chain.covered):
            yield chain.covered
        if self._strip:
            yield from self._after_white_space(chain, part)
        if self._overlap and part:
            yield from self._overlapping(chain, part)

    def _overlapping(self, chain: Place, part: str) -> Iterator[int]:
        """Yield the starts before the chain's end whose overlap is within its limit.

        If there are many: those with the largest overlap, which chunkers aim at, and those
        with the smallest.
        """
        lowest = max(chain.last_start + 1, chain.covered - len(part) + 1)
        last = (
            chain.covered + len(part) - 1
        )  # a match that begins before the chain's end must end before this
        starts: list[int] = []
        start = self._shared_start(lowest, chain.covered) - 1
        while len(starts) < _MOST_PLACES and (start := self._text.find(part, start + 1, last)) >= 0:
            starts.append(start)
        lowest = starts[-1] + 1 if starts else last
        start = chain.covered
        for _ in range(_MOST_PLACES):
            start = self._text.rfind(part, lowest, start + len(part) - 1)
            if start < 0:
                break
            starts.append(start)
        for start in starts:
            if self._count(self._text[start : chain.covered]) <= self._overlap:
                yield start

    def _shared_start(self, lowest: int, end: int) -> int:
        """Bisect for the first start of the overlap, with slack: counts are not monotone."""
        low, high = lowest, end
        while low < high:
            middle = (low + high) // 2
            if self._count(self._text[middle:end]) <= self._overlap:
                high = middle
            else:
                low = middle + 1
        return max(lowest, low - _SLACK)

    def _after_white_space(self, chain: Place, part: str) -> Iterator[int]:
        """Yield the start after stripped white space, if nothing else is missing."""
        end = self._white_space_end(chain.covered)
        own = len(part) - len(part.lstrip())
        blank = own == len(part)
        start = self._text.find(part, chain.covered, end) if blank else end - own
        if start > chain.covered and self._text.startswith(part, start):
            yield start

    def _white_space_end(self, start: int) -> int:
        if self._white[0] != start or self._white[1] < 0:
            match = _WHITE_SPACE.match(self._text, start)
            self._white = (start, match.end() if match else start)
        return self._white[1]

    def _least_wrong(self, chain: Place, part: str) -> Place:
        """Locate a chunk with a finding: overlapping, later, in part, or earlier."""
        lowest = max(0, chain.last_start + 1, chain.covered - len(part) + 1)
        start = self._text.rfind(part, lowest, chain.covered + len(part))
        if start < 0:
            start = self._find_near(chain, part)
        if start >= 0:
            return chain.then(start, start + len(part))
        core = part.strip("\ufffd")  # left at the ends by decoding a partial character
        if core and core != part:
            start = self._find_near(chain, core)
            if start >= 0:
                return chain.then(start, start + len(core))
        if self._wide_searches:
            self._wide_searches -= 1
            start = self._text.find(part, chain.covered)
            if start < 0:
                start = self._text.rfind(part, 0, chain.covered)
            if start >= 0:
                return chain.then(start, start + len(part))
        return chain.nowhere()

    def _find_near(self, chain: Place, part: str) -> int:
        pending = min(self._pending, _MOST_PENDING) + len(part)
        return self._text.find(part, chain.covered, chain.covered + pending + _NEAR)


def _farthest(chains: list[Place]) -> Place:
    return max(chains, key=lambda place: place.covered)


def _some(chains: list[Place], expected: float) -> list[Place]:
    """Keep some of many chains: those nearest to the expected end, and a sample of the rest."""
    if len(chains) <= _MOST_CHAINS:
        return chains
    near = sorted(chains, key=lambda place: abs(place.covered - expected))[: _MOST_CHAINS // 2]
    return near + chains[:: 2 * len(chains) // _MOST_CHAINS]
