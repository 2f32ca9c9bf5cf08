r"""Haystack: a component that splits documents with exact token counts.

Needs `haystack-ai`: pip install 'cutline[haystack]'. Source: docs/integrations/haystack.md.
"""

from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any, Self, TypeVar

from cutline.chunking.chunkers import Chunker
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
)
from cutline.protocols import TokenCounter
from cutline.registry import encoding_of
from cutline.template import Template

try:
    from haystack import Document, component, default_from_dict, default_to_dict, logging
    from haystack.components.preprocessors import DocumentSplitter, RecursiveDocumentSplitter
except ImportError as error:
    raise ImportError(
        "cutline.integrations.haystack needs the package haystack-ai: "
        "pip install 'cutline[haystack]'"
    ) from error

__all__ = ["CutlineDocumentSplitter", "count_with"]

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
        if not isinstance(documents, list) or not all(
            isinstance(document, Document) for document in documents
        ):
            raise TypeError("CutlineDocumentSplitter expects a list of Documents as input")
        return {"documents": [split for whole in documents for split in self._splits(whole)]}

    def _splits(self, document: Document) -> list[Document]:
        text = document.content
        if text is None:
            raise ValueError(
                "CutlineDocumentSplitter only works with text documents, but the content of "
                f"document {document.id} is None"
            )
        chunker = chunker_for(self.chunker, document.meta)
        chunks = chunker.chunk(text)
        if not chunks and not self.skip_empty_documents:
            chunks = [Chunk("", 0, 0, 0, 0)]
        if not text and not chunks:
            logger.warning("Document {id} has an empty content: it is skipped", id=document.id)
        metas = [self._meta(document, chunk) for chunk in chunks]
        if self.add_places:
            for meta, page in zip(metas, _pages(text, chunks), strict=True):
                meta["page_number"] = page
        template = chunker.template if self.rendered else None
        splits = [_split(chunk, meta, template) for chunk, meta in zip(chunks, metas, strict=True)]
        if self.chunker.chunk_overlap and self.add_places:
            _record_overlaps(chunks, splits)
        return splits

    def _meta(self, document: Document, chunk: Chunk) -> dict[str, Any]:
        known: dict[str, Any] = deepcopy(document.meta)
        if self.add_places:
            known |= {
                "source_id": document.id,
                "split_id": chunk.index,
                "split_idx_start": chunk.start_index,
                "split_idx_end": chunk.end_index,
            }
        if chunk.headings:
            known["headings"] = list(chunk.headings)
        return known | chunk_metadata(chunk, with_offsets=self.add_places)

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
        data = deepcopy(data)
        parameters = data.get("init_parameters", {})
        if parameters.get("chunker") is not None:
            parameters["chunker"] = chunker_from(parameters["chunker"])
        made: Self = default_from_dict(cls, data)
        return made


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
