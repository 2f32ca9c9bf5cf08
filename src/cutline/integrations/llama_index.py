"""LlamaIndex: a node parser with exact token counts, metadata included.

Needs `llama-index-core`: pip install 'cutline[llama-index]'. Source:
docs/integrations/llama-index.md.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Self

from cutline.checks import checked_integer
from cutline.chunking import HierarchicalChunker
from cutline.chunking.chunker import Chunker
from cutline.chunking.rules import CountText
from cutline.chunks import Chunk, ChunkSize, size_for
from cutline.counting.limits import AlsoFits
from cutline.integrations.chunk_metadata import chunk_metadata
from cutline.integrations.describing import chunker_for, chunker_of, naming
from cutline.integrations.hierarchies import hierarchy_for, hierarchy_of
from cutline.protocols import TokenCounter
from cutline.registry import token_counter_of
from cutline.template import Template

try:
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.constants import DEFAULT_CHUNK_OVERLAP, DEFAULT_CHUNK_SIZE
    from llama_index.core.node_parser.interface import MetadataAwareTextSplitter, NodeParser
    from llama_index.core.node_parser.node_utils import build_nodes_from_splits, default_id_func
    from llama_index.core.schema import (
        BaseNode,
        Document,
        MetadataMode,
        NodeRelationship,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.utils import get_tqdm_iterable

    from cutline.integrations.pydantic_fields import (
        ChunkerField,
        HierarchyField,
        read_chunker,
        read_hierarchy,
    )
except ImportError as error:
    raise ImportError(
        "cutline.integrations.llama_index needs the package llama-index-core: "
        "pip install 'cutline[llama-index]'"
    ) from error

__all__ = ["CutlineHierarchicalNodeParser", "CutlineNodeParser"]

_MODES = (MetadataMode.EMBED, MetadataMode.LLM)
_USUAL_IDS = {"id_func_name": default_id_func.__name__, "title": "id_func"}


def _read_id_func(given: Any) -> Any:
    """Accept a function, or LlamaIndex's serialized form of its default function."""
    if given is None or given == _USUAL_IDS:
        return default_id_func
    if isinstance(given, dict):
        raise ValueError(
            f"id_func {given.get('id_func_name')!r} cannot be restored: pass the function itself"
        )
    return given


class _ChunkerParser(NodeParser):
    """A node parser whose nodes are chunks."""

    @classmethod
    def from_defaults(cls, **options: Any) -> Self:
        """Make a parser, like calling the class."""
        return cls(**options)

    def __getstate__(self) -> dict[str, Any]:
        # LlamaIndex drops fields that cannot be pickled; without this one, the copy would cut
        # with default options.
        chunker = self.chunker
        state: dict[str, Any] = super().__getstate__()
        state["__dict__"]["chunker"] = chunker
        return state

    def _sending(self, chunker: Chunker, node: BaseNode) -> Chunker:
        """Return the chunker for a node; it counts what is sent, unless it says so itself."""
        knows = chunker.count_text is not None or chunker.template is not None
        if knows or not self.include_metadata:
            return chunker
        return chunker.with_count_text(_sent_with(chunker, node))

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        # LlamaIndex searches for offsets, and finds repeated text at its first occurrence:
        # restore ours.
        places = {
            node.node_id: (node.start_char_idx, node.end_char_idx)
            for node in nodes
            if isinstance(node, TextNode)
        }
        nodes = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node in nodes:
            if isinstance(node, TextNode):
                node.start_char_idx, node.end_char_idx = places[node.node_id]
        return nodes


