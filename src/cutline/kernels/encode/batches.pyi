from typing import Self

from cutline.kernels.scan.scan import ScanTables

class OwnedState:
    def __new__(cls, first_level_bits: int, store_bits: int, n_tokens: int) -> Self: ...

def find_pieces(
    tables: ScanTables, text: bytes, most: int, by_lanes: bool = False
) -> list[tuple[int, int, int]]: ...
def find_short_ends(tables: ScanTables, text: bytes) -> list[int] | None: ...
