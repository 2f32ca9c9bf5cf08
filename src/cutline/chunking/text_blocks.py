"""Many texts at once: a kernel cuts a block of them, and releases the GIL over all of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from cutline.chunking.plain_finder import asks_few, overlap_of
from cutline.chunking.rules import ENDLESS, Rules
from cutline.chunking.stretch import END
from cutline.chunks import Chunk
from cutline.counting import few_slices
from cutline.counting.break_cuts import ANY_CHARACTER
from cutline.counting.cutting import BOUNDARIES
from cutline.encoding import Encoding
from cutline.kernels.breaks import text_blocks
from cutline.kernels.breaks.indexed_texts import IndexedTexts
from cutline.kernels.breaks.overlaps import Overlap
from cutline.kernels.cut import windows
from cutline.kernels.encode.encoder import Encoder
from cutline.threads import BLOCK_CHARACTERS, CUT_CHARACTERS

if TYPE_CHECKING:
    from cutline.counting.limits import Measure
    from cutline.kernels.breaks.text_blocks import TextCutter
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

# What was worked out for the rules of a chunker, and its encoding.
_KNOWN: Final = WeakKeyDictionary[Rules, "tuple[TokenCounter, CutBlock | None]"]()

CutStretches = Callable[[str, memoryview, int, str], "tuple[list[Chunk], int]"]
"""From a text, the places between its stretches, the index of the first chunk and the name of each
stretch's end to chunks and the number of stretches that they are of: the next takes another way."""


def block_size(cut_block: CutBlock | None) -> int:
    """Return how many characters are worth a task."""
    return CUT_CHARACTERS if cut_block is None else BLOCK_CHARACTERS


def cuts_by_tokens(encoding: TokenCounter, rules: Rules) -> CutBlock | None:
    """Return what splits blocks of texts like the encoding's `split`; None: no kernel does."""
    if type(encoding) is not Encoding:
        return None
    size, shared = rules.chunk_size, rules.chunk_overlap
    if not encoding._is_byte_level:
        overlap = Overlap(shared, ANY_CHARACTER, False) if shared else None
        found = encoding._text_cutter(size, 0.0, ANY_CHARACTER, overlap)
        return None if found is None else _by_cutter(*found, BOUNDARIES)
    if not encoding._has_automaton:
        return None
    cut_block = partial(
        windows.chunk_block, Chunk, encoder=encoding, chunk_size=size, overlap=shared,
        names=BOUNDARIES,
    )  # fmt: skip
    return _where_taken(encoding._keeps, cut_block) if encoding._changes_texts else cut_block


def cuts_at_breaks(encoding: TokenCounter, rules: Rules) -> CutBlock | None:
    """Return what cuts blocks of texts without structure; None: no kernel has these rules."""
    known = _KNOWN.get(rules)
    if known is None or known[0] is not encoding:
        known = _KNOWN[rules] = encoding, _way_at_breaks(encoding, rules)
    return known[1]


def _way_at_breaks(encoding: TokenCounter, rules: Rules) -> CutBlock | None:
    if rules.never_across is not None or not (rules.is_plain and rules.are_known):
        return None
    names, make = (*rules.known_names, END), _cutter_of(encoding, rules)
    if make is not None:
        return _while_it_pays(partial(_chunk_block, make, names))
    if type(encoding) is not Encoding or rules.stable or rules.also_fits:
        return None
    found = encoding._text_cutter(
        rules.chunk_size, float(rules.min_fill), rules.known_kinds, overlap_of(rules)
    )
    return None if found is None else _by_cutter(*found, names)


def _by_cutter(
    make: Callable[[], TextCutter], takes: Callable[[str], bool], names: tuple[str, ...]
) -> CutBlock:
    return _while_it_pays(_where_taken(takes, partial(_chunk_block, make, names)))


def cuts_stretches(encoding: TokenCounter, rules: Rules) -> CutStretches | None:
    """Return what cuts stretches of a text without structure; None: no kernel has these rules."""
    make = _cutter_of(encoding, rules) if rules.is_plain and rules.are_known else None
    if make is None:
        return None
    cutter, names = make, rules.known_names

    def cut(text: str, places: memoryview, index: int, end_name: str) -> tuple[list[Chunk], int]:
        return text_blocks.chunk_stretches(Chunk, text, places, index, cutter(), (*names, end_name))

    return cut


def _chunk_block(
    make: Callable[[], TextCutter], names: tuple[str, ...], texts: list[str]
) -> list[list[Chunk] | None]:
    return text_blocks.chunk_block(Chunk, texts, make(), names)


def _cutter_of(encoding: TokenCounter, rules: Rules) -> Callable[[], TextCutter] | None:
    """Return what makes a cutter for all texts; None: there is none for these measures."""
    limits = _limits(encoding, rules)
    if limits is None:
        return None
    share = few_slices.COUNTED_AGAIN if asks_few(rules) else -1.0
    return partial(
        IndexedTexts, limits, float(rules.min_fill), rules.known_kinds, rules.stable,
        overlap_of(rules), share,
    )  # fmt: skip


def _where_taken(takes: Callable[[str], bool], cut_block: CutBlock) -> CutBlock:
    """Leave texts that are not taken to another way."""

    def cut(texts: list[str]) -> list[list[Chunk] | None]:
        taken = [*map(takes, texts)]
        if all(taken):
            return cut_block(texts)
        found = iter(cut_block([*compress(texts, taken)]))
        return [next(found) if is_taken else None for is_taken in taken]

    return cut


def _while_it_pays(cut_block: CutBlock) -> CutBlock:
    """Leave texts to another way while many had to take it: these are looked at twice.

    It is tried again now and then.
    """
    seen = lost = 0  # characters; threads may miss some

    def cut(texts: list[str]) -> list[list[Chunk] | None]:
        nonlocal seen, lost
        seen += sum(map(len, texts))
        if lost > _LOST_CHARACTERS + seen // 8:
            return [None] * len(texts)
        found = cut_block(texts)
        if None in found:
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
