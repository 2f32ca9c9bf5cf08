"""Chunks of several sizes: small ones to find, and the larger ones around them to read.

The whole text is parsed and its tokens are indexed once; each level cuts the chunks of the one
above, by the same rules. Source: docs/small-to-big.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from cutline.checks import plain_text
from cutline.chunking.chunker import Chunker
from cutline.chunking.chunkers import TextChunker
from cutline.chunking.cutting_apart import cut_each
from cutline.chunking.line_numbers import with_lines
from cutline.chunking.stretch import Stretch
from cutline.chunks import Chunk
from cutline.errors import shown
from cutline.protocols import TokenCounter

__all__ = ["HierarchicalChunker", "Node"]


class Node(NamedTuple):
    """A chunk in a hierarchy.

    Attributes:
        chunk: the chunk; its `index` is its place in its level.
        id: its level and content hash, and a number from the second equal chunk on; so it stays
            when text elsewhere is edited.
        level: 0 for the largest chunks.
        parent: the place in the level above of the chunk around it; None at level 0.
        parent_id: its id; None at level 0.
        children: the places in the level below of the chunks that it consists of; empty at the
            last level.
    """

    chunk: Chunk
    id: str
    level: int
    parent: int | None
    parent_id: str | None
    children: range


class HierarchicalChunker:
    r"""Cuts a text into large chunks, these into smaller ones, and so on, in one pass.

    At every level the chunks joined are the text, each has at most the level's number of tokens,
    its own headings, and ends where the chunker's rules say; and the children of a chunk, joined,
    are that chunk. A chunk that fits the next size has itself as its only child. The first level
    is what the chunker with that `chunk_size` makes.

    Args:
        chunker: its rules hold at every level, all but its `chunk_size`. Or an encoding, its name
            or a wrapped tokenizer, for a `TextChunker`.
        sizes: the maximum number of tokens of a chunk at each level, falling.

    Raises:
        TypeError: a size is no integer.
        ValueError: there is no size, or they do not fall; or the chunker has an overlap, or
            strips: then children would not make up their parent.

    >>> import cutline
    >>> text = "# Fish\n\nOne, two.\n\n## Red\n\nA red fish. It swims.\n"
    >>> chunker = HierarchicalChunker(cutline.MarkdownChunker("o200k_base"), sizes=(16, 8))
    >>> large, small = chunker(text)
    >>> [(node.chunk.token_count, node.children) for node in large]
    [(7, range(0, 1)), (10, range(1, 3))]
    >>> [(node.parent, node.chunk.headings, node.chunk.text) for node in small[1:]]
    [(1, ('Fish', 'Red'), '## Red\n\nA red fish. '), (1, ('Fish', 'Red'), 'It swims.\n')]
    """

    def __init__(
        self, chunker: Chunker | TokenCounter | str, sizes: Sequence[int] = (2048, 512, 128)
    ) -> None:
        self._chunker = chunker if isinstance(chunker, Chunker) else TextChunker(chunker)
        rules = self._chunker._rules
        for name, is_set in {"chunk_overlap": rules.chunk_overlap, "strip": rules.strip}.items():
            if is_set:
                raise ValueError(
                    f"the chunker must have no {name}, got {is_set}: the children of a chunk are "
                    "to make it up exactly"
                )
        if not isinstance(sizes, Iterable):
            raise TypeError(f"sizes must be several, got {shown(sizes)}: put it into a list")
        self._rules = [rules.replaced(chunk_size=size) for size in sizes]
        falls = [rules.chunk_size for rules in self._rules]
        if not falls or falls != sorted(set(falls), reverse=True):
            raise ValueError(f"sizes must be one or more, falling, got {tuple(sizes)}")

    @property
    def chunker(self) -> Chunker:
        """The chunker whose rules hold at every level."""
        return self._chunker

    @property
    def sizes(self) -> tuple[int, ...]:
        """The maximum number of tokens of a chunk at each level."""
        return tuple(rules.chunk_size for rules in self._rules)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.sizes, self._chunker) == (other.sizes, other._chunker)

    def __hash__(self) -> int:
        return hash((type(self), self.sizes, self._chunker))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._chunker!r}, sizes={self.sizes!r})"

    def chunk(self, text: str) -> list[list[Node]]:
        """Cut a text; an empty text has no chunks.

        Returns:
            The nodes of each level, the largest first, in the order of the text.

        Raises:
            BudgetError: (a ValueError) a character alone has more tokens than the last size; as
                for the chunker.
            SurrogateError: (a ValueError) the text has surrogate code points.

        Cost: linear in the text for each level; it is parsed and tokenized once.
        """
        text = plain_text(text)
        whole = self._chunker._finder(text, self._rules[0])
        levels = [list(self._chunker._cut(text, self._rules[0], whole))]
        firsts: list[list[int]] = []
        for rules in self._rules[1:]:
            resized = whole.resized(rules)
            families = list(cut_each(map(_stretch, levels[-1]), resized.within, rules))
            levels.append([*chain.from_iterable(families)])
            firsts.append([*accumulate(map(len, families), initial=0)])
        if self._rules[0].line_numbers:
            levels = [with_lines(text, chunks) for chunks in levels]
        return _linked(levels, firsts)

    __call__ = chunk


def _stretch(parent: Chunk) -> Stretch:
    return Stretch(parent.start_index, parent.end_index, parent.metadata["boundary"])


def _linked(levels: Sequence[Sequence[Chunk]], firsts: Sequence[Sequence[int]]) -> list[list[Node]]:
    """Make the nodes of all levels, with ids and links."""
    made: list[list[Node]] = []
    for level, chunks in enumerate(levels):
        first = firsts[level] if level < len(firsts) else [0] * (len(chunks) + 1)
        children = [range(*pair) for pair in pairwise(first)]
        parents = [node for node in made[-1] for _ in node.children] if made else []
        seen: Counter[str] = Counter()
        nodes = []
        for place, chunk in enumerate(chunks):
            content = chunk.content_hash
            seen[content] += 1
            again = f"-{seen[content]}" if seen[content] > 1 else ""
            parent = parents[place] if made else None
            nodes.append(
                Node(
                    chunk,
                    f"{level}-{content}{again}",
                    level,
                    parent.chunk.index if parent else None,
                    parent.id if parent else None,
                    children[place],
                )
            )
        made.append(nodes)
    return made
