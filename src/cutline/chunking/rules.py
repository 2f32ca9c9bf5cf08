"""`Rules`: the options that all chunkers share, checked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cutline.chunking.levels import GraphemeLevel, Level
from cutline.chunks import Chunk, checked_sizes
from cutline.counting.limits import Limit

__all__ = ["ENDLESS", "CountText", "Rules"]

CountText: TypeAlias = Callable[[Chunk], int]

ENDLESS: Final = 1 << 60
"""In tokens: no text has as many, and sums of such budgets fit a machine word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The options of a chunker.

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

    chunk_size: int
    chunk_overlap: int
    levels: tuple[Level, ...]
    min_fill: float
    strip: bool
    balance: bool
    stable: bool
    count_text: CountText | None
    also_fits: tuple[Limit, ...] = ()
    overlap_levels: tuple[Level, ...] = field(init=False)

    def __post_init__(self) -> None:
        size, overlap = checked_sizes(self.chunk_size, self.chunk_overlap)
        object.__setattr__(self, "chunk_size", min(size, ENDLESS))
        object.__setattr__(self, "chunk_overlap", min(overlap, ENDLESS - 1))
        object.__setattr__(self, "overlap_levels", _overlap_levels(self.levels))
        if not 0 <= self.min_fill <= 1:
            raise ValueError(
                f"min_fill must be from 0 to 1, a share of chunk_size, got {self.min_fill}"
            )
        if self.count_text is not None and not callable(self.count_text):
            raise TypeError(f"count_text must be a function, got {type(self.count_text).__name__}")

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
