"""LangChain: a text splitter with exact token counts and offsets.

Needs `langchain-text-splitters`: pip install 'cutline[langchain]'. Source:
docs/integrations/langchain.md.
"""

from collections.abc import Collection, Set
from copy import deepcopy
from typing import Any, Literal, Self

from cutline.chunking.chunkers import Chunker
from cutline.chunks import Chunk, ChunkSize
from cutline.counting.limits import AlsoFits
from cutline.integrations.chunk_metadata import chunk_metadata
from cutline.integrations.describing import checked_rendered, chunker_for, chunker_of
from cutline.protocols import TokenCounter
from cutline.registry import encoding_for_model, get_encoding
from cutline.template import Template
from cutline.wrapping import wrap

try:
    from langchain_core.documents import Document
    from langchain_text_splitters import TextSplitter
except ImportError as error:
    raise ImportError(
        "cutline.integrations.langchain needs the package langchain-text-splitters: "
        "pip install 'cutline[langchain]'"
    ) from error

__all__ = ["CutlineTextSplitter"]


class CutlineTextSplitter(TextSplitter):
    """Splits texts and documents with one of cutline's chunkers.

    Every chunk of a document has the document's metadata and in addition "token_count";
    "content_hash"; "boundary", the kind of boundary at its end; with a `MarkdownChunker` or a
    `CodeChunker` also "headings", joined by " > ", and `Chunk.metadata`. All values are flat, as
    vector stores need them, and none moves with an edit before the chunk, so that LangChain's
    `index` embeds only chunks that are new.

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
        rendered: make what the template sends the documents' content, for embedding; the chunk's
            text alone is then "text" in the metadata.
        add_start_index: also put "start_index" and "end_index" into the metadata: the chunk's
            offsets in the document's text, in code points, from the cut itself, not found by
            searching; and other offsets of `Chunk.metadata`.
        strip_whitespace: remove white space at both ends of each chunk. Unlike in other
            splitters it is kept by default: then the chunks joined are the text.

    Raises:
        TypeError: a chunker and options for one are both given.
        ValueError: an option is out of range; or rendered, and there is no template.

    >>> splitter = CutlineTextSplitter(chunk_size=8, add_start_index=True)
    >>> for document in splitter.create_documents(["One fish, two fish. Red fish, blue fish."]):
    ...     print(document.metadata["start_index"], repr(document.page_content))
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
        add_start_index: bool = False,
        strip_whitespace: bool | None = None,
    ) -> None:
        options = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap}
        self._chunker = chunker_of(
            chunker, encoding=encoding, strip=strip_whitespace, also_fits=also_fits,
            template=template, **options,
        )  # fmt: skip
        self._rendered = checked_rendered(rendered, self._chunker)
        super().__init__(
            self._chunker.chunk_size,
            self._chunker.chunk_overlap,
            self._chunker.encoding.count,
            add_start_index=add_start_index,
            strip_whitespace=bool(strip_whitespace),
        )

    @classmethod
    def from_tiktoken_encoder(
        cls,
        encoding_name: str = "gpt2",
        model_name: str | None = None,
        allowed_special: Literal["all"] | Set[str] | None = None,
        disallowed_special: Literal["all"] | Collection[str] = "all",
        **kwargs: Any,
    ) -> Self:
        """Make a splitter that counts like tiktoken, without tiktoken and offline.

        Args:
            encoding_name: the encoding.
            model_name: a model, whose encoding is used instead.
            allowed_special: has no effect: the text of special tokens is ordinary text.
            disallowed_special: has no effect, either.
            **kwargs: arguments of the class.
        """
        counting = (
            get_encoding(encoding_name) if model_name is None else encoding_for_model(model_name)
        )
        return cls(encoding=counting, **kwargs)

    @classmethod
    def from_huggingface_tokenizer(cls, tokenizer: Any, **kwargs: Any) -> Self:
        """Make a splitter that counts with a fast tokenizer of transformers, or a Tokenizer.

        Args:
            tokenizer: as for `cutline.wrap`. Special tokens of its template are not counted.
            **kwargs: arguments of the class.
        """
        return cls(encoding=wrap(tokenizer), **kwargs)

    @property
    def chunker(self) -> Chunker:
        """The chunker that splits."""
        return self._chunker

    def split_text(self, text: str) -> list[str]:
        """Split a text into the texts of its chunks."""
        return [chunk.text for chunk in self._chunker.chunk(text)]

    def create_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[Document]:
        """Split texts into documents; each has its text's metadata and that of its chunk.

        If both have a key, the chunk's value is used: documents that are split again have the
        metadata of the last split.
        """
        documents = []
        for text, metadata in zip(texts, metadatas or [{}] * len(texts), strict=True):
            chunker = chunker_for(self._chunker, metadata)
            for chunk in chunker.chunk(text):
                known = {**deepcopy(metadata), **self._metadata(chunk)}
                content = chunk.text
                if self._rendered and chunker.template is not None:
                    content, known["text"] = chunker.template.render(chunk), content
                documents.append(Document(page_content=content, metadata=known))
        return documents

    def _metadata(self, chunk: Chunk) -> dict[str, Any]:
        known: dict[str, Any] = {}
        if self._add_start_index:
            known = {"start_index": chunk.start_index, "end_index": chunk.end_index}
        if chunk.headings:
            known["headings"] = " > ".join(chunk.headings)
        return {**known, **chunk_metadata(chunk, with_offsets=self._add_start_index)}
