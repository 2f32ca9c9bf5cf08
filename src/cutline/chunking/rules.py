"""`Rules`: the options that all chunkers share, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from cutline.chunking.levels import GraphemeLevel, Level
from cutline.chunks import Chunk, checked_sizes

if TYPE_CHECKING:
    from cutline.counting.limits import Limit

__all__ = ["ENDLESS", "CountText", "Rules"]

CountText: TypeAlias = Callable[[Chunk], int]

ENDLESS: Final = 1 << 60
"""In tokens: no text has as many, and sums of such budgets fit a machine word."""


class Rules:
    """The options of a chunker. Immutable. No dataclass: to import those takes longer.

    Attributes:
        chunk_size: maximum number of tokens of a chunk.
        chunk_overlap: maximum number of tokens that it shares with the one before.
        levels: the levels of its end, the best first; the last one is every character.
        min_fill: the share of the budget that a cut at a better level must reach.
        strip: whether white space at both ends is removed.
        balance: whether a last chunk below `min_fill` is evened out with the one before.
        stable: whether boundaries are chosen by the text around them.
        count_text: returns the tokens that are sent for a chunk; None: the chunk's own.
        also_fits: further limits that each chunk fits.
        overlap_levels: the levels of the start of an overlap; not inside kept graphemes.

    Raises:
        TypeError: a size is no integer, or count_text is no function.
        ValueError: a number is out of range.
    """

    def __init__(
        self,
        *,
        chunk_size: int,
        chunk_overlap: int,
        levels: tuple[Level, ...],
        min_fill: float,
        strip: bool,
        balance: bool,
        stable: bool,
        count_text: CountText | None,
        also_fits: tuple[Limit, ...] = (),
    ) -> None:
        size, overlap = checked_sizes(chunk_size, chunk_overlap)
        if not 0 <= min_fill <= 1:
            raise ValueError(f"min_fill must be from 0 to 1, a share of chunk_size, got {min_fill}")
        if count_text is not None and not callable(count_text):
            raise TypeError(f"count_text must be a function, got {type(count_text).__name__}")
        self.chunk_size: Final = min(size, ENDLESS)
        self.chunk_overlap: Final = min(overlap, ENDLESS - 1)
        self.levels: Final = levels
        self.min_fill: Final = min_fill
        self.strip: Final = strip
        self.balance: Final = balance
        self.stable: Final = stable
        self.count_text: Final = count_text
        self.also_fits: Final = also_fits
        self.overlap_levels: Final = _overlap_levels(levels)

    def with_count_text(self, count_text: CountText | None) -> Self:
        """Return a copy with another `count_text`."""
        return self._with(count_text=count_text)

    def with_chunk_size(self, chunk_size: int) -> Self:
        """Return a copy with another `chunk_size`."""
        return self._with(chunk_size=chunk_size)

    def _with(self, **changes: Any) -> Self:
        options: dict[str, Any] = vars(self) | changes
        del options["overlap_levels"]
        return type(self)(**options)

    @property
    def keeps_graphemes(self) -> bool:
        """Whether a grapheme is split only if it is larger than the budget."""
        return any(isinstance(level, GraphemeLevel) for level in self.levels)

    @property
    def is_plain(self) -> bool:
        """Whether a chunk is counted as it lies in the text, and its end is never moved."""
        return not (self.strip or self.balance or self.count_text is not None)


def _overlap_levels(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Choose the levels at which an overlap may begin: lines and paragraphs only without others.

    Never inside graphemes, if these are kept.
    """
    if any(isinstance(level, GraphemeLevel) for level in levels):
        levels = levels[:-1]
    finer = tuple(level for level in levels if level.name not in ("paragraph", "line"))
    has_sentences = any(level.name == "sentence" for level in levels)
    return finer if has_sentences else levels
