from array import array
from collections.abc import Callable, Sequence
from typing import Self

from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.encode.run_counts import RunRules

class RunSums:
    @property
    def are_known(self) -> bool: ...
    def __new__(cls, encoder: Encoder, text: str, rules: RunRules) -> Self: ...

def cut_runs_at_breaks(
    sums: RunSums,
    start: int,
    until: int,
    n: int,
    min_fill: float,
    kinds: array[int],
    renew: Callable[[int], Sequence[tuple[int, int]] | None] | None = None,
) -> tuple[memoryview, int]: ...
