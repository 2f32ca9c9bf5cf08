"""The blocks of AsciiDoc: titles, delimited blocks, and the lines that describe them.

Source: https://docs.asciidoctor.org/asciidoc/latest/
"""

import re
from collections.abc import Iterator
from typing import Final

from cutline.chunking.markup_blocks import CODE, HEADING, LABEL, MOST_TITLE, QUOTE, TABLE, Block

__all__ = ["read_blocks"]

_TITLE: Final = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)").match
_UNDERLINES: Final = "=-~^+"  # of levels 1 to 5
_HAS_WORD: Final = re.compile(r"(?!\.).*?[^\W_]").match
_FENCE: Final = re.compile(
    r"(?P<code>(?P<sign>[-.+/])(?P=sign){3,}|```[^\s`]*)\Z|(?P<table>[|,:!]={3,})\Z"
    r"|(?:--|(?P<quote>[=*_])(?P=quote){3,})\Z"
).match
_ATTRIBUTES: Final = re.compile(
    r"\[(?:|[\w.#%{,\"'].*|\[(?:|[^\W\d][\w:.-]*(?:, *.+)?)\])\]\Z"
).match
_DISCRETE: Final = re.compile(r"\[(?:discrete|float)\b").match
# Comments, attributes of the document, titles of blocks, and what includes or excludes lines.
_LABEL: Final = re.compile(
    r"//(?!/)|:!?\w[^:]*:(?: |\Z)|\.\.?[^ \t.]|(?:ifn?def|ifeval|include)::[^\s\[]*\[.*\]\Z"
).match
_LINE: Final = re.compile(r"\w+::[^\s\[]*\[.*\]\Z|'''\Z|<<<\Z|([-*])( ?)\1\2\1\Z").match
_MARKUP: Final = re.compile(r"(?<!\w)([*_`#]{1,2})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ANCHOR: Final = re.compile(r"\[\[[^\]]*\]\]")


def read_blocks(lines: list[str]) -> Iterator[Block]:
    """Yield the blocks of a document, given its lines without line ends. Cost: linear."""
    lines = [*map(str.rstrip, lines)]
    row, is_discrete = 0, False
    while row < len(lines):
        if not lines[row]:
            row += 1
            continue
        line = lines[row]
        if _LABEL(line) or _ATTRIBUTES(line):
            block = Block(row, row + 1, LABEL)
            is_discrete = is_discrete or bool(_DISCRETE(line))
        else:
            block = _heading(lines, row) or _other(lines, row)
            if is_discrete and block.kind == HEADING:  # of no section
                block = block._replace(kind="", is_whole=True)
            is_discrete = False
        yield block
        row = block.end


def _heading(lines: list[str], row: int) -> Block | None:
    line = lines[row]
    if line[0] in "=#" and (found := _TITLE(line)):
        signs, title = found.groups()
        if title.endswith((f" {signs}", f"\t{signs}")):
            title = title[: -len(signs)]
        return Block(row, row + 1, HEADING, level=len(signs), title=_plain(title))
    below = lines[row + 1] if row + 1 < len(lines) else ""
    sign = below[:1]
    if not sign or sign not in _UNDERLINES or abs(len(below) - len(line)) > 1:
        return None
    if below != sign * len(below) or not _HAS_WORD(line):
        return None
    level = _UNDERLINES.index(sign) + 1
    return Block(row, row + 2, HEADING, level=level, title=_plain(line))


def _other(lines: list[str], row: int) -> Block:
    line = lines[row]
    if fence := _FENCE(line):
        kind = CODE if fence["code"] else TABLE if fence["table"] else QUOTE
        return Block(row, _after_fence(lines, row), kind)
    end = row + 1
    if not _LINE(line):
        while (
            end < len(lines)
            and lines[end]
            and not _FENCE(lines[end])
            and not _ATTRIBUTES(lines[end])
        ):
            end += 1
    return Block(row, end)


def _after_fence(lines: list[str], row: int) -> int:
    """Return the row after the line that ends a delimited block; without one, that is all."""
    line = lines[row]
    end = "```" if line[0] == "`" else line
    try:
        return lines.index(end, row + 1) + 1
    except ValueError:
        return len(lines)


def _plain(title: str) -> str:
    """Return a title without inline markup."""
    return _MARKUP.sub(r"\2", _ANCHOR.sub("", title[:MOST_TITLE])).strip()
