"""Repair of trees with syntax errors: one stray quote swaps strings and code up to the end.

Code is divided into blocks, each from a line after a blank one to the next such line with no
larger indentation. Most blocks parse alone. If one does not, inner blocks are found without which
it does; if there are none, it is bad as a whole. A bad block is suspected if the tree of the whole
source lacks a definition that parses alone, or has one that extends beyond its block. Suspects are
blanked, and the source is parsed again: if that gives fewer errors and as many definitions, the
rest is taken to be as it was before the error.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from cutline.chunking.syntax_rows import SyntaxRows, syntax_rows

if TYPE_CHECKING:
    from tree_sitter import Tree

__all__ = ["Code", "repaired"]

_MOST_REPAIRS: Final = 4
_MOST_DEEP: Final = 4
_MOST_LOST: Final = 2  # definitions that a blanked block may hold
_OPENING = re.compile(rb"([ \t]*)[^ \t\r\n)\]}]").match
_NOT_LINE_END: Final = re.compile(rb"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Code:
    """Source code and its parser.

    Attributes:
        text: the source.
        source: its bytes.
        lines: the offset of each row in the text.
        parse: makes the tree of such bytes, unless that would take too long.
    """

    text: str
    source: bytes
    lines: list[int]
    parse: Callable[[bytes], "Tree | None"]

    def rows_of(self, tree: "Tree") -> SyntaxRows:
        """Collect the rows of one of its trees."""
        rows = syntax_rows(self.text, self.source, self.lines)
        rows.collect(tree)
        return rows


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of a source, and whether they parse.

    Attributes:
        first, end: the rows, half-open.
        defined: first row, last row and kind of the outermost definitions, if it parses alone,
            or without `bad`.
        bad: the inner blocks without which it parses; itself, if there are none.
        is_bad: it does not parse alone.
    """

    first: int
    end: int
    defined: tuple[tuple[int, int, str], ...] = ()
    bad: tuple["_Block", ...] = ()
    is_bad: bool = False


def repaired(code: Code) -> SyntaxRows | None:
    """Collect the rows of a source's tree, or of a repaired one if errors hide definitions.

    Returns:
        The rows; None: parsing the source would take too long.

    Cost: linear; for a tree with errors several times that of parsing. One tree of the whole
    source is held at a time.
    """
    tree = code.parse(code.source)
    if tree is None:
        return None
    rows = code.rows_of(tree)
    if not tree.root_node.has_error:
        return rows
    n_errors = _count_errors(tree)
    del tree
    blocks = _Blocks(code)
    hidden = blocks.hidden(rows)
    masked: set[_Block] = set()
    for _ in range(_MOST_REPAIRS):
        suspects = blocks.suspects(rows, hidden) - masked
        if not suspects:
            break
        masked |= suspects
        less = replace(code, source=blocks.without(masked))
        less_tree = code.parse(less.source)
        if less_tree is None:
            break
        less_errors, less_rows = _count_errors(less_tree), less.rows_of(less_tree)
        del less_tree
        less_hidden = blocks.hidden(less_rows)
        if (
            less_errors >= n_errors
            or len(less_hidden) > len(hidden)
            or len(less_rows.units) + len(suspects) < len(rows.units)
        ):
            break
        rows, n_errors, hidden = less_rows, less_errors, less_hidden
    return rows


