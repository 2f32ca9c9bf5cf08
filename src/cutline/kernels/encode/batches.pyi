from typing import Self

from cutline.kernels.scan.scan import ScanTables

class Workspace:
    def __new__(cls, front_bits: int, longer_bits: int, n_tokens: int) -> Self: ...

def find_pieces(tables: ScanTables, text: bytes, most: int) -> list[tuple[int, int, int]]: ...
