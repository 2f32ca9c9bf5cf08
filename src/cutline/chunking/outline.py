"""What a text's syntax says while it is cut: levels, what stays whole, headings."""

from bisect import bisect_left

from cutline.chunking.levels import MarkLevel
from cutline.chunking.structure import Structure
from cutline.protocols import SliceCounter

__all__ = ["PLAIN", "Outline"]

# An overlap inside one of these would be misread: fenced code without its fence is prose.
_CLOSED_KINDS = frozenset({"code", "front matter", "html", "table"})


class Outline:
    """What the structure of a text says about each chunk.

    Attributes:
        levels: of the structure, the best first.
    """

    def __init__(self, structure: Structure) -> None:
        self.levels = tuple(map(MarkLevel, structure.names, structure.marks))
        self.headings_at = structure.headings_at
        self.metadata = structure.metadata
        self._kind_around = structure.kind_around
        self._has_closed = any(kind in _CLOSED_KINDS for _, _, kind in structure.regions)
        # Starts and ends of units, by nesting depth.
        self._starts: list[list[int]] = []
        self._ends: list[list[int]] = []
        open_ends: list[int] = []
        for start, end in structure.units:
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if len(open_ends) == len(self._starts):
                self._starts.append([])
                self._ends.append([])
            self._starts[len(open_ends)].append(start)
            self._ends[len(open_ends)].append(end)
            open_ends.append(end)

    def is_closed(self, place: int) -> bool:
        """Tell whether overlap must not begin here: its text would be misread."""
        return self._has_closed and self._kind_around(place) in _CLOSED_KINDS

    def limit(self, counter: SliceCounter, first: int, fit_end: int, budget: int) -> int:
        """Find how far a chunk may go and cut no unit that would fit a chunk of its own.

        Args:
            counter: of tokens.
            first: units that begin before this place are cut already.
            fit_end: the end of the longest prefix that fits.
            budget: of a chunk, in tokens.

        Cost: logarithmic in the units, for each unit that `fit_end` lies in.
        """
        for starts, ends in zip(self._starts, self._ends, strict=True):
            place = bisect_left(starts, fit_end) - 1
            if place < 0 or ends[place] <= fit_end:
                break
            if starts[place] >= first and counter.count(starts[place], ends[place]) <= budget:
                return starts[place]
        return fit_end


PLAIN = Outline(Structure((), ()))
"""That of a text without a syntax: it may be cut anywhere."""
