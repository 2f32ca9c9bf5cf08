"""What is asked of a counter that has a kernel of its own for cuts at breaks."""

from array import array
from typing import NamedTuple, Protocol

from cutline.kernels.breaks.overlaps import Overlap
from cutline.protocols import LimitsFrom

__all__ = ["BreakCuts", "CutsAtBreaks"]


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
        renew: gives the limits of each chunk anew.
    """

    start: int
    floor: int
    until: int
    n: int
    min_fill: float
    kinds: "array[int]"
    overlap: Overlap | None = None
    renew: LimitsFrom | None = None


class CutsAtBreaks(Protocol):
    """A counter that has such a kernel, by one limit and at the last breaks."""

    def cut_at_breaks(self, asked: BreakCuts, /) -> tuple[memoryview, int]:
        """Cut the next chunks; see `kernels.breaks.best_break.cut_at_breaks`."""
