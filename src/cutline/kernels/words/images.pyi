from collections.abc import Sequence
from typing import Self

class ImageMaker:
    def __new__(
        cls,
        classes: bytes,
        ways: Sequence[tuple[bool, bool, int, bool]],
        replacement: str,
        splits: bool,
        collapses: bool,
        leads_all: bool = False,
    ) -> Self: ...
    @property
    def collapses(self) -> bool: ...
    @property
    def joins(self) -> bool: ...
    @property
    def leads_all(self) -> bool: ...
    def image_of(self, text: str) -> tuple[bytes, int, int]: ...
