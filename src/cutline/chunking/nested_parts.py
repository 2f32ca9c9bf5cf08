"""The structure of documents whose parts have titles and nest: diffs, mail, calendars."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cutline.chunking.structure import Structure, nested_bitmaps, tidy_units
from cutline.kernels.breaks.sections import sections_of

__all__ = ["Part", "parts_structure"]


class Part(NamedTuple):
    """A part of a document; it ends where the next one begins that is not deeper.

    Attributes:
        level: from 1; deeper parts have a greater one.
        start: where it begins.
        title: its heading; "" for none.
        is_head: it only introduces the first part below it, which stays with it.
        body: where what it says begins, with which its first lines stay; 0: that is not known.
    """

    level: int
    start: int
    title: str
    is_head: bool = False
    body: int = 0


def parts_structure(
    length: int,
    names: tuple[str, ...],
    parts: Sequence[Part],
    lines: Iterable[int] = (),
    units: Iterable[tuple[int, int]] = (),
) -> Structure:
    """Make the structure of a document of parts.

    Args:
        length: of the text.
        names: of the levels of parts; with `lines`, of one more.
        parts: in order; the first level is 1.
        lines: further cuts, below those of parts.
        units: further spans to keep whole, which nest with parts.

    Cost: linear.
    """
    levels: list[list[int]] = [[] for _ in names]
    found = list(units)
    heads: list[Part] = []  # of which nothing but heads has come yet
    for part, end in zip(parts, _ends(parts, length), strict=True):
        if heads and heads[-1].level >= part.level:
            heads = []  # the last one has nothing below it
        start = heads[0].start if heads else part.start
        if heads:
            found.append((start, part.start + 1))  # never cut right after the lines above
        else:
            levels[part.level - 1].append(start)
        found += ((start, end), (start, min(part.body, end - 1) + 1))
        heads = [*heads, part._replace(start=start)] if part.is_head else []
    levels[-1] += lines
    return Structure(
        names,
        nested_bitmaps(length, levels),
        tidy_units(found),
        tuple(sections_of([(part.start, part.level, part.title)] for part in parts).paths),
    )


def _ends(parts: Sequence[Part], length: int) -> list[int]:
    """Return where each part ends: where the next one begins that is not deeper."""
    ends: list[int] = []
    following = [length] * (max((part.level for part in parts), default=0) + 1)  # by level
    for part in reversed(parts):
        ends.append(min(following[: part.level + 1]))
        following[part.level] = part.start
    return ends[::-1]
