from cutline.kernels.scan.scan import ScanTables

def find_ends(
    tables: ScanTables, text: bytes, size: int, left_out: int = 0
) -> tuple[list[int], int, int]: ...
