"""What is asked of a counter that has a kernel of its own for cuts at breaks."""

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from cutline.kernels.breaks.best_break import cut_at_breaks
from cutline.kernels.breaks.breaks import CHARACTER
from cutline.kernels.breaks.outlined import Places, cut_at_places
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.index.interval import Intervals
from cutline.protocols import LimitsFrom

__all__ = ["ANY_CHARACTER", "BreakCuts", "CutsAtBreaks", "cut_indexed"]

ANY_CHARACTER: Final = array("i", [CHARACTER])
"""The kinds of breaks of who cuts anywhere."""


class BreakCuts(NamedTuple):
    """The cuts that are asked for, in the order of the kernels' arguments.

    Attributes:
        start: of the chunk before.
        floor: its end.
        until: where the last chunk ends at the latest.
        n: tokens of a chunk at most.
        min_fill: the share of them that a break must reach, or else one of the next kind is tried.
        kinds: of breaks, the best first.
        overlap: what a chunk shares with the one before.
        renew: gives the limits of each chunk anew; None where there are places.
        places: where the text may be cut before a break is looked for, and what should stay whole.
    """

    start: int
    floor: int
    until: int
    n: int
    min_fill: float
    kinds: "array[int]"
    overlap: Overlap | None = None
    renew: LimitsFrom | None = None
    places: Places | None = None


class CutsAtBreaks(Protocol):
    """A counter that has such a kernel, by one limit and at the last breaks."""

    def cut_at_breaks(self, asked: BreakCuts, /) -> tuple[memoryview, int]:
        """Cut the next chunks; see `kernels.breaks.best_break.cut_at_breaks`."""


def cut_indexed(
    counter: Intervals,
    asked: BreakCuts,
    stable: bool = False,
    others: Sequence[tuple[Intervals | str, int]] = (),
) -> tuple[memoryview, int]:
    """Cut the next chunks of a text of which any slice is counted at once.

    Args:
        counter: of the text.
        asked: the cuts.
        stable: whether more text must move none of them; not where there are places.
        others: further limits; none where there are places.
    """
    start, floor, until, n, min_fill, kinds, overlap, renew, places = asked
    if places is not None:
        return cut_at_places(counter, places, start, floor, until, n, min_fill, kinds, overlap)
    return cut_at_breaks(
        counter, start, floor, until, n, min_fill, kinds, stable, others, renew, overlap
    )
