from typing import Self

from cutline.kernels.breaks.few_breaks import FewSums
from cutline.kernels.encode.encoder import Encoder

class PieceSums(FewSums):
    def __new__(cls, encoder: Encoder, text: str, most: float, owner: str | bytes) -> Self: ...
