"""The blocks of a Markdown text, from the events of a parser (pulldown-cmark).

Events have byte offsets into the parsed text. Cuts are at the beginnings of lines, so only rows
are taken from them: rows are the same in the original text, and include the white space and
container markers before a block.
"""

import re
from functools import cache
from typing import Any, Final, NamedTuple

from cutline.chunking.structure import parsed_source
from cutline.extras import need
from cutline.kernels.breaks.markdown import Block, BlockReader

__all__ = ["MOST_DEPTH", "Block", "Blocks", "read_blocks"]

MOST_DEPTH: Final = 64
"""Blocks in more containers are ignored; a list and its item are two."""

# `{#id .class key=value}` at the end of a heading, as Pandoc, MyST and kramdown read it.
_ATTRIBUTE: Final = rb"""(?:[#.][^\s{}"'=]+|[\w:-]+=(?:"[^"]*"|'[^']*'|[^\s{}"']+)|-)"""
_ATTRIBUTES: Final = re.compile(
    rb"(?<!\\)\{:?[ \t]*%b(?:[ \t]+%b)*[ \t]*\}\Z" % (_ATTRIBUTE, _ATTRIBUTE)
)
_ONE_NAME: Final = re.compile(rb"""(?<!\\)\{[#.][^\s{}"'=]+\}\Z""")
_MOST_ATTRIBUTES: Final = 1000  # bytes: so that no heading takes long
_CLOSING: Final = re.compile(rb"(?<![^ \t])#+\Z")


class Blocks(NamedTuple):
    """The blocks of a text, and where lines begin at which they may be cut: see `BlockReader`."""

    blocks: tuple[Block, ...]
    gaps: list[int]
    rows: list[int]


def read_blocks(text: str) -> Blocks:
    r"""Find the blocks of a text, whose lines end with \n, \r\n or \r.

    Raises:
        ImportError: pyromark is not installed.

    Cost: linear in the text.
    """
    # With tabs, pulldown-cmark reports spans of items that begin in the line above.
    content = text.removeprefix("\ufeff")
    parsed, source = parsed_source(content.expandtabs(4) if "\t" in content else content)
    found = BlockReader(text, source, MOST_DEPTH, _title_end)
    if source.startswith((b"---", b"+++")):  # only at the beginning of a document
        event, span = next(_parser(metadata=True).events_with_range(source.decode()))
        if isinstance(event, dict) and "MetadataBlock" in event.get("Start", ""):
            found.add_front_matter(span["start"], span["end"])
            parsed = found.source.decode()
    if parsed is text:
        # It will keep the UTF-8 that the parser asks it for, as long as it lives.
        parsed = "".join((parsed, ""))
    found.read(_parser().events_with_range(parsed))
    return Blocks(tuple(found.blocks), found.gaps, found.rows)


def _title_end(heading: bytes) -> int:
    """Return where the title ends in the source of a heading with a `{`: before its attributes."""
    content = heading.rstrip()
    is_atx = b"\n" not in content
    # Nearly all that have any have one name: then no `{` before is a part of it.
    first = content.rfind(b"{")
    if is_atx and len(content) - first <= _MOST_ATTRIBUTES and _ONE_NAME.match(content, first):
        return len(_without_closing(content[:first].rstrip()))
    content = _without_closing(content) if is_atx else content[: content.rindex(b"\n")].rstrip()
    # Patterns are tried only where they can match: they are looked for byte by byte.
    first = content.find(b"{", max(0, len(content) - _MOST_ATTRIBUTES))
    found = _ATTRIBUTES.search(content, first) if first >= 0 and content[-1:] == b"}" else None
    if found is None:
        return len(heading)
    content = content[: found.start()].rstrip()
    return len(_without_closing(content) if is_atx else content)


def _without_closing(line: bytes) -> bytes:
    """Return a heading without the `##` that may close it."""
    found = _CLOSING.search(line) if line.endswith(b"#") else None
    return line if found is None else line[: found.start()].rstrip()


@cache
def _parser(*, metadata: bool = False) -> Any:
    pyromark = need("pyromark", "Markdown", "markdown")
    known = pyromark.Options
    # Footnotes stay off: their spans can cross those of enclosing blocks.
    options = known.ENABLE_TABLES | known.ENABLE_STRIKETHROUGH
    if metadata:
        options |= known.ENABLE_YAML_STYLE_METADATA_BLOCKS
        options |= known.ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
    return pyromark.Markdown(options=options)
