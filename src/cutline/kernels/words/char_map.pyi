from collections.abc import Callable
from typing import Self

from cutline.kernels.words.images import ImageMaker

class CharMap:
    def __new__(
        cls,
        characters_of_block: Callable[[int], tuple[list[str], bytearray]],
        maker: ImageMaker,
    ) -> Self: ...
    def is_entangled(self, text: str) -> bool: ...
    def entangled_parts(self, text: str) -> tuple[list[int], list[bool]]: ...
    def sure_starts(self, text: str, begin: int, gap: int) -> list[int]: ...
