"""The structure of reStructuredText, Org, AsciiDoc and LaTeX: cuts before sections and blocks."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from cutline.chunking import asciidoc_blocks, latex_blocks, org_blocks, rst_blocks
from cutline.chunking.markup_blocks import HEADING, LABEL, Block
from cutline.chunking.structure import (
    Structure,
    line_starts,
    nested_bitmaps,
    tidy_units,
)
from cutline.kernels.breaks.sections import sections_of

__all__ = ["MARKUPS", "markup_structure"]

_MOST_LEVEL: Final = 6
_NAMES: Final = (*(f"heading {level}" for level in range(1, _MOST_LEVEL + 1)), "block", "row")


def markup_structure(text: str, read: Callable[[list[str]], Iterator[Block]]) -> Structure:
    r"""Find where a document of titles and blocks may be cut.

    The levels, best first; every cut is at the beginning of a line:

    - "heading 1" to "heading 6", which includes deeper ones: before a section; before the first of
      several titles that follow each other directly. No level cuts right after a title.
    - "block": before a block below a blank line. In reStructuredText indented lines belong to the
      block above them.
    - "row": before the rows of a table in reStructuredText, but for the first below its header.

    Lines that name or describe what follows (targets, attributes, drawers) stay with it, and right
    below a title with that. Units are titles together with the block that follows them, code,
    tables, delimited blocks, environments, and in reStructuredText what has indented lines. Regions
    are of the kinds "code", "table" and "quote", for all other delimited blocks.

    What looks like a title in code or in a paragraph is none. Titles are plain text, and apply as
    in Markdown: see `markdown_structure`. The level of a title is

    - in reStructuredText the place of its kind of line among those that the document has;
    - in Org its number of stars; the keyword of a task, a priority and tags are left out;
    - in AsciiDoc its number of signs, or that of its underline; discrete headings are none;
    - in LaTeX the place of its command among those that the document has, from \part down to
      \subparagraph, and below them the titles of slides.

    Args:
        text: any text; lines end with \n, \r\n or \r.
        read: yields the blocks of its lines, which are without their ends.

    Cost: linear, some 15 MB/s.

    >>> structure = MARKUPS["org"]("* Saws\nRip.\n\nCope.\n** TODO Care :now:\nOil.\n")
    >>> [list(bits.search(1)) for bits in structure.bitmaps[:2]], structure.cuts("block")
    ([[], [19]], [13, 19])
    >>> structure.headings_at(19)
    ('Saws', 'Care')
    """
    starts = line_starts(text)
    ends = [*starts[1:], len(text)]
    lines = [text[start:end].rstrip("\r\n") for start, end in zip(starts, ends, strict=True)]
    lines[0] = lines[0].removeprefix("\ufeff")
    found = _Found([*starts, len(text)])
    for block in read(lines):
        found.add(block, is_below_blank=block.start > 0 and not lines[block.start - 1].strip())
    levels: list[list[int]] = [[] for _ in _NAMES]
    levels[-2:] = found.blocks, found.rows
    for group in found.headings:
        best = min(level for _, level, _ in group)
        levels[min(best, _MOST_LEVEL) - 1].append(group[0][0])
    sections = sections_of(found.headings)
    return Structure(
        _NAMES,
        nested_bitmaps(len(text), levels),
        tidy_units(found.units),
        tuple(sections.paths),
        tuple(found.regions),
        table_headers=tuple(
            (start, end, text[first:start]) for first, start, end in found.table_bodies
        ),
        sections=sections.starts,
    )


class _Found:
    """What a document has.

    Attributes:
        blocks: where blocks begin that may be cut off from the one above.
        rows: where rows of tables begin that may.
        table_bodies: of tables with a header, where they begin, where their body does, and its end.
        units, regions: as of `Structure`.
        headings: the groups that `sections_of` takes; each begins with the labels above it.
    """

    def __init__(self, starts: list[int]) -> None:
        """Args: where each row begins, and where the last one ends."""
        self.blocks: list[int] = []
        self.rows: list[int] = []
        self.table_bodies: list[tuple[int, int, int]] = []
        self.units: list[tuple[int, int]] = []
        self.regions: list[tuple[int, int, str]] = []
        self.headings: list[list[tuple[int, int, str]]] = []
        self._starts = starts
        self._label: int | None = None  # where the labels begin that were read last
        self._is_headed = False  # nothing but labels was read since a title

    def add(self, block: Block, *, is_below_blank: bool) -> None:
        """Take the next block."""
        start = self._starts[block.start] if self._label is None else self._label
        if is_below_blank and self._label is None and not self._is_headed:
            self.blocks.append(start)
        self._label = start if block.kind == LABEL else None
        if block.kind == HEADING:
            self._add_heading(block, start)
        elif block.kind != LABEL:
            self._add_content(block, start)

    def _add_heading(self, block: Block, start: int) -> None:
        if not self._is_headed:
            self.headings.append([])
        self.headings[-1].append((start, block.level, block.title))
        self.units.append((self.headings[-1][0][0], self._starts[block.end]))
        self._is_headed = True

    def _add_content(self, block: Block, start: int) -> None:
        end = self._starts[block.end]
        if block.kind:
            inner = self._starts[block.start + block.n_before]
            self.regions.append((inner, end, block.kind))
        if self._is_headed:
            # Never cut right after a title, even where its block is too large.
            start = self.headings[-1][0][0]
            self.units += ((start, end), (start, self._starts[block.start] + 1))
        if block.rows:
            self._add_rows(block, start)
        elif block.kind or block.is_whole:
            self.units.append((start, end))
        self._is_headed = False

    def _add_rows(self, block: Block, start: int) -> None:
        """Add the rows of a table; the first stays with all that is above it, from a place on."""
        end = self._starts[block.end]
        rows = [self._starts[row] for row in block.rows]
        ends = [*rows[1:], end]
        self.rows += rows[1:]
        self.units += [(start, end), (start, ends[0]), *zip(rows, ends, strict=True)]
        if block.is_headed:
            self.table_bodies.append((self._starts[block.start], rows[0], end))


MARKUPS: Final = {
    "rst": partial(markup_structure, read=rst_blocks.read_blocks),
    "org": partial(markup_structure, read=org_blocks.read_blocks),
    "asciidoc": partial(markup_structure, read=asciidoc_blocks.read_blocks),
    "latex": partial(markup_structure, read=latex_blocks.read_blocks),
}
"""What finds the structure of a text, by the name of its markup."""
