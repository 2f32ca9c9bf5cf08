"""One judge for everybody's chunks: where they lie, what they end at, what they tear apart.

Its rules are its own, no chunker's. All are about the place where a chunk ends in the source,
with the white space around that place, for chunkers put it on either side:

- paragraph: this white space holds a blank line, or a heading of a Markdown text follows;
- line: it holds a line end;
- sentence: a paragraph ends there, or the text before it ends with `. ! ?` or an ellipsis, with
  closing quotes and brackets behind them, and no lower-case letter follows behind white space;
  or with `。！？` and the like, also without white space;
- word: there is white space, or a default word boundary of Unicode, as `regex` finds it.

The end of the last chunk is no cut.
"""

import ast
from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import regex

LEVELS: Final = ("paragraph", "line", "sentence", "word")

_BLANK_LINE: Final = regex.compile(r"\n[^\S\n]*\n")
_SENTENCE_END: Final = regex.compile(r"[.!?…][\"'”’»)\]*_]*\Z")
_WIDE_SENTENCE_END: Final = regex.compile(r"[。！？｡][」』”’）]*\Z")
_WORD_EDGE: Final = regex.compile(r"\b", regex.WORD)
_FENCE: Final = regex.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING: Final = regex.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_NEAR: Final = 40
_LAST_DEFINITIONS: Final = 10


@dataclass(frozen=True, slots=True)
class Placed:
    """Chunks found in their source.

    Attributes:
        spans: of each chunk that was found, in order.
        n_altered: chunks that do not occur in the rest of the source.
        lost_space: characters of white space that no chunk has.
        lost_other: other characters that no chunk has.
    """

    spans: list[tuple[int, int]]
    n_altered: int
    lost_space: int
    lost_other: int


def place(text: str, chunks: Sequence[str]) -> Placed:
    """Find the chunks in the text, each behind the one before."""
    spans: list[tuple[int, int]] = []
    gaps: list[str] = []
    end = n_altered = 0
    for chunk in chunks:
        start = _behind(text, chunk, end)
        if start < 0:
            n_altered += 1
            continue
        gaps.append(text[end:start])
        end = start + len(chunk)
        spans.append((start, end))
    lost = "".join([*gaps, text[end:]])
    n_space = sum(map(str.isspace, lost))
    return Placed(spans, n_altered, n_space, len(lost) - n_space)


def _behind(text: str, chunk: str, end: int) -> int:
    """Find a chunk behind a place, at best with only white space between."""
    if text.startswith(chunk, end):
        return end
    start = end
    while start < len(text) and text[start].isspace():
        start += 1
        if text.startswith(chunk, start):
            return start
    return text.find(chunk, end)


def levels_at(text: str, cut: int, headings: Container[int] = ()) -> Iterator[str]:
    """Yield the names of the levels that a cut is at.

    Args:
        text: the source.
        cut: where a chunk ends.
        headings: where headings start.
    """
    before = cut
    while before > 0 and text[before - 1].isspace():
        before -= 1
    after = cut
    while after < len(text) and text[after].isspace():
        after += 1
    space, tail = text[before:after], text[max(0, before - _NEAR) : before]
    is_paragraph = after in headings or _BLANK_LINE.search(space) is not None
    if is_paragraph:
        yield "paragraph"
    if "\n" in space:
        yield "line"
    ends = _SENTENCE_END.search(tail) and space and not text[after : after + 1].islower()
    if is_paragraph or ends or _WIDE_SENTENCE_END.search(tail):
        yield "sentence"
    near = max(0, cut - _NEAR)
    if space or any(near + m.start() == cut for m in _WORD_EDGE.finditer(text[near : cut + _NEAR])):
        yield "word"


@dataclass(slots=True)
class Units:
    """What should not be torn apart in a text: the spans of units."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, start: int, end: int) -> None:
        """Note a unit."""
        self.starts.append(start)
        self.ends.append(end)

    def share_whole(self, spans: Sequence[tuple[int, int]]) -> float | None:
        """Tell the share that lies in one chunk each; None if there are no units."""
        if not self.starts:
            return None
        chunk_starts = [start for start, _ in spans]
        n_whole = 0
        for start, end in zip(self.starts, self.ends, strict=True):
            at = bisect_right(chunk_starts, start) - 1
            n_whole += at >= 0 and end <= spans[at][1]
        return n_whole / len(self.starts)


def headings(text: str) -> Units:
    """Find the headings of a Markdown text, each with the first character of what follows.

    A heading is a line that begins with up to six `#`, outside fenced code.
    """
    units, fence, start, open_heading = Units(), "", 0, -1
    for line in text.splitlines(keepends=True):
        if line.strip() and open_heading >= 0:
            units.add(open_heading, start + len(line) - len(line.lstrip()) + 1)
            open_heading = -1
        if found := _FENCE.match(line):
            mark = found.group(1)
            if not fence:
                fence = mark
            elif mark.startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif not fence and _HEADING.match(line):
            open_heading = start + len(line) - len(line.lstrip())
        start += len(line)
    return units


def functions(text: str) -> Units:
    """Find the functions of a Python text by `ast`, from their decorators on.

    A text that ends in the middle of a definition is taken up to that definition; one with
    other errors has none.
    """
    tree = _parsed(text)
    lines = [line + "\n" for line in text.split("\n")]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    units = Units()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno:
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            line = lines[first - 1]
            start = starts[first - 1] + len(line) - len(line.lstrip())
            last = lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode()
            units.add(start, starts[node.end_lineno - 1] + len(last))
    return units


def _parsed(text: str) -> ast.Module:
    lines = text.split("\n")
    tops = [number for number, line in enumerate(lines) if regex.match(r"def |class |@", line)]
    for top in [len(lines), *reversed(tops[-_LAST_DEFINITIONS:])]:
        try:
            return ast.parse("\n".join(lines[:top]))
        except (SyntaxError, ValueError):
            continue
    return ast.Module([], [])


def of_size(units: Units, at_most: int, counts: Sequence[int]) -> Units:
    """Keep the units that have at most so many tokens."""
    kept = Units()
    for start, end, count in zip(units.starts, units.ends, counts, strict=True):
        if count <= at_most:
            kept.add(start, end)
    return kept