class CutlineNodeParser(_ChunkerParser, MetadataAwareTextSplitter):
    """Parses documents into nodes with one of cutline's chunkers.

    A node's `start_char_idx` and `end_char_idx` are those of the cut itself, not found by
    searching. Its metadata is the document's and in addition "token_count"; "content_hash";
    "boundary", the kind of boundary at its end; with a `MarkdownChunker` or a `CodeChunker` also
    "headings", joined by " > ", and `Chunk.metadata` without offsets, so that a node's hash does
    not change with an edit before it. Of these only the headings are sent to models: the other
    keys are excluded.

    With `include_metadata`, the budget holds for the text that is sent, with the metadata, by
    the document's templates, for embedding and for a language model.

    Args:
        chunker: any chunker. By default, a `TextChunker` with the following options. A chunker
            that has a `template` or a `count_text` keeps it.
        encoding: an `Encoding`, its name, or a wrapped tokenizer; by default "o200k_base".
        chunk_size: maximum number of tokens of a node; by default LlamaIndex's 1024. "model": as
            for `TokenChunker`.
        chunk_overlap: maximum number of tokens that a node shares with the one before; by
            default 20.
        also_fits: further limits that each node's text fits, such as {"bytes": 40_000} for a
            vector store; see `TextChunker`.
        template: what is sent for a node, instead of the document's templates: see
            `cutline.Template`. Fields such as {title} are taken from the metadata.
        callback_manager, include_metadata, include_prev_next_rel, id_func: as for any node
            parser.

    Raises:
        TypeError: a chunker and options for one are both given.
        ValueError: an option is out of range.

    >>> parser = CutlineNodeParser(chunk_size=8, chunk_overlap=0)
    >>> documents = [Document(text="One fish, two fish. Red fish, blue fish.")]
    >>> for node in parser.get_nodes_from_documents(documents):
    ...     print(node.start_char_idx, repr(node.text))
    0 'One fish, two fish. '
    20 'Red fish, blue fish.'
    """

    chunker: ChunkerField = Field(description="Cuts the text.")

    def __init__(
        self,
        chunker: Chunker | dict[str, Any] | None = None,
        *,
        encoding: TokenCounter | str | None = None,
        chunk_size: ChunkSize | None = None,
        chunk_overlap: int | None = None,
        also_fits: AlsoFits = None,
        template: Template | None = None,
        callback_manager: CallbackManager | None = None,
        include_metadata: bool = True,
        include_prev_next_rel: bool = True,
        id_func: Callable[[int, BaseNode], str] | dict[str, Any] | None = None,
    ) -> None:
        if chunker is None:
            encoding = token_counter_of("o200k_base" if encoding is None else encoding)
            chunk_size = DEFAULT_CHUNK_SIZE if chunk_size is None else chunk_size
            size = size_for(encoding, chunk_size, template is not None)
            chunk_size = checked_integer(size, "chunk_size")
            if chunk_overlap is None:
                chunk_overlap = min(DEFAULT_CHUNK_OVERLAP, chunk_size - 1)
        options = {"encoding": encoding, "chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
        super().__init__(
            chunker=chunker_of(
                read_chunker(chunker), also_fits=also_fits, template=template, **options
            ),
            callback_manager=callback_manager or CallbackManager([]),
            include_metadata=include_metadata,
            include_prev_next_rel=include_prev_next_rel,
            id_func=_read_id_func(id_func),
        )

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of the class."""
        return "CutlineNodeParser"

    def split_text(self, text: str) -> list[str]:
        """Split a text into the texts of its chunks."""
        return [chunk.text for chunk in self.chunker.chunk(text)]

    def split_text_metadata_aware(self, text: str, metadata_str: str) -> list[str]:
        """Split a text so that each chunk fits with the metadata and a blank line before it."""
        count = self.chunker.encoding.count
        chunker = self.chunker
        if chunker.count_text is None and chunker.template is None:
            chunker = chunker.with_count_text(
                lambda chunk: count(f"{metadata_str}\n\n{chunk.text}")
            )
        return [chunk.text for chunk in chunker.chunk(text)]

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        parsed: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Parsing nodes"):
            chunker = self._sending(self.chunker, node)
            text = node.get_content(metadata_mode=MetadataMode.NONE)
            with naming(node.node_id):
                chunks = chunker_for(chunker, node.metadata).chunk(text)
            texts = [chunk.text for chunk in chunks]
            made = build_nodes_from_splits(texts, node, id_func=self.id_func)
            for chunk, one in zip(chunks, made, strict=True):
                _tell(chunk, one)
            parsed.extend(made)
        return parsed


class CutlineHierarchicalNodeParser(_ChunkerParser):
    """Parses documents into nodes of several sizes, each with its parent and its children.

    A node is as one of `CutlineNodeParser`, and has its "level" in its metadata, 0 for the
    largest. Every node but those of level 0 has a parent, every one but those of the last level
    has children: `llama_index.core.node_parser.get_leaf_nodes` returns those to embed, and an
    `AutoMergingRetriever` with a docstore of all nodes merges what is found. Previous and next
    are the neighbours at the same level.

    With `include_metadata`, each level's size holds for the text that is sent, with the metadata.

    Args:
        chunker: a `HierarchicalChunker`; or a chunker or an encoding for one of the usual sizes.
            By default, one of "o200k_base".
        callback_manager, include_metadata, include_prev_next_rel, id_func: as for any node
            parser.

    >>> import cutline
    >>> parser = CutlineHierarchicalNodeParser(cutline.HierarchicalChunker("o200k_base", (32, 8)))
    >>> documents = [Document(text="One fish, two fish. Red fish, blue fish.")]
    >>> for node in parser.get_nodes_from_documents(documents):
    ...     print(node.metadata["level"], repr(node.text), len(node.child_nodes or []))
    0 'One fish, two fish. Red fish, blue fish.' 2
    1 'One fish, two fish. ' 0
    1 'Red fish, blue fish.' 0
    """

    chunker: HierarchyField = Field(description="Cuts the text.")

    def __init__(
        self,
        chunker: HierarchicalChunker | Chunker | TokenCounter | str | dict[str, Any] | None = None,
        *,
        callback_manager: CallbackManager | None = None,
        include_metadata: bool = True,
        include_prev_next_rel: bool = True,
        id_func: Callable[[int, BaseNode], str] | dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            chunker=hierarchy_of(read_hierarchy(chunker)),
            callback_manager=callback_manager or CallbackManager([]),
            include_metadata=include_metadata,
            include_prev_next_rel=include_prev_next_rel,
            id_func=_read_id_func(id_func),
        )

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of the class."""
        return "CutlineHierarchicalNodeParser"

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        parsed: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Parsing nodes"):
            parsed.extend(self._family(node))
        return parsed

    def _family(self, node: BaseNode) -> list[TextNode]:
        """Return the nodes of a document, level by level; of their parents they know the ids."""
        counting = HierarchicalChunker(
            self._sending(self.chunker.chunker, node), self.chunker.sizes
        )
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        family: list[TextNode] = []
        above: list[TextNode] = []
        with naming(node.node_id):
            levels = hierarchy_for(counting, node.metadata).chunk(text)
        for level, found in enumerate(levels):
            first = len(family)
            made = build_nodes_from_splits(
                [one.chunk.text for one in found],
                node,
                id_func=lambda place, whole, first=first: self.id_func(first + place, whole),
            )
            for one, child in zip(found, made, strict=True):
                _tell(one.chunk, child, level=level)
                if one.parent is not None:
                    info = RelatedNodeInfo(node_id=above[one.parent].node_id)
                    child.relationships[NodeRelationship.PARENT] = info
            above = made
            family.extend(made)
        return family

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        done: list[BaseNode] = []
        # Level by level: LlamaIndex makes those neighbours that follow each other.
        for _, level in groupby(nodes, lambda node: (node.ref_doc_id, node.metadata["level"])):
            done += super()._postprocess_parsed_nodes([*level], parent_doc_map)
        _complete_families(done)
        return done


def _complete_families(nodes: Sequence[BaseNode]) -> None:
    """Tell parents and children all of each other."""
    infos = {node.node_id: node.as_related_node_info() for node in nodes}
    children: defaultdict[str, list[RelatedNodeInfo]] = defaultdict(list)
    for node in nodes:
        if (parent := node.parent_node) is not None:
            node.relationships[NodeRelationship.PARENT] = infos[parent.node_id]
            children[parent.node_id].append(infos[node.node_id])
    for node in nodes:
        if node.node_id in children:
            node.relationships[NodeRelationship.CHILD] = children[node.node_id]


def _sent_with(chunker: Chunker, node: BaseNode) -> CountText:
    """Return a function that counts a chunk with its future metadata, as models see it."""
    count = chunker.encoding.count
    (blank,) = build_nodes_from_splits([""], node, id_func=lambda place, whole: "")

    def count_text(chunk: Chunk) -> int:
        sent = blank.model_copy()
        sent.set_content(chunk.text)
        _tell(chunk, sent)
        sent.metadata = {**node.metadata, **sent.metadata}
        return max(count(sent.get_content(metadata_mode=mode)) for mode in _MODES)

    return count_text


def _tell(chunk: Chunk, node: TextNode, **more: Any) -> None:
    """Copy a chunk's data into its node, and more metadata that is not sent."""
    node.start_char_idx, node.end_char_idx = chunk.start_index, chunk.end_index
    known = more | chunk_metadata(chunk, with_offsets=False)  # these are in the node
    embed, llm = node.excluded_embed_metadata_keys, node.excluded_llm_metadata_keys
    node.excluded_embed_metadata_keys = list(dict.fromkeys([*embed, *known]))
    node.excluded_llm_metadata_keys = list(dict.fromkeys([*llm, *known]))
    if chunk.headings:
        known["headings"] = " > ".join(chunk.headings)
    node.metadata = known
