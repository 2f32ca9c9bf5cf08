from typing import TypeVar

_C = TypeVar("_C")

class TextCutter: ...

def chunk_block(
    chunk_type: type[_C], texts: list[str], cutter: TextCutter, names: tuple[str, ...]
) -> list[list[_C] | None]: ...
def chunk_stretches(
    chunk_type: type[_C],
    text: str,
    places: memoryview,
    index: int,
    cutter: TextCutter,
    names: tuple[str, ...],
) -> tuple[list[_C], int]: ...
