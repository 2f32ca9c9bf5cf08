"""What a chunker should leave whole in a document: its tables, code, list items, sentences..."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from cutline.chunking.boundary_places import boundaries
from cutline.chunking.by_name import MARKDOWN, NOTEBOOK, TEXT, kind_of
from cutline.chunking.markdown_blocks import Block, read_blocks
from cutline.chunking.parsing import DATA
from cutline.chunking.structure import Structure

__all__ = ["units_of"]

Span = tuple[int, int]

_MARKUPS = tuple(f"{DATA}{name}" for name in ("asciidoc", "html", "latex", "org", "rst"))
_KINDS = {"code": "code", "item": "list item", "table": "table"}


def units_of(name: str, text: str) -> dict[str, list[Span]]:
    r"""Return the spans of what belongs together in a document, without white space at their ends.

    Args:
        name: the document's, which tells what it is, as for `chunker_for`.
        text: its text; that of a notebook is Markdown.

    Returns:
        Half-open spans in code points, by kind: of Markdown "heading", with the first character
        of what follows it, "table", "code", "list item" and "sentence", in paragraphs, with the
        marker of a list item; of HTML and other markup "table", "code" and "list"; of source
        code "definition", of several lines; of CSV, JSON, mail and the like "record"; of all else
        "paragraph" and "sentence".

    Raises:
        ImportError: a parser is not installed; says which extra has it.

    Cost: linear; a parser's is some MB/s.

    >>> units_of("a.md", "# A\n\n- One. Two.\n- Three.\n")["sentence"]
    [(5, 11), (12, 16), (17, 25)]
    """
    kind = kind_of(name)
    found: dict[str, Iterable[Span]]
    if kind in (MARKDOWN, NOTEBOOK):
        found = _of_markdown(text)
    elif kind == TEXT:
        found = {level: _between(boundaries(text, level)) for level in ("paragraph", "sentence")}
    elif kind in _MARKUPS:
        regions = _structure(text, kind).regions
        found = {
            what: [(start, end) for start, end, region in regions if region == what]
            for what in ("table", "code", "list")
        }
    elif kind.startswith(DATA):
        found = {"record": _between([*_record_ends(_structure(text, kind)), len(text)])}
    else:
        found = {"definition": _structure(text, kind).units}
    return {what: list(_stripped(text, spans)) for what, spans in found.items()}


def _structure(text: str, kind: str) -> Structure:
    """Parse a text in another process; one that crashes its parser has no structure."""
    from cutline.chunking.parse_pool import ParserError, ask

    try:
        return ask(text, kind)
    except ParserError:
        return Structure((), ())


def _record_ends(structure: Structure) -> Iterator[int]:
    """Yield the cuts of the best level that divides the text at all, but for fields."""
    for name, level in zip(structure.names, structure.bitmaps, strict=True):
        if level.any():
            return level.search(1) if name != "field" else iter(())
    return iter(())


def _between(ends: Sequence[int]) -> Iterable[Span]:
    return pairwise([0, *ends])


def _stripped(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    for start, end in spans:
        part = text[start:end]
        start += len(part) - len(part.lstrip())
        if part := part.strip():
            yield start, start + len(part)


def _of_markdown(text: str) -> dict[str, Iterable[Span]]:
    parsed = read_blocks(text)
    found: dict[str, list[Span]] = {"heading": [], "table": [], "code": [], "list item": []}
    for block in parsed.blocks:
        if block.kind in _KINDS:
            found[_KINDS[block.kind]].append((block.start, block.end))
    found["heading"] = list(_headings(text, parsed.blocks))
    paragraphs = [(block.start, block.end) for block in parsed.blocks if block.kind == "paragraph"]
    return {**found, "sentence": _sentences(text, paragraphs)}


def _headings(text: str, blocks: Iterable[Block]) -> Iterator[Span]:
    """Yield the headings, each with the first character that follows it in the same container."""
    for block, following in pairwise(blocks):
        if block.kind == "heading" and following.depth >= block.depth:
            blank = text[following.start : following.end]
            yield block.start, following.start + len(blank) - len(blank.lstrip()) + 1


def _sentences(text: str, paragraphs: Sequence[Span]) -> Iterator[Span]:
    """Yield the sentences in the paragraphs; both ends of a paragraph end a sentence."""
    ends = boundaries(text, "sentence")
    for start, end in paragraphs:
        inner = ends[bisect_right(ends, start) : bisect_right(ends, end - 1)]
        yield from pairwise([start, *inner, end])
