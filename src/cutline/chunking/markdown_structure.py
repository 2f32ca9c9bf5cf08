"""The structure of a Markdown document: cuts before sections, blocks, items, rows."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise
from typing import Final

from cutline.chunking.markdown_blocks import Block, read_blocks
from cutline.chunking.structure import (
    LINE_END,
    Structure,
    heading_paths,
    nested_bitmaps,
    sections_of,
    tidy_units,
)

__all__ = ["markdown_structure"]

_NAMES: Final = (
    *(f"heading {level}" for level in range(1, 7)),
    *("block", "item", "nested item", "gap", "row"),
)
_BLOCK: Final = 6
_WHOLE: Final = frozenset({"code", "front matter", "html", "item", "list", "quote", "table"})
_REGIONS: Final = _WHOLE - {"item"}
_FIRST: Final = frozenset({"", "heading"})  # before a block where none cuts


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
    tables, and headings together with the block that follows them: where the two do not fit, the
    block is cut, not the heading from its beginning, unless that is a row. Regions are of the kinds
    "code", "front matter", "html", "list", "quote" and "table".

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
    top = [block for block in blocks if not block.depth]
    whole = [block for block in blocks if block.kind in _WHOLE]
    groups = tuple(tuple(group) for _, group in groupby(top, key=_is_heading))
    levels: list[list[int]] = [[] for _ in _NAMES]
    levels[-2:] = gaps, rows
    levels[_BLOCK] = [
        block.start for block in top if block.kind != "heading" and block.previous != "heading"
    ]
    for group in groups:
        if group[0].kind == "heading":
            levels[min([heading.level for heading in group]) - 1].append(group[0].start)
    inner = [block for block in blocks if block.depth and block.previous not in _FIRST]
    levels[_BLOCK + 1] = [block.start for block in inner if block.depth == 1]
    levels[_BLOCK + 2] = [block.start for block in inner if block.depth > 1]
    return Structure(
        _NAMES,
        nested_bitmaps(len(text), levels),
        tidy_units(chain(_units(whole, groups), _rows(whole, rows))),
        tuple(heading_paths(_headings(groups))),
        tuple([(block.start, block.end, block.kind) for block in whole if block.kind in _REGIONS]),
        table_headers=tuple(
            (below, block.end, text[block.start : below])
            for block in whole
            if block.kind == "table"
            for below in (_after_lines(text, block.start, 2),)
        ),
        sections=sections_of(_headings(groups)),
    )


def _after_lines(text: str, start: int, n_lines: int) -> int:
    """Return where the line begins that is so many lines below that at `start`."""
    for _ in range(n_lines):
        found = LINE_END.search(text, start)
        start = found.end() if found else len(text)
    return start


def _rows(blocks: Iterable[Block], cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the rows of tables: of the first together with the head."""
    for block in blocks:
        if block.kind == "table":
            inside = cuts[bisect_right(cuts, block.start) : bisect_left(cuts, block.end)]
            yield from pairwise([block.start, *inside, block.end])


def _headings(groups: Iterable[Sequence[Block]]) -> Iterator[Iterator[tuple[int, int, str]]]:
    """Yield the groups that `heading_paths` takes; not all at once, where headings are many."""
    for group in groups:
        if group[0].kind == "heading":
            yield ((heading.start, heading.level, heading.title) for heading in group)


def _is_heading(block: Block) -> bool:
    return block.kind == "heading"


def _units(whole: Iterable[Block], groups: Sequence[Sequence[Block]]) -> Iterable[tuple[int, int]]:
    """Yield the spans to keep whole; a block after a heading includes the heading."""
    headed: dict[int, int] = {}
    for group, following in pairwise(groups):
        if group[0].kind == "heading":
            start, first = group[0].start, following[0]
            headed[first.start] = start
            yield start, first.end
            if first.kind != "table":  # its rows are units, the first one with its head
                # Never cut right after a heading, even where its block is too large.
                yield start, first.start + 1
    for block in whole:
        yield headed.get(block.start, block.start), block.end
