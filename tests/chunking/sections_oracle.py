"""The sections of a document from its headings, in plain Python.

As `kernels/breaks/sections.pyx` finds them, which took over from this.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

NO_HEADING = (0, 0, "")

Group = Iterable[tuple[int, int, str]]


def heading_paths(groups: Iterable[Group]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each offset at which the path of titles changes, with that path."""
    path: list[tuple[int, str]] = []
    for group in groups:
        above = 0
        for (offset, level, title), (_, below, _) in pairwise(chain(group, [NO_HEADING])):
            if level <= above or not above:
                start = offset
            above = level
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, title if len(title) <= 200 else title[:200] + "…"))
            if below <= level:
                yield start, tuple(title for _, title in path if title)


def section_starts(groups: Iterable[Group]) -> Iterator[int]:
    """Yield where sections begin, as `8 * offset + level`."""
    for group in groups:
        above = 0
        for offset, level, _ in group:
            if level <= above or not above:
                yield 8 * offset + level
            above = level
