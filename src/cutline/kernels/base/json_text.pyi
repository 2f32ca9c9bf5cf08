from array import array

def json_string(utf8: bytes) -> bytes: ...
def json_lines(
    names: tuple[bytes, ...],
    numbers: memoryview | array[int],
    utf8: bytes,
    byte_ends: memoryview | array[int],
    tails: tuple[bytes, ...],
    kinds: memoryview | array[int],
    hashes: bytes,
    end: bytes,
) -> bytes: ...
