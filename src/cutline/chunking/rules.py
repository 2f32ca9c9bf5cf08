"""`Rules`: the options that all chunkers share, checked."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from cutline.checks import checked_flag
from cutline.chunking.levels import GraphemeLevel, Level, leading_breaks
from cutline.chunks import Chunk, checked_sizes
from cutline.errors import shown

if TYPE_CHECKING:
    from cutline.chunking.never_across import Barriers
    from cutline.counting.limits import Limit
    from cutline.template import Template

__all__ = ["ENDLESS", "CountText", "Rules"]

CountText: TypeAlias = Callable[[Chunk], int]

_DERIVED: Final = (
    *("overlap_levels", "known_levels", "known_names", "known_kinds", "known_overlaps"),
    *("are_known", "keeps_graphemes", "counts_slices", "is_plain"),
)
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
        template: what is sent for a chunk; None: its text alone.
        count_text: returns the tokens that are sent for a chunk; None: those of the template.
        also_fits: further limits that each chunk fits.
        never_across: where the text is divided into stretches that are cut apart; None: nowhere.
        line_numbers: whether chunks say the lines that they are on.
        overlap_levels: the levels of the start of an overlap; not inside kept graphemes.
        known_levels: the levels before the first that no kernel knows; and
        known_names: their names; and
        known_kinds: the kinds of their breaks, as kernels take them; and
        known_overlaps: those of `overlap_levels`.
        are_known: whether kernels know all levels.
        keeps_graphemes: whether a grapheme is split only if it is larger than the budget.
        counts_slices: whether a chunk is counted as it lies in the text; a template may stand
            around it.
        is_plain: whether a chunk is counted as it lies in the text, and its end is never moved.

    Raises:
        TypeError: a size is no integer, a switch no bool, count_text no function, or template no
            `Template`; or both of these are given.
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
        count_text: CountText | None = None,
        template: Template | None = None,
        also_fits: tuple[Limit, ...] = (),
        never_across: Barriers | None = None,
        line_numbers: bool = False,
    ) -> None:
        size, overlap = checked_sizes(chunk_size, chunk_overlap)
        share = _checked_share(min_fill)
        if count_text is not None and not callable(count_text):
            raise TypeError(f"count_text must be a function, got {type(count_text).__name__}")
        if template is not None:
            _check_template(template, count_text)
        self.chunk_size: Final = min(size, ENDLESS)
        self.chunk_overlap: Final = min(overlap, ENDLESS - 1)
        self.levels: Final = levels
        self.min_fill: Final = share
        self.strip: Final = checked_flag(strip, "strip")
        self.balance: Final = checked_flag(balance, "balance")
        self.stable: Final = checked_flag(stable, "stable")
        self.count_text: Final = count_text
        self.template: Final = template
        self.also_fits: Final = also_fits
        self.never_across: Final = never_across
        self.line_numbers: Final = checked_flag(line_numbers, "line_numbers")
        # What is worked out once, for many texts.
        self.overlap_levels: Final = _overlap_levels(levels)
        self.known_levels: Final = leading_breaks(levels)
        self.known_names: Final = tuple(level.name for level in self.known_levels)
        self.known_kinds: Final = array("i", [level.kind for level in self.known_levels])
        self.known_overlaps: Final = leading_breaks(self.overlap_levels)
        self.are_known: Final = len(self.known_levels) == len(levels)
        self.keeps_graphemes: Final = any(isinstance(level, GraphemeLevel) for level in levels)
        self.counts_slices: Final = not (self.strip or count_text is not None)
        self.is_plain: Final = self.counts_slices and template is None and not self.balance

    def replaced(self, **changes: Any) -> Self:
        """Return a copy with other options."""
        options: dict[str, Any] = vars(self) | changes
        for derived in _DERIVED:
            del options[derived]
        return type(self)(**options)

    @property
    def boundary(self) -> str:
        """What is never split, as `make_levels` took it: "grapheme"s that fit, or "character"s."""
        is_whole = any(isinstance(level, GraphemeLevel) for level in self.levels[-2:])
        return "grapheme" if is_whole else "character"

    @property
    def chosen_levels(self) -> tuple[Level, ...]:
        """The levels without those that `make_levels` adds for the boundary."""
        return self.levels[: -2 if self.boundary == "grapheme" else -1]


def _checked_share(min_fill: float) -> float:
    wrong = f"min_fill must be from 0 to 1, a share of chunk_size, got {shown(min_fill)}"
    try:
        is_share = 0 <= min_fill <= 1
    except TypeError:
        raise TypeError(wrong) from None
    if not is_share:
        raise ValueError(wrong)
    return float(min_fill)


def _check_template(template: object, count_text: CountText | None) -> None:
    from cutline.template import need_template

    need_template(template)
    if count_text is not None:
        raise TypeError(
            "template and count_text are both given: the template says what is sent, so leave "
            "count_text out"
        )


def _overlap_levels(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Choose the levels at which an overlap may begin: lines and paragraphs only without others.

    Never inside graphemes, if these are kept.
    """
    if any(isinstance(level, GraphemeLevel) for level in levels):
        levels = levels[:-1]
    finer = tuple(level for level in levels if level.name not in ("paragraph", "line"))
    has_sentences = any(level.name == "sentence" for level in levels)
    return finer if has_sentences else levels
