from array import array
from typing import Self

from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.breaks.text_blocks import TextCutter
from cutline.kernels.encode.encoder import Encoder

class IndexedTexts(TextCutter):
    def __new__(
        cls,
        limits: list[tuple[Encoder | str, int]],
        min_fill: float,
        kinds: array[int],
        stable: bool,
        overlap: Overlap | None = None,
        share: float = -1,
    ) -> Self: ...
