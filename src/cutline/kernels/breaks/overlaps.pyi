from array import array
from typing import Self

class Cutting: ...

class Overlap:
    def __new__(
        cls,
        most: int,
        kinds: array[int],
        keeps_graphemes: bool,
        regions: tuple[array[int], array[int], array[int]] | None = None,
        closed: bytes | None = None,
    ) -> Self: ...
