"""What a chunk has to be: the options that all chunkers share, checked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from cutline.chunking.levels import GraphemeLevel, Level
from cutline.chunks import Chunk, checked_sizes

__all__ = ["CountText", "Rules", "make_rules"]

CountText: TypeAlias = Callable[[Chunk], int]

_ENDLESS: Final = 1 << 60
"""Tokens: no text has as many, and what is reckoned with them fits a machine word."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The options of a chunker.

    Attributes:
        chunk_size: tokens of a chunk at most.
        chunk_overlap: tokens that it may share with the one before.
        levels: where it may end, the best first; the last one is every character.
        overlap_levels: where a chunk that overlaps may begin; not inside graphemes that are kept.
        min_fill: the share of the budget that a cut at a better level must reach.
        strip: whether white space at both ends is left out.
        balance: whether a last chunk below `min_fill` is evened out with the one before.
        stable: whether the text around the boundaries chooses among them.
        count_text: tokens of what is sent for a chunk; None: the chunk's own.
    """

    chunk_size: int
    chunk_overlap: int
    levels: tuple[Level, ...]
    overlap_levels: tuple[Level, ...]
    min_fill: float
    strip: bool
    balance: bool
    stable: bool
    count_text: CountText | None

    @property
    def keeps_graphemes(self) -> bool:
        """Whether a grapheme is torn only where it is larger than the budget."""
        return any(isinstance(level, GraphemeLevel) for level in self.levels)

    @property
    def is_plain(self) -> bool:
        """Whether each chunk is the longest that its level and the budget allow."""
        return not (self.strip or self.balance or self.stable or self.count_text is not None)


def make_rules(
    levels: tuple[Level, ...],
    overlap_levels: tuple[Level, ...],
    *,
    chunk_size: int,
    chunk_overlap: int,
    min_fill: float,
    strip: bool,
    balance: bool,
    stable: bool,
    count_text: CountText | None,
) -> Rules:
    """Check the options of a chunker.

    Raises:
        TypeError: a size is no integer, or count_text is no function.
        ValueError: a number is out of range.
    """
    chunk_size, chunk_overlap = checked_sizes(chunk_size, chunk_overlap)
    chunk_size, chunk_overlap = min(chunk_size, _ENDLESS), min(chunk_overlap, _ENDLESS)
    if not 0 <= min_fill <= 1:
        raise ValueError(f"min_fill must be from 0 to 1, a share of chunk_size, got {min_fill}")
    if count_text is not None and not callable(count_text):
        raise TypeError(f"count_text must be a function, got {type(count_text).__name__}")
    return Rules(
        chunk_size, chunk_overlap, levels, overlap_levels,
        min_fill, strip, balance, stable, count_text,
    )  # fmt: skip
