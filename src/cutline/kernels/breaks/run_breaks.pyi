from array import array
from typing import Self

from cutline.kernels.breaks.few_breaks import FewSums
from cutline.kernels.breaks.text_blocks import TextCutter
from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.encode.run_counts import RunRules

class RunSums(FewSums):
    def __new__(cls, encoder: Encoder, text: str, most: float, rules: RunRules) -> Self: ...

class RunTexts(TextCutter):
    def __new__(
        cls,
        encoder: Encoder,
        most: float,
        rules: RunRules,
        n: int,
        min_fill: float,
        kinds: array[int],
    ) -> Self: ...
