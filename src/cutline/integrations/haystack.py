r"""Haystack: a component that splits documents with exact token counts, and a token counter.

Needs `haystack-ai`: pip install 'cutline[haystack]'. Source: docs/integrations/haystack.md.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any, Self, TypeVar

from cutline.chat.by_name import chat_format_of
from cutline.chat.protocols import ChatFormat
from cutline.chunking import HierarchicalChunker
from cutline.chunking.chunker import Chunker
from cutline.chunks import Chunk, ChunkSize
from cutline.counting.limits import AlsoFits
from cutline.encoding import Encoding
from cutline.integrations.chunk_metadata import chunk_metadata
from cutline.integrations.describing import (
    checked_rendered,
    chunker_for,
    chunker_from,
    chunker_of,
    describe,
    naming,
)
from cutline.integrations.hierarchies import (
    describe_hierarchy,
    hierarchy_for,
    hierarchy_from,
    hierarchy_of,
)
from cutline.protocols import TokenCounter
from cutline.registry import encoding_of
from cutline.template import Template

try:
    from haystack import Document, component, default_from_dict, default_to_dict, logging
    from haystack.components.preprocessors import DocumentSplitter, RecursiveDocumentSplitter
    from haystack.dataclasses import ChatMessage
    from haystack.token_counters import TokenCounter as HaystackTokenCounter
    from haystack.tools import ToolsType, flatten_tools_or_toolsets
except ImportError as error:
    raise ImportError(
        "cutline.integrations.haystack needs the package haystack-ai: "
        "pip install 'cutline[haystack]'"
    ) from error

__all__ = [
    "CutlineDocumentSplitter",
    "CutlineHierarchicalDocumentSplitter",
    "CutlineTokenCounter",
    "count_with",
]

Splitter = TypeVar("Splitter", DocumentSplitter, RecursiveDocumentSplitter)
_PAGE_BREAK = "\f"

logger = logging.getLogger(__name__)


@component
class CutlineDocumentSplitter:
    r"""Splits documents with one of cutline's chunkers.

    A split has the metadata of its document and those of its chunk: "token_count";
    "content_hash"; "boundary", the kind of boundary at its end; with a `MarkdownChunker` or a
    `CodeChunker` also "headings", a list, and `Chunk.metadata`. With `add_places` it has those of
    Haystack's own splitters, too: "source_id", "split_id", "split_idx_start", "page_number" (of
    pages that end in "\f") and, if chunks may overlap, "_split_overlap"; and "split_idx_end".

    Args:
        chunker: any chunker. By default, a `TextChunker` with the following options.
        encoding: an `Encoding`, its name, or a wrapped tokenizer; by default "o200k_base".
        chunk_size: maximum number of tokens of a chunk; by default 512. "model": as for
            `TokenChunker`.
        chunk_overlap: maximum number of tokens that a chunk shares with the one before; by
            default 0.
        also_fits: further limits that each chunk fits, such as {"bytes": 40_000} for a vector
            store; see `TextChunker`.
        template: what is sent for a chunk: see `cutline.Template`. Fields such as {title} are
            taken from the document's metadata.
        rendered: make what the template sends the splits' content, for embedding; the chunk's text
            alone is then "text" in the metadata.
        skip_empty_documents: drop documents without text, instead of passing them on.
        add_places: whether the metadata says where the split lies, as Haystack's retrievers of
            neighbours need it. These values change with an edit before the split, and so does
            the split's id. Without them equal splits have one id, and a
            `CacheChecker` on "id" or a writer that skips duplicates finds what is stored.

    Raises:
        TypeError: a chunker and options for one are both given.
        ValueError: an option is out of range; or rendered, and there is no template.

    >>> splitter = CutlineDocumentSplitter(chunk_size=8)
    >>> documents = [Document(content="One fish, two fish. Red fish, blue fish.")]
    >>> for split in splitter.run(documents)["documents"]:
    ...     print(split.meta["split_idx_start"], repr(split.content))
    0 'One fish, two fish. '
    20 'Red fish, blue fish.'
    """

    def __init__(
        self,
        chunker: Chunker | None = None,
        *,
        encoding: TokenCounter | str | None = None,
        chunk_size: ChunkSize | None = None,
        chunk_overlap: int | None = None,
        also_fits: AlsoFits = None,
        template: Template | None = None,
        rendered: bool = False,
        skip_empty_documents: bool = True,
        add_places: bool = True,
    ) -> None:
        self.chunker = chunker_of(
            chunker,
            encoding=encoding,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            also_fits=also_fits,
            template=template,
        )
        self.rendered = checked_rendered(rendered, self.chunker)
        self.skip_empty_documents = skip_empty_documents
        self.add_places = add_places

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Split documents.

        Args:
            documents: with text as content.

        Returns:
            The splits of all documents, in order, under the key "documents".

        Raises:
            TypeError: documents is no list of documents.
            ValueError: a document has no text.
        """
        _check_documents(documents, type(self).__name__)
        return {"documents": [split for whole in documents for split in self._splits(whole)]}

    def _splits(self, document: Document) -> list[Document]:
        text = _text_of(document, type(self).__name__)
        with naming(document.id):
            chunker = chunker_for(self.chunker, document.meta)
            chunks = chunker.chunk(text)
        if not chunks and not self.skip_empty_documents:
            chunks = [Chunk("", 0, 0, 0, 0)]
        if not text and not chunks:
            logger.warning("Document {id} has an empty content: it is skipped", id=document.id)
        metas = _metas(document, text, chunks, self.add_places)
        template = chunker.template if self.rendered else None
        splits = [_split(chunk, meta, template) for chunk, meta in zip(chunks, metas, strict=True)]
        if self.chunker.chunk_overlap and self.add_places:
            _record_overlaps(chunks, splits)
        return splits

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component, for `Pipeline.dumps`."""
        written: dict[str, Any] = default_to_dict(
            self, chunker=describe(self.chunker), rendered=self.rendered,
            skip_empty_documents=self.skip_empty_documents, add_places=self.add_places,
        )  # fmt: skip
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Restore the component from the result of `to_dict`.

        Raises:
            ValueError: the chunker has functions, or an encoding that is neither packaged nor
                still in the file that it was loaded from.
        """
        made: Self = default_from_dict(cls, _with_chunker(data, chunker_from))
        return made


