"""What a document's syntax says about where to cut."""

from dataclasses import dataclass
from typing import Any

from bitarray import bitarray


@dataclass(frozen=True, slots=True)
class Structure:
    names: tuple[str, ...]
    marks: tuple[bitarray, ...]
    units: tuple[tuple[int, int], ...]
    headings: tuple[tuple[int, tuple[str, ...]], ...]
    regions: tuple[tuple[int, int, str], ...]

    def headings_at(self, offset: int) -> tuple[str, ...]:
        return ()

    def metadata(self, start: int, end: int) -> dict[str, Any]:
        return {}