class _Blocks:
    """The blocks of a source.

    Attributes:
        outer: the outermost blocks, in order; they cover the source.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        rows = code.source.split(b"\n")
        self._starts = [0]
        for row in rows:
            self._starts.append(self._starts[-1] + len(row) + 1)
        self._starts[-1] -= 1
        openings = [
            (place, len(found[1]))
            for place, (above, row) in enumerate(pairwise(rows), start=1)
            if not above.strip() and (found := _OPENING(row))
        ]
        self.outer = self._judged(0, len(rows), openings, 0, 0)
        self._bad = [one for block in self.outer for one in block.bad]
        self._bad_firsts = [block.first for block in self._bad]

    def hidden(self, rows: SyntaxRows) -> list[int]:
        """Return the places of the blocks whose definitions are missing or too long."""
        seen = {(first, kind): last for first, last, kind in rows.regions}

        def is_seen(block: _Block) -> bool:
            # A definition that parses alone may continue in the next block, after a comment.
            lasts = [(seen.get((first, kind), -1), last) for first, last, kind in block.defined]
            return all(there == last or (there > last and not block.bad) for there, last in lasts)

        return [place for place, block in enumerate(self.outer) if not is_seen(block)]

    def suspects(self, rows: SyntaxRows, hidden: Sequence[int]) -> set[_Block]:
        """Return the bad blocks that may hide others, or make a definition too long."""
        found: set[_Block] = set()
        for place in hidden:
            found.update(self.outer[place].bad)
            while place and not self.outer[place - 1].defined:
                place -= 1
                found.update(self.outer[place].bad)
            if place:
                found.update(self.outer[place - 1].bad)
        for first, last in rows.units:
            place = bisect_right(self._bad_firsts, first) - 1
            if place >= 0 and first < self._bad[place].end <= last:
                found.add(self._bad[place])
        # If the parser recovers by itself, as with C macros, keep all code.
        firsts = sorted(first for first, _ in rows.units)
        return {
            block
            for block in found
            if bisect_left(firsts, block.end) - bisect_left(firsts, block.first) <= _MOST_LOST
        }

    def without(self, blocks: Collection[_Block], first: int = 0, end: int = -1) -> bytes:
        """Return rows of the source, with those of some blocks blanked."""
        starts, source = self._starts, self._code.source
        parts: list[bytes] = []
        done = starts[first]
        for block in sorted(blocks, key=lambda block: block.first):
            parts.append(source[done : starts[block.first]])
            done = starts[block.end]
            parts.append(_NOT_LINE_END.sub(b" ", source[starts[block.first] : done]))
        return b"".join((*parts, source[done : starts[end]]))

    def _judged(
        self, first: int, end: int, openings: Sequence[tuple[int, int]], least: int, depth: int
    ) -> list[_Block]:
        """Split rows into blocks at the openings with the smallest indent, and parse each alone."""
        starts = [first, *(row for row, indent in openings if indent == least), end]
        blocks = [self._alone(*rows) for rows in pairwise(starts)]
        judged: list[_Block] = []
        for defines, group in groupby(blocks, key=lambda block: bool(block.defined)):
            run = list(group)
            judged += run if defines else self._cleared(run)
        if depth == _MOST_DEEP:
            return judged
        at = 0
        for place, block in enumerate(judged):
            inner = []
            while at < len(openings) and openings[at][0] < block.end:
                if openings[at][0] > block.first:
                    inner.append(openings[at])
                at += 1
            if block.is_bad and inner:
                judged[place] = self._divided(block, inner, depth)
        return judged

    def _alone(self, first: int, end: int) -> _Block:
        """Parse a block alone."""
        block = _Block(first, end)
        defined = self._defined(block, ())
        if defined is None:
            return replace(block, bad=(block,), is_bad=True)
        return replace(block, defined=defined)

    def _cleared(self, run: list[_Block]) -> list[_Block]:
        """Clear blocks between definitions that parse when joined."""
        if len(run) == 1 or not any(block.is_bad for block in run):
            return run
        both = _Block(run[0].first, run[-1].end)
        defined = self._defined(both, ())
        return run if defined is None else [replace(both, defined=defined)]

    def _divided(self, block: _Block, openings: Sequence[tuple[int, int]], depth: int) -> _Block:
        """Narrow down the bad part of a block that does not parse alone."""
        least = min(indent for _, indent in openings)
        inner = self._judged(block.first, block.end, openings, least, depth + 1)
        bad = [one for part in inner[1:] for one in part.bad]  # the first part holds the header
        defined = self._defined(block, bad) if bad else None
        return block if defined is None else replace(block, defined=defined, bad=tuple(bad))

    def _defined(
        self, block: _Block, bad: Collection[_Block]
    ) -> tuple[tuple[int, int, str], ...] | None:
        """Return a block's outermost definitions without some inner blocks, if it then parses."""
        first, end = block.first, block.end
        part = self.without(bad, first, end)
        tree = self._code.parse(part)
        if tree is None or tree.root_node.has_error:
            return None
        rows = replace(self._code, source=part, lines=self._code.lines[first:end]).rows_of(tree)
        units = set(rows.units)
        found: list[tuple[int, int, str]] = []
        done = -1
        for start, last, kind in sorted(rows.regions, key=lambda one: (one[0], -one[1])):
            if start > done and (start, last) in units:
                found.append((first + start, first + last, kind))
                done = last
        return tuple(found)


def _count_errors(tree: "Tree") -> int:
    """Count the error nodes and the missing nodes."""
    cursor = tree.walk()
    n_errors = 0
    while True:
        node = cursor.node
        assert node is not None
        if node.has_error:
            n_errors += node.is_error or node.is_missing
            if cursor.goto_first_child():
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return n_errors
