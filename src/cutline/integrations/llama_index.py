"""LlamaIndex: a node parser with exact token counts, metadata included.

Needs `llama-index-core`: pip install 'cutline[llama-index]'. Source:
docs/integrations/llama-index.md.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Self

from cutline.chunking.chunkers import Chunker
from cutline.chunking.rules import CountText
from cutline.chunks import Chunk, ChunkSize, size_for
from cutline.counting.limits import AlsoFits
from cutline.integrations.chunk_metadata import chunk_metadata
from cutline.integrations.describing import chunker_for, chunker_from, chunker_of, describe
from cutline.protocols import TokenCounter
from cutline.registry import token_counter_of
from cutline.template import Template

try:
    from llama_index.core.bridge.pydantic import (
        BeforeValidator,
        Field,
        PlainSerializer,
        WithJsonSchema,
    )
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.constants import DEFAULT_CHUNK_OVERLAP, DEFAULT_CHUNK_SIZE
    from llama_index.core.node_parser.interface import MetadataAwareTextSplitter
    from llama_index.core.node_parser.node_utils import build_nodes_from_splits, default_id_func
    from llama_index.core.schema import BaseNode, Document, MetadataMode, TextNode
    from llama_index.core.utils import get_tqdm_iterable
except ImportError as error:
    raise ImportError(
        "cutline.integrations.llama_index needs the package llama-index-core: "
        "pip install 'cutline[llama-index]'"
    ) from error

__all__ = ["CutlineNodeParser"]

_MODES = (MetadataMode.EMBED, MetadataMode.LLM)
_USUAL_IDS = {"id_func_name": default_id_func.__name__, "title": "id_func"}


def _read_chunker(given: Any) -> Any:
    return chunker_from(given) if isinstance(given, dict) else given


def _read_id_func(given: Any) -> Any:
    """Accept a function, or LlamaIndex's serialized form of its default function."""
    if given is None or given == _USUAL_IDS:
        return default_id_func
    if isinstance(given, dict):
        raise ValueError(
            f"id_func {given.get('id_func_name')!r} cannot be restored: pass the function itself"
        )
    return given


ChunkerField = Annotated[
    Chunker,
    BeforeValidator(_read_chunker),
    PlainSerializer(describe),
    WithJsonSchema({"type": "object"}),
]


class CutlineNodeParser(MetadataAwareTextSplitter):
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
            chunk_size = size_for(encoding, chunk_size, template is not None)
            if chunk_overlap is None:
                chunk_overlap = min(DEFAULT_CHUNK_OVERLAP, chunk_size - 1)
        options = {"encoding": encoding, "chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
        super().__init__(
            chunker=chunker_of(
                _read_chunker(chunker), also_fits=also_fits, template=template, **options
            ),
            callback_manager=callback_manager or CallbackManager([]),
            include_metadata=include_metadata,
            include_prev_next_rel=include_prev_next_rel,
            id_func=_read_id_func(id_func),
        )

    def __getstate__(self) -> dict[str, Any]:
        # LlamaIndex drops fields that cannot be pickled; without this one, the copy would cut
        # with default options.
        chunker = self.chunker
        state: dict[str, Any] = super().__getstate__()
        state["__dict__"]["chunker"] = chunker
        return state

    @classmethod
    def from_defaults(cls, **options: Any) -> Self:
        """Make a parser, like calling the class."""
        return cls(**options)

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
        chunker = self._with(lambda chunk: count(f"{metadata_str}\n\n{chunk.text}"))
        return [chunk.text for chunk in chunker.chunk(text)]

    def _with(self, count_text: CountText) -> Chunker:
        """Return the chunker with this `count_text`, unless it already has one or a template."""
        if self.chunker.count_text is not None or self.chunker.template is not None:
            return self.chunker
        return self.chunker.with_count_text(count_text)

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        parsed: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Parsing nodes"):
            chunker = self._with(self._sent_with(node)) if self.include_metadata else self.chunker
            text = node.get_content(metadata_mode=MetadataMode.NONE)
            chunks = chunker_for(chunker, node.metadata).chunk(text)
            texts = [chunk.text for chunk in chunks]
            made = build_nodes_from_splits(texts, node, id_func=self.id_func)
            for chunk, one in zip(chunks, made, strict=True):
                _tell(chunk, one)
            parsed.extend(made)
        return parsed

    def _sent_with(self, node: BaseNode) -> CountText:
        """Return a function that counts a chunk with its future metadata, as models see it."""
        count = self.chunker.encoding.count
        (blank,) = build_nodes_from_splits([""], node, id_func=lambda place, whole: "")

        def count_text(chunk: Chunk) -> int:
            sent = blank.model_copy()
            sent.set_content(chunk.text)
            _tell(chunk, sent)
            sent.metadata = {**node.metadata, **sent.metadata}
            return max(count(sent.get_content(metadata_mode=mode)) for mode in _MODES)

        return count_text

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


def _tell(chunk: Chunk, node: TextNode) -> None:
    """Copy a chunk's data into its node."""
    node.start_char_idx, node.end_char_idx = chunk.start_index, chunk.end_index
    known = chunk_metadata(chunk, with_offsets=False)  # these are in the node
    embed, llm = node.excluded_embed_metadata_keys, node.excluded_llm_metadata_keys
    node.excluded_embed_metadata_keys = list(dict.fromkeys([*embed, *known]))
    node.excluded_llm_metadata_keys = list(dict.fromkeys([*llm, *known]))
    if chunk.headings:
        known["headings"] = " > ".join(chunk.headings)
    node.metadata = known
