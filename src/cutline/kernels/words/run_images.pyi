from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.spelling import SpelledPlaces
from cutline.kernels.encode.run_counts import RunRules
from cutline.kernels.words.char_map import CharMap

class ImageRules(RunRules):
    def __new__(
        cls,
        kept: NDArray[np.uint8],
        after_lines: None,
        after_stops: None,
        stops: str,
        stand_ins: str,
        blank: str,
        prefix: int,
        char_map: CharMap,
        closes: NDArray[np.uint8],
        fused: str,
        strips_end: bool,
        normalize: Any,
        stays_solid: bool,
    ) -> Self: ...
    def is_entangled(self, text: str) -> bool: ...

class ImagePlaces(SpelledPlaces):
    @property
    def nbytes(self) -> int: ...

def change_text(rules: ImageRules, text: str) -> tuple[str, ImagePlaces] | None: ...