@component
class CutlineHierarchicalDocumentSplitter:
    r"""Splits documents into splits of several sizes, for Haystack's `AutoMergingRetriever`.

    A split is as one of `CutlineDocumentSplitter`, and has the metadata of Haystack's own
    `HierarchicalDocumentSplitter`: "__level", 0 for the largest; "__block_size", the level's
    number of tokens; "__parent_id", None at level 0; and "__children_ids". Splits of the last
    level, which have no children, are to be retrieved; the others are for the retriever's
    document store. Unlike in Haystack's splitter, what fits the next size is split too, into
    itself: so each split of the last level has a parent, and the retriever returns nothing
    larger than the first size.

    Args:
        chunker: a `HierarchicalChunker` of two sizes or more; or a chunker or an encoding for
            one of the usual sizes. By default, one of "o200k_base".
        rendered: as for `CutlineDocumentSplitter`.

    Raises:
        ValueError: there is one size only, so that no split has a parent; or rendered, and there
            is no template.

    >>> import cutline
    >>> chunker = cutline.HierarchicalChunker("o200k_base", (32, 8))
    >>> splitter = CutlineHierarchicalDocumentSplitter(chunker)
    >>> documents = [Document(content="One fish, two fish. Red fish, blue fish.")]
    >>> for split in splitter.run(documents)["documents"]:
    ...     print(split.meta["__level"], repr(split.content), len(split.meta["__children_ids"]))
    0 'One fish, two fish. Red fish, blue fish.' 2
    1 'One fish, two fish. ' 0
    1 'Red fish, blue fish.' 0
    """

    def __init__(
        self,
        chunker: HierarchicalChunker | Chunker | TokenCounter | str | None = None,
        *,
        rendered: bool = False,
    ) -> None:
        self.chunker = hierarchy_of(chunker)
        if len(self.chunker.sizes) < 2:
            raise ValueError(
                f"sizes must be two or more, got {self.chunker.sizes}: or else no split has a "
                "parent, and CutlineDocumentSplitter does it"
            )
        self.rendered = checked_rendered(rendered, self.chunker.chunker)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Split documents.

        Args:
            documents: with text as content; one without any text has no splits.

        Returns:
            The splits of all documents under the key "documents"; of each one the largest first.

        Raises:
            TypeError: documents is no list of documents.
            ValueError: a document has no text.
        """
        _check_documents(documents, type(self).__name__)
        return {"documents": [split for whole in documents for split in self._family(whole)]}

    def _family(self, document: Document) -> list[Document]:
        text = _text_of(document, type(self).__name__)
        with naming(document.id):
            chunker = hierarchy_for(self.chunker, document.meta)
            levels = chunker.chunk(text)
        template = chunker.chunker.template if self.rendered else None
        family: list[Document] = []
        above: list[Document] = []
        for size, nodes in zip(chunker.sizes, levels, strict=True):
            made: list[Document] = []
            # With places: without them splits of the same text would have one id.
            metas = _metas(document, text, [node.chunk for node in nodes], with_places=True)
            for node, meta in zip(nodes, metas, strict=True):
                parent = None if node.parent is None else above[node.parent]
                meta |= {
                    "__level": node.level,
                    "__block_size": size,
                    "__parent_id": None if parent is None else parent.id,
                    "__children_ids": [],
                }
                made.append(_split(node.chunk, meta, template))
                if parent is not None:
                    parent.meta["__children_ids"].append(made[-1].id)
            above = made
            family += made
        return family

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component, for `Pipeline.dumps`."""
        written: dict[str, Any] = default_to_dict(
            self, chunker=describe_hierarchy(self.chunker), rendered=self.rendered
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Restore the component from the result of `to_dict`.

        Raises:
            ValueError: as for `CutlineDocumentSplitter`.
        """
        made: Self = default_from_dict(cls, _with_chunker(data, hierarchy_from))
        return made


class CutlineTokenCounter(HaystackTokenCounter):
    """A `TokenCounter` that counts requests as a model reads them: for the hooks that compact.

    Args:
        chat_format: a chat format, or its name, such as "chatml".
        encoding: the name of the encoding, if `chat_format` is a name.

    >>> counter = CutlineTokenCounter("chatml", "o200k_base")
    >>> counter.count([ChatMessage.from_user("hello world")])
    10
    """

    def __init__(
        self, chat_format: ChatFormat | str = "chatml", encoding: str = "o200k_base"
    ) -> None:
        self._name, self._encoding = chat_format, encoding
        self.chat_format = (
            chat_format_of(chat_format, encoding) if isinstance(chat_format, str) else chat_format
        )

    def count(self, messages: list[ChatMessage], tools: ToolsType | None = None) -> int:
        """Count the tokens of a request; 0 if there are neither messages nor tools."""
        if not messages and not tools:
            return 0
        written = [
            message.to_openai_dict_format(require_tool_call_ids=False) for message in messages
        ]
        schemas = [
            {"type": "function", "function": tool.tool_spec}
            for tool in flatten_tools_or_toolsets(tools)
        ]
        return self.chat_format.count(written, tools=schemas)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the counter.

        Raises:
            ValueError: the chat format was not given by its name.
        """
        if not isinstance(self._name, str):
            raise ValueError(f"{self._name!r} can't be serialized: give the format by its name")
        written: dict[str, Any] = default_to_dict(
            self, chat_format=self._name, encoding=self._encoding
        )
        return written


def _with_chunker(data: dict[str, Any], read: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a serialized component with its chunker restored."""
    data = deepcopy(data)
    parameters = data.get("init_parameters", {})
    if parameters.get("chunker") is not None:
        parameters["chunker"] = read(parameters["chunker"])
    return data


def count_with(splitter: Splitter, encoding: Encoding | str = "o200k_base") -> Splitter:
    """Make one of Haystack's own splitters count tokens with cutline, offline.

    By default they use tiktoken, which downloads its vocabulary.

    Args:
        splitter: a `DocumentSplitter` that splits by "token", or a `RecursiveDocumentSplitter`
            with split_unit "token". It is modified in place.
        encoding: an encoding, or its name.

    Returns:
        The splitter.

    Raises:
        ValueError: the splitter does not count tokens.
    """
    counting = encoding_of(encoding)
    if isinstance(splitter, RecursiveDocumentSplitter) and splitter.split_units == "token":
        if "sentence" in splitter.separators:
            raise ValueError("a splitter by sentences must load NLTK: leave 'sentence' out")
        splitter.tiktoken_tokenizer = counting
        splitter._is_warmed_up = True
    elif isinstance(splitter, DocumentSplitter) and splitter.split_by == "token":
        splitter._tiktoken_tokenizer = counting
    else:
        raise ValueError(f"{type(splitter).__name__} does not count tokens: make it do so first")
    return splitter


def _check_documents(documents: Any, component_name: str) -> None:
    if not isinstance(documents, list) or not all(
        isinstance(document, Document) for document in documents
    ):
        raise TypeError(f"{component_name} expects a list of Documents as input")


def _text_of(document: Document, component_name: str) -> str:
    if document.content is None:
        raise ValueError(
            f"{component_name} only works with text documents, but the content of "
            f"document {document.id} is None"
        )
    text: str = document.content
    return text


def _metas(
    document: Document, text: str, chunks: list[Chunk], with_places: bool
) -> list[dict[str, Any]]:
    """Return the metadata of the splits of some chunks; with places also where they lie."""
    metas = []
    for chunk, page in zip(chunks, _pages(text, chunks), strict=True):
        known: dict[str, Any] = deepcopy(document.meta)
        if with_places:
            known |= {
                "source_id": document.id,
                "split_id": chunk.index,
                "split_idx_start": chunk.start_index,
                "split_idx_end": chunk.end_index,
            }
        if chunk.headings:
            known["headings"] = list(chunk.headings)
        known |= chunk_metadata(chunk, with_offsets=with_places)
        metas.append(known | {"page_number": page} if with_places else known)
    return metas


def _split(chunk: Chunk, meta: dict[str, Any], template: Template | None) -> Document:
    """Make the split of a chunk; with a template, its content is what is sent."""
    if template is None:
        return Document(content=chunk.text, meta=meta)
    return Document(content=template.render(chunk), meta={**meta, "text": chunk.text})


def _pages(text: str, chunks: list[Chunk]) -> Iterator[int]:
    """Yield the page of each chunk's first character that is no page break."""
    page, counted = 1, 0
    for chunk in chunks:
        page += text.count(_PAGE_BREAK, counted, chunk.start_index)
        counted = chunk.start_index
        leading = len(chunk.text) - len(chunk.text.lstrip(_PAGE_BREAK))
        yield page + (leading if leading < len(chunk.text) else 0)


def _record_overlaps(chunks: list[Chunk], splits: list[Document]) -> None:
    """Record in each of two neighbours which characters it shares with the other."""
    for split in splits:
        split.meta["_split_overlap"] = []
    for (before, split_before), (after, split_after) in pairwise(zip(chunks, splits, strict=True)):
        shared = before.end_index - after.start_index
        if shared > 0:
            length = len(before.text)
            split_after.meta["_split_overlap"].append(
                {"doc_id": split_before.id, "range": (length - shared, length)}
            )
            split_before.meta["_split_overlap"].append(
                {"doc_id": split_after.id, "range": (0, shared)}
            )
