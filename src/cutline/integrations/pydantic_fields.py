"""Chunkers as fields of pydantic models, for frameworks that write and read pipelines."""

from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from cutline.chunking import HierarchicalChunker
from cutline.chunking.chunker import Chunker
from cutline.integrations.describing import chunker_from, describe
from cutline.integrations.hierarchies import describe_hierarchy, hierarchy_from

__all__ = ["ChunkerField", "HierarchyField", "read_chunker", "read_hierarchy"]


def read_chunker(given: Any) -> Any:
    """Restore a chunker from its description; return anything else as it is."""
    return chunker_from(given) if isinstance(given, dict) else given


def read_hierarchy(given: Any) -> Any:
    """Restore a hierarchical chunker from its description; return anything else as it is."""
    return hierarchy_from(given) if isinstance(given, dict) else given


ChunkerField = Annotated[
    Chunker,
    BeforeValidator(read_chunker),
    PlainSerializer(describe),
    WithJsonSchema({"type": "object"}),
]

HierarchyField = Annotated[
    HierarchicalChunker,
    BeforeValidator(read_hierarchy),
    PlainSerializer(describe_hierarchy),
    WithJsonSchema({"type": "object"}),
]
