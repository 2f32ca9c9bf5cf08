"""Many texts at once: a kernel cuts a block of them, and releases the GIL over all of it."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cutline.chunking.plain_finder import asks_few, overlap_of
from cutline.chunking.rules import ENDLESS, Rules
from cutline.chunking.stretch import END
from cutline.chunks import Chunk
from cutline.counting import few_slices
from cutline.counting.cutting import BOUNDARIES
from cutline.encoding import Encoding
from cutline.kernels.breaks import text_blocks
from cutline.kernels.cut import windows
from cutline.kernels.encode.encoder import Encoder
from cutline.threads import BLOCK_CHARACTERS, CUT_CHARACTERS

if TYPE_CHECKING:
    from cutline.counting.limits import Measure
    from cutline.protocols import TokenCounter

__all__ = [
    "MOST_AT_ONCE",
    "CutBlock",
    "CutStretches",
    "block_size",
    "cuts_at_breaks",
    "cuts_by_tokens",
    "cuts_stretches",
]

MOST_AT_ONCE: Final = 1 << 23
"""Characters of a text that is cut alone: room for the UTF-8 of more is as large as that."""

_LOST_CHARACTERS: Final = 1 << 14

CutBlock = Callable[[list[str]], "list[list[Chunk] | None]"]
"""From plain strs to the chunks of each; None: that takes another way, or has an error."""

CutStretches = Callable[[str, memoryview, int, str], "tuple[list[Chunk], int]"]
"""From a text, the places between its stretches, the index of the first chunk and the name of each
stretch's end to chunks and the number of stretches that they are of: the next takes another way."""


def block_size(cut_block: CutBlock | None) -> int:
    """Return how many characters are worth a task."""
    return CUT_CHARACTERS if cut_block is None else BLOCK_CHARACTERS


def cuts_by_tokens(encoding: TokenCounter, rules: Rules) -> CutBlock | None:
    """Return what splits blocks of texts like the encoding's `split`; None: no kernel does."""
    if (encoder := _encoder(encoding)) is None:
        return None
    return partial(
        windows.chunk_block, Chunk, encoder=encoder, chunk_size=rules.chunk_size,
        overlap=rules.chunk_overlap, names=BOUNDARIES,
    )  # fmt: skip


def cuts_at_breaks(encoding: TokenCounter, rules: Rules) -> CutBlock | None:
    """Return what cuts blocks of texts without structure; None: no kernel has these rules."""
    options = None if rules.never_across is not None else _at_breaks(encoding, rules)
    if options is None:
        return None
    return _while_it_pays(partial(text_blocks.chunk_block, Chunk, **options))


def cuts_stretches(encoding: TokenCounter, rules: Rules) -> CutStretches | None:
    """Return what cuts stretches of a text without structure; None: no kernel has these rules."""
    options = _at_breaks(encoding, rules)
    if options is None:
        return None
    *names, _ = options.pop("names")

    def cut(text: str, places: memoryview, index: int, end_name: str) -> tuple[list[Chunk], int]:
        return text_blocks.chunk_stretches(
            Chunk, text, places, index, names=(*names, end_name), **options
        )

    return cut


def _at_breaks(encoding: TokenCounter, rules: Rules) -> dict[str, Any] | None:
    """Return the rules as the kernel takes them; None: it does not."""
    if not rules.is_plain:
        return None
    levels, limits = rules.known_levels, _limits(encoding, rules)
    if limits is None or not rules.are_known:
        return None
    return {
        "limits": limits,
        "min_fill": float(rules.min_fill),
        "kinds": array("i", [level.kind for level in levels]),
        "stable": rules.stable,
        "names": (*(level.name for level in levels), END),
        "overlap": overlap_of(rules),
        "share": few_slices.COUNTED_AGAIN if asks_few(rules) else -1.0,
    }


def _while_it_pays(cut_block: CutBlock) -> CutBlock:
    """Leave all texts to another way once many had to take it: those are indexed twice."""
    tried = lost = 0  # characters; threads may miss some

    def cut(texts: list[str]) -> list[list[Chunk] | None]:
        nonlocal tried, lost
        if lost > _LOST_CHARACTERS + tried // 8:
            return [None] * len(texts)
        found = cut_block(texts)
        tried += sum(map(len, texts))
        lost += sum(len(text) for text, one in zip(texts, found, strict=True) if one is None)
        return found

    return cut


def _limits(encoding: TokenCounter, rules: Rules) -> list[tuple[Encoder | str, int]] | None:
    """Return the limits of a chunk as the kernel takes them; None: it does not."""
    from cutline.counting.units import Unit

    limits: list[tuple[Encoder | str, int]] = []
    for measure, most in ((encoding, rules.chunk_size), *rules.also_fits):
        counted = measure.name if isinstance(measure, Unit) else _encoder(measure)
        if counted is None:
            return None
        limits.append((counted, min(most, ENDLESS)))
    return limits


def _encoder(measure: TokenCounter | Measure) -> Encoding | None:
    """Return an encoding that is no more than its kernel; None: it changes texts, or the like."""
    if type(measure) is not Encoding or measure._changes_texts or not measure._has_automaton:
        return None
    return measure
