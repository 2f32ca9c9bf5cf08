from typing import Self

class Workspace:
    def __new__(cls, front_bits: int, longer_bits: int) -> Self: ...
