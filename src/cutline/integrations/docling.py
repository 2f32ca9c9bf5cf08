"""Docling: chunks of its documents within an exact budget, and a tokenizer for its chunkers.

Needs `docling-core`: pip install 'cutline[docling]'. Source: docs/integrations/docling.md.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Annotated, Any, ClassVar

from cutline.chunking.chunker import Chunker
from cutline.chunking.document_chunkers import MarkdownChunker
from cutline.chunks import Chunk, ChunkSize, size_for
from cutline.counting.limits import AlsoFits
from cutline.integrations.describing import chunker_for, chunker_of
from cutline.protocols import TokenCounter
from cutline.registry import token_counter_of
from cutline.template import SENT_TOKENS, Template

try:
    from docling_core.transforms.chunker import BaseChunk, BaseChunker, DocChunk, DocMeta
    from docling_core.transforms.chunker.tokenizer.base import BaseTokenizer
    from docling_core.transforms.serializer.markdown import MarkdownParams
    from docling_core.types.doc.document import DocItem, DoclingDocument, ProvenanceItem
    from pydantic import ConfigDict, Field, PlainSerializer, WithJsonSchema

    from cutline.integrations.docling_text import Place, write
    from cutline.integrations.pydantic_fields import ChunkerField, read_chunker
except ImportError as error:
    raise ImportError(
        "cutline.integrations.docling needs the package docling-core: "
        "pip install 'cutline[docling]'"
    ) from error

__all__ = ["CutlineChunk", "CutlineChunker", "CutlineMeta", "CutlineTokenizer"]

_STARTS, _ENDS = attrgetter("start"), attrgetter("end")
_SENT = Template("{headings}\n{table_header}{text}", joined_by="\n")


def _usual_params() -> MarkdownParams:
    """Return the options with which docling's own chunkers write text, and tables in few tokens."""
    return MarkdownParams(
        image_placeholder="", escape_underscores=False, escape_html=False, compact_tables=True
    )


class CutlineTokenizer(BaseTokenizer):
    """A tokenizer for docling's `HybridChunker`, of any of cutline's.

    Args:
        encoding: an `Encoding`, its name, or a wrapped tokenizer.
        max_tokens: the most tokens of a chunk; by default what the model reads, less its special
            tokens, which docling does not count.

    Raises:
        TypeError: the encoding is neither; other tokenizers must be wrapped first.
        ValueError: no encoding has this name; or max_tokens is below 1, or not given and not known.

    >>> CutlineTokenizer("o200k_base", max_tokens=512).count_tokens("Measure twice, cut once.")
    6
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    encoding: Annotated[
        Any, PlainSerializer(lambda encoding: encoding.name), WithJsonSchema({"type": "string"})
    ] = Field(description="Counts tokens.")
    max_tokens: int = Field(ge=1)

    def __init__(
        self, encoding: TokenCounter | str, max_tokens: int | None = None, **options: Any
    ) -> None:
        counter = token_counter_of(encoding)
        most = size_for(counter, "model") if max_tokens is None else max_tokens
        super().__init__(encoding=counter, max_tokens=most, **options)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, without special tokens."""
        counter: TokenCounter = self.encoding
        return counter.count(text)

    def get_max_tokens(self) -> int:
        """Return the most tokens of a chunk."""
        return self.max_tokens

    def get_tokenizer(self) -> Any:
        """Return what docling gives to semchunk: a function from a text to its tokens."""
        return self.encoding.count


class CutlineMeta(DocMeta):
    """What a chunk knows of itself, besides docling's headings, items and origin.

    Attributes:
        doc_items: the items that the chunk has something of, in their order, each with its `prov`.
        index: its place among the chunks.
        start_index: its start in the Markdown of the document, in code points.
        end_index: its end there.
        token_count: the tokens of its text.
        sent_tokens: the tokens that are sent for it, special tokens included.
        boundary: the kind of boundary at its end.
        sent_before: what is sent before its text, such as headings.
        sent_after: what is sent after it.
    """

    doc_items: list[DocItem] = Field(alias="doc_items")  # none for a text that is of no item
    index: int
    start_index: int
    end_index: int
    token_count: int
    sent_tokens: int
    boundary: str
    sent_before: str = ""
    sent_after: str = ""

    # Not for models to read.
    _own: ClassVar[list[str]] = [
        "index", "start_index", "end_index", "token_count", "sent_tokens", "boundary",
        "sent_before", "sent_after",
    ]  # fmt: skip
    excluded_embed: ClassVar[list[str]] = [*DocMeta.excluded_embed, *_own]
    excluded_llm: ClassVar[list[str]] = [*DocMeta.excluded_llm, *_own]

    @property
    def provenance(self) -> list[ProvenanceItem]:
        """Where the items are, by the `page_no` and `bbox` of each part, in order.

        An item that goes on to another page has several.
        """
        return [place for item in self.doc_items for place in item.prov]

    @property
    def page_numbers(self) -> list[int]:
        """The pages of the items, ascending."""
        return sorted({place.page_no for place in self.provenance})


class CutlineChunk(DocChunk):
    """A chunk of `CutlineChunker`: its text, and `meta`, a `CutlineMeta`."""

    meta: CutlineMeta


