"""`cutline chunk --sizes`: chunks of several sizes, each of which names its parent."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from cutline import Chunk
    from cutline.chunking import Chunker

__all__ = ["family", "place_of", "read_sizes", "sizes_option"]

_NODE = "node"  # the key of a chunk's metadata until it is written


def read_sizes(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Convert what --sizes got; none: an empty tuple."""
    if value is None:
        return ()
    sizes = tuple(click.IntRange(min=1)(one.strip(), param, ctx) for one in value.split(","))
    if list(sizes) != sorted(set(sizes), reverse=True):
        raise click.BadParameter(f"sizes must fall, got {value}", ctx, param)
    return sizes


sizes_option = click.option(
    "--sizes",
    metavar="N,N,...",
    callback=read_sizes,
    help="Maximum tokens at several levels, such as 2048,512,128, instead of --chunk-size: each "
    "chunk of a level is cut into those of the next one, and rows have level, id and parent_id.",
)


class Place(NamedTuple):
    """Where a chunk stands in the hierarchies of all texts: more columns of its row."""

    level: int
    id: str
    parent_id: str | None


def family(chunker: "Chunker", sizes: Sequence[int], text: str) -> Iterator["Chunk"]:
    """Yield the chunks of a text at several sizes, level by level, for `place_of`.

    Args:
        chunker: its rules hold at every level.
        sizes: of the levels, falling.
        text: the text.
    """
    from cutline.chunking import HierarchicalChunker

    for nodes in HierarchicalChunker(chunker, sizes).chunk(text):
        for node in nodes:
            place = Place(node.level, node.id, node.parent_id)
            yield node.chunk.__replace__(metadata={**node.chunk.metadata, _NODE: place})


def place_of(file: str, piece: "Chunk") -> tuple["Chunk", Place]:
    """Return a chunk of `family` as the chunker made it, and its place; ids name file and row."""
    metadata = dict(piece.metadata)
    level, own, above = metadata.pop(_NODE)
    begin = f"{file}#{metadata['row']}/" if "row" in metadata else f"{file}/"
    place = Place(level, begin + own, None if above is None else begin + above)
    return piece.__replace__(metadata=metadata), place
