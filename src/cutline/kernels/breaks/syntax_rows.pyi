from collections.abc import Callable, Mapping
from typing import Any, Self

from tree_sitter import Node, Tree

NAMED: int
DEFINITION: int
PARAMETERS: int
FUNCTION: int
SEEN_THROUGH: int
LABEL: int
ATTRIBUTE: int
BODY: int
OPAQUE: int
HEAD: int
ITEM: int
DOCSTRING: int
PERHAPS_NAMED: int

class SyntaxRows:
    def __new__(
        cls,
        text: str,
        lines: list[int],
        kinds: Mapping[str, int],
        ruler_at: Callable[[int], Any],
        title_of: Callable[[Node], str],
    ) -> Self: ...
    @property
    def cuts(self) -> list[tuple[int, int]]: ...
    @property
    def units(self) -> list[tuple[int, int]]: ...
    @property
    def titles(self) -> list[tuple[int, int, str]]: ...
    @property
    def regions(self) -> list[tuple[int, int, str]]: ...
    def collect(self, tree: Tree) -> None: ...
    def plain_lines(self) -> list[int]: ...