class CutlineChunker(BaseChunker):
    r"""Chunks docling's documents with one of cutline's chunkers.

    The document is written as Markdown, in reading order, and cut; each chunk knows the items
    that it has something of, with their pages and boxes. What `contextualize` makes of a chunk
    has at most `chunk_size` tokens.

    Args:
        chunker: any chunker. By default, a `MarkdownChunker` with the following options.
        encoding: an `Encoding`, its name, or a wrapped tokenizer; by default "o200k_base".
        chunk_size: maximum number of tokens of what is sent for a chunk; by default 512. "model":
            as for `TokenChunker`.
        chunk_overlap: maximum number of tokens that a chunk shares with the one before; by
            default 0.
        also_fits: further limits that each chunk fits, such as {"bytes": 40_000} for a vector
            store; see `TextChunker`.
        template: what is sent for a chunk: see `cutline.Template`. By default, as docling has it,
            the headings and the text, each on a line of its own, and the header of a table that
            the chunk goes on with. {name} and {filename} are those of the document. A chunker
            that is given sends what its own template says, or else the text alone.
        markdown: docling's options for the text, such as `traverse_pictures`; by default nothing
            is escaped, pictures have no placeholder, and tables no padding.

    Raises:
        TypeError: a chunker and options for one are both given.
        ValueError: an option is out of range.

    >>> from docling_core.types.doc import DocItemLabel
    >>> document = DoclingDocument(name="saws")
    >>> item = document.add_heading("Saws")
    >>> item = document.add_text(DocItemLabel.TEXT, "Keep the teeth dry. Oil the blade.")
    >>> for chunk in CutlineChunker(chunk_size=12).chunk(document):
    ...     print(chunk.meta.token_count, repr(chunk.text), chunk.meta.doc_items[-1].self_ref)
    9 '## Saws\n\nKeep the teeth dry.' #/texts/1
    4 ' Oil the blade.' #/texts/1
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    chunker: ChunkerField = Field(description="Cuts the text.")
    markdown: MarkdownParams = Field(description="How the text is written.")

    def __init__(
        self,
        chunker: Chunker | dict[str, Any] | None = None,
        *,
        encoding: TokenCounter | str | None = None,
        chunk_size: ChunkSize | None = None,
        chunk_overlap: int | None = None,
        also_fits: AlsoFits = None,
        template: Template | None = None,
        markdown: MarkdownParams | dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        sizes = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
        if chunker is None and template is None:
            template = _SENT
        super().__init__(
            chunker=chunker_of(
                read_chunker(chunker), MarkdownChunker, encoding=encoding, also_fits=also_fits,
                template=template, **sizes,
            ),
            markdown=_usual_params() if markdown is None else markdown,
            **options,
        )  # fmt: skip

    @property
    def max_tokens(self) -> int:
        """The maximum number of tokens of what is sent for a chunk."""
        return self.chunker.chunk_size

    def text_of(self, dl_doc: DoclingDocument) -> str:
        """Return the Markdown of a document, which the chunks are slices of."""
        return write(dl_doc, self.markdown).text

    def chunk(self, dl_doc: DoclingDocument, **kwargs: Any) -> Iterator[CutlineChunk]:
        """Yield the chunks of a document.

        Args:
            dl_doc: the document.
            **kwargs: have no effect, as for other chunkers of docling.

        Raises:
            BudgetError, ValueError: as for the chunker; or the template has a field that is
                neither {name} nor {filename}.

        Cost: linear; docling's Markdown export takes most of the time.
        """
        chunker = chunker_for(self.chunker, _fields(dl_doc))
        written = write(dl_doc, self.markdown)
        if isinstance(chunker, MarkdownChunker):
            chunks = chunker._chunk_like(written.text, written.parsed)
        else:
            chunks = chunker.chunk(written.text)
        for chunk in chunks:
            meta = _meta(chunk, chunker.template, _items(chunk, written.places))
            meta.origin = dl_doc.origin
            yield CutlineChunk(text=chunk.text, meta=meta)

    def contextualize(self, chunk: BaseChunk) -> str:
        """Return what is sent for a chunk; for one of another chunker, what docling would send."""
        if isinstance(chunk.meta, CutlineMeta):
            return f"{chunk.meta.sent_before}{chunk.text}{chunk.meta.sent_after}"
        sent: str = super().contextualize(chunk)
        return sent


def _fields(document: DoclingDocument) -> dict[str, str]:
    filename = document.origin.filename if document.origin else ""
    return {"name": document.name, "filename": filename}


def _meta(chunk: Chunk, template: Template | None, items: list[DocItem]) -> CutlineMeta:
    before, after = ("", "") if template is None else template.frame_of(chunk)
    return CutlineMeta(
        doc_items=items,
        headings=list(chunk.headings) or None,
        index=chunk.index,
        start_index=chunk.start_index,
        end_index=chunk.end_index,
        token_count=chunk.token_count,
        sent_tokens=chunk.metadata.get(SENT_TOKENS, chunk.token_count),
        boundary=chunk.metadata.get("boundary", ""),
        sent_before=before,
        sent_after=after,
    )


def _items(chunk: Chunk, places: list[Place]) -> list[DocItem]:
    """Return the items that a chunk has something of; of white space between two, the first."""
    first = bisect_right(places, chunk.start_index, key=_ENDS)
    last = bisect_left(places, chunk.end_index, key=_STARTS)
    own = places[first:last] or places[max(0, first - 1) : first]
    return list({item.self_ref: item for place in own for item in place.items}.values())
