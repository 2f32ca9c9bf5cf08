from typing import Self

from cutline.kernels.breaks.few_breaks import FewSums
from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.encode.run_counts import RunRules

class RunSums(FewSums):
    def __new__(cls, encoder: Encoder, text: str, most: float, rules: RunRules) -> Self: ...
