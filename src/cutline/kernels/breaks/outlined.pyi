from array import array
from collections.abc import Iterable
from typing import Any, Self

from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.index.interval import Intervals

class Places:
    def __new__(cls, bitmaps: list[bytes], units: tuple[tuple[int, int], ...]) -> Self: ...

def enclosing(spans: Iterable[tuple[Any, ...]]) -> list[int]: ...
def cut_at_places(
    counter: Intervals,
    places: Places,
    start: int,
    floor: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: array[int],
    overlap: Overlap | None = None,
) -> tuple[memoryview, int]: ...
