"""The structure of an HTML page: cuts before sections, blocks, items and rows."""

from typing import Final

from cutline.chunking.html_tables import TableHeaders
from cutline.chunking.structure import Structure, nested_bitmaps, outer_first, tidy_units
from cutline.kernels.breaks.html_blocks import HtmlBlocks
from cutline.kernels.breaks.sections import sections_of

__all__ = ["MOST_DEPTH", "html_structure"]

MOST_DEPTH: Final = 64
"""Blocks in more containers are ignored; a list and its item are two."""

_NAMES: Final = (*(f"heading {level}" for level in range(1, 7)), "block", "item", "nested item")
_BLOCK: Final = 6


def html_structure(text: str) -> Structure:
    r"""Find where an HTML page may be cut: before the tags of its blocks.

    Tags, comments and scripts are recognised as browsers do it; elements whose end tags are left
    out end where the standard says. The levels, best first:

    - "heading 1" to "heading 6": before a heading; before the first of several headings that
      follow each other directly, whatever their levels. No level cuts right after a heading.
    - "block": before paragraphs, lists, tables, quotes, `pre`, scripts, and before other
      elements, such as `div`, that begin with text.
    - "item": before the items of lists, the rows of tables and the blocks of quotes.
    - "nested item": before blocks, items and cells at any depth below.

    A block begins with the tags of `div`, `section` and the like right before its own. All else
    between two blocks belongs to the one before. Nothing is cut between the tag of a
    list, an item, a table... and the first block in it; the caption and the head of a table stay
    with its first row. Units are these blocks, except those elements like `div` that hold other
    blocks; and headings together with what follows them. Regions are of the kinds "code", "list",
    "markup" (scripts, styles, drawings, templates), "quote" and "table". The header of a table is
    its `thead`, or else its first rows if all their cells are `th`.

    Headings in lists, tables and quotes open no section. A title is plain text, without tags and
    without a link to itself such as `¶` at its end, with its character references decoded, and is
    cut at 200 characters. It applies as in Markdown:
    see `markdown_structure`.

    Args:
        text: any text.

    Cost: linear for every input, some 100 MB/s; nesting is followed to a depth of 64.

    >>> page = "<h1>A &amp; b</h1><p>One.</p><h2>C</h2><ul><li>x<li>y</ul><p>End."
    >>> structure = html_structure(page)
    >>> structure.headings_at(20), structure.headings_at(29)
    (('A & b',), ('A & b', 'C'))
    >>> [(name, [page[at:][:6] for at in bits.search(1)])
    ...  for name, bits in zip(structure.names, structure.bitmaps) if bits.any()][-2:]
    [('item', ['<h2>C<', '<li>y<', '<p>End']), ('nested item', ['<h2>C<', '<li>y<', '<p>End'])]
    """
    tables = TableHeaders(text)
    found = HtmlBlocks(text, tables, MOST_DEPTH)
    found.read()
    levels: list[list[int]] = [[] for _ in _NAMES]
    levels[_BLOCK:] = found.cuts
    for group in found.headings:
        levels[min(level for _, level, _ in group) - 1].append(group[0][0])
    sections = sections_of(found.headings)
    return Structure(
        _NAMES,
        nested_bitmaps(len(text), levels),
        tidy_units(found.units),
        tuple(sections.paths),
        outer_first(found.regions),
        table_headers=tuple(tables.found),
        sections=sections.starts,
    )
