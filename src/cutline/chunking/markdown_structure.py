"""The structure of a Markdown document: cuts before sections, blocks, items, rows."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Final

from cutline.chunking.markdown_blocks import read_blocks
from cutline.chunking.structure import LINE_END, Structure, nested_bitmaps, tidy_units
from cutline.kernels.breaks.markdown_levels import BlockLevels

__all__ = ["markdown_structure"]

_NAMES: Final = (
    *(f"heading {level}" for level in range(1, 7)),
    *("block", "item", "nested item", "gap", "row"),
)


def markdown_structure(text: str) -> Structure:
    r"""Find where a Markdown document may be cut.

    It supports CommonMark's blocks, GitHub's tables, and front matter between `---` or `+++`; link
    reference definitions only outside lists and quotes. The levels, best first; every cut is at
    the beginning of a line:

    - "heading 1" to "heading 6": before a section; before the first of several headings that
      follow each other directly, whatever their levels. No level cuts right after a heading.
    - "block": between blocks outside lists and quotes.
    - "item": between the items of such a list, and between the blocks of such a quote.
    - "nested item": the same at any depth below.
    - "gap": after blank lines in code, HTML and front matter.
    - "row": between their lines, and between the rows of a table; the head, the delimiters and
      the first row stay together, as do the first line of code and its fence.

    Blank lines belong to the block before them. Units are all regions, list items, the rows of
    tables, and headings together with the block that follows them, as are short paragraphs outside
    of lists and quotes that end with a colon or a question mark, or are bold: where the two do not
    fit, the block is cut, not the heading from its beginning, unless that is a row. Regions are of
    the kinds "code", "front matter", "html", "list", "quote" and "table".

    Headings in lists and quotes open no section. A title is plain text, without inline Markdown
    markup and without attributes, such as `{#id .class}`, at its end; it is cut at 200 characters.
    It applies from its heading on; the titles of directly nested headings all apply from the first
    of them on, so that a chunk that begins there has all of them.

    Args:
        text: any text; lines end with \n, \r\n or \r.

    Raises:
        ImportError: pyromark is not installed: pip install 'cutline[markdown]'.

    Cost: linear for every input, some 20 MB/s; nesting is followed to a depth of 64.

    >>> structure = markdown_structure("# Use `x`\n\nText.\n\n## More\n\n- a\n- b\n")
    >>> [list(bits.search(1)) for bits in structure.bitmaps[1:8]]
    [[18], [18], [18], [18], [18], [18], [18, 31]]
    >>> structure.headings_at(20)
    ('Use x', 'More')
    """
    # In tuples, which the garbage collector need not look through again and again.
    blocks, gaps, rows = read_blocks(text)
    found = BlockLevels(blocks, text)
    tables = [(start, end) for start, end, kind in found.regions if kind == "table"]
    return Structure(
        _NAMES,
        nested_bitmaps(len(text), [*found.cuts, gaps, rows]),
        tidy_units(chain(found.units, _rows(tables, rows))),
        tuple(found.sections.paths),
        tuple(found.regions),
        table_headers=tuple(
            (below, end, text[start:below])
            for start, end in tables
            for below in (_after_lines(text, start, 2),)
        ),
        sections=found.sections.starts,
    )


def _after_lines(text: str, start: int, n_lines: int) -> int:
    """Return where the line begins that is so many lines below that at `start`."""
    for _ in range(n_lines):
        found = LINE_END.search(text, start)
        start = found.end() if found else len(text)
    return start


def _rows(tables: Iterable[tuple[int, int]], cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the rows of tables: of the first together with the head."""
    for start, end in tables:
        inside = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
        yield from pairwise([start, *inside, end])
