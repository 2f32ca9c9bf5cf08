"""Hierarchical chunkers in adapters: described as plain data, and filled for a document."""

from collections.abc import Mapping
from typing import Any

from cutline.chunking import HierarchicalChunker
from cutline.chunking.chunker import Chunker
from cutline.integrations.describing import chunker_for, chunker_from, describe
from cutline.protocols import TokenCounter

__all__ = ["describe_hierarchy", "hierarchy_for", "hierarchy_from", "hierarchy_of"]


def describe_hierarchy(chunker: HierarchicalChunker) -> dict[str, Any]:
    """Describe a hierarchical chunker for `hierarchy_from`: see `describe`.

    >>> described = describe_hierarchy(HierarchicalChunker("gpt2", (64, 16)))
    >>> described["sizes"], described["chunker"]["encoding"]
    ([64, 16], 'gpt2')
    """
    return {"chunker": describe(chunker.chunker), "sizes": list(chunker.sizes)}


def hierarchy_from(description: Any) -> HierarchicalChunker:
    """Restore a hierarchical chunker from its description.

    Raises:
        ValueError: it has parts that cannot be restored; or it is no result of
            `describe_hierarchy`.
    """
    match description:
        case {"chunker": Mapping() as chunker, "sizes": list(sizes), **rest} if not rest:
            made = chunker_from(chunker)
        case _:
            raise ValueError(f"the description of a hierarchy is damaged: {description!r}")
    try:
        return HierarchicalChunker(made, sizes)
    except TypeError as error:
        raise ValueError(f"the description of a hierarchy is damaged: {error}") from error


def hierarchy_of(
    chunker: HierarchicalChunker | Chunker | TokenCounter | str | None,
) -> HierarchicalChunker:
    """Return the given hierarchical chunker; of a chunker or an encoding, one of usual sizes.

    Raises:
        TypeError, ValueError: as `HierarchicalChunker` raises.
    """
    if isinstance(chunker, HierarchicalChunker):
        return chunker
    return HierarchicalChunker("o200k_base" if chunker is None else chunker)


def hierarchy_for(chunker: HierarchicalChunker, metadata: Mapping[Any, Any]) -> HierarchicalChunker:
    """Return the hierarchical chunker with its template filled for a document.

    Raises:
        ValueError: the template has a field that the metadata lacks.
    """
    filled = chunker_for(chunker.chunker, metadata)
    return chunker if filled is chunker.chunker else HierarchicalChunker(filled, chunker.sizes)
