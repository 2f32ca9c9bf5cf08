"""LangChain: a text splitter with exact token counts and offsets, and a counter of messages.

Needs `langchain-text-splitters`: pip install 'cutline[langchain]'. Source:
docs/integrations/langchain.md.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from copy import deepcopy
from typing import Any, Literal, Self

from cutline.chat.protocols import ChatFormat, Tool
from cutline.chunking import HierarchicalChunker
from cutline.chunking.chunker import Chunker
from cutline.chunks import Chunk, ChunkSize, content_hash
from cutline.counting.limits import AlsoFits
from cutline.integrations.chunk_metadata import chunk_metadata
from cutline.integrations.describing import (
    checked_rendered,
    chunker_for,
    chunker_of,
    naming,
)
from cutline.integrations.hierarchies import hierarchy_for, hierarchy_of
from cutline.protocols import TokenCounter
from cutline.registry import encoding_for_model, get_encoding
from cutline.template import Template
from cutline.wrapping import wrap

try:
    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.messages import BaseMessage, convert_to_openai_messages
    from langchain_text_splitters import TextSplitter
except ImportError as error:
    raise ImportError(
        "cutline.integrations.langchain needs the package langchain-text-splitters: "
        "pip install 'cutline[langchain]'"
    ) from error

__all__ = ["CutlineHierarchicalSplitter", "CutlineTextSplitter", "message_counter"]


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

        Raises:
            ValueError: there are not as many metadatas as texts; or a text cannot be cut, which a
                note names.
        """
        documents = []
        metadatas = metadatas or [{}] * len(texts)
        if len(metadatas) != len(texts):
            raise ValueError(
                f"metadatas must have one for each of the {len(texts)} texts, got {len(metadatas)}"
            )
        for place, (text, metadata) in enumerate(zip(texts, metadatas, strict=True)):
            with naming(metadata.get("source", place)):
                chunker = chunker_for(self._chunker, metadata)
                chunks = chunker.chunk(text)
            template = chunker.template if self._rendered else None
            for chunk in chunks:
                known = {**deepcopy(metadata), **_metadata(chunk, self._add_start_index)}
                documents.append(_document(chunk, known, template))
        return documents


class CutlineHierarchicalSplitter(BaseDocumentTransformer):
    """Splits documents into documents of several sizes, each of which names its parent.

    A document is as one of `CutlineTextSplitter`. It has an `id`, its "level" in its metadata, 0
    for the largest, and below that "parent_id". Embed those of the last level, and keep the
    others where `parent_id` finds them: LangChain's `MultiVectorRetriever` does so with
    id_key="parent_id".

    An id begins with that of its document, or else its metadata's "source", or else the hash of
    its text; then comes the id of the `Node`. So ids stay where text elsewhere is edited. If
    several documents of a call begin so, the second and later ones are numbered.

    Args:
        chunker: a `HierarchicalChunker`; or a chunker or an encoding for one of the usual sizes.
            By default, one of "o200k_base".
        rendered, add_start_index: as for `CutlineTextSplitter`.

    >>> import cutline
    >>> splitter = CutlineHierarchicalSplitter(cutline.HierarchicalChunker("o200k_base", (32, 8)))
    >>> whole = Document("One fish, two fish. Red fish, blue fish.", id="fish")
    >>> for document in splitter.split_documents([whole]):
    ...     known = document.metadata
    ...     print(known["level"], repr(document.page_content), known.get("parent_id", "-")[:12])
    0 'One fish, two fish. Red fish, blue fish.' -
    1 'One fish, two fish. ' fish/0-e68af
    1 'Red fish, blue fish.' fish/0-e68af
    """

    def __init__(
        self,
        chunker: HierarchicalChunker | Chunker | TokenCounter | str | None = None,
        *,
        rendered: bool = False,
        add_start_index: bool = False,
    ) -> None:
        self._chunker = hierarchy_of(chunker)
        self._rendered = checked_rendered(rendered, self._chunker.chunker)
        self._add_start_index = add_start_index

    @property
    def chunker(self) -> HierarchicalChunker:
        """The chunker that splits."""
        return self._chunker

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Split documents; of each one the largest come first, in the order of the text."""
        seen: Counter[str] = Counter()
        made: list[Document] = []
        for document in documents:
            begin = _begin_of_ids(document)
            seen[begin] += 1
            again = f"-{seen[begin]}" if seen[begin] > 1 else ""
            made.extend(self._family(document, f"{begin}{again}/"))
        return made

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """Split documents, as any transformer does."""
        return self.split_documents(documents)

    def _family(self, document: Document, begin: str) -> Iterator[Document]:
        with naming(document.id or document.metadata.get("source")):
            chunker = hierarchy_for(self._chunker, document.metadata)
            levels = chunker.chunk(document.page_content)
        template = chunker.chunker.template if self._rendered else None
        for nodes in levels:
            for node in nodes:
                known = deepcopy(document.metadata) | {"level": node.level}
                known.pop("parent_id", None)
                if node.parent_id is not None:
                    known["parent_id"] = begin + node.parent_id
                known |= _metadata(node.chunk, self._add_start_index)
                yield _document(node.chunk, known, template, begin + node.id)


def _begin_of_ids(document: Document) -> str:
    given = document.id or document.metadata.get("source")
    return (
        str(given)
        if given
        else content_hash(document.page_content.encode(errors="surrogatepass"), ())
    )


def _document(
    chunk: Chunk, known: dict[str, Any], template: Template | None, id_: str | None = None
) -> Document:
    """Make the document of a chunk; with a template, its content is what is sent."""
    if template is None:
        return Document(id=id_, page_content=chunk.text, metadata=known)
    known["text"] = chunk.text
    return Document(id=id_, page_content=template.render(chunk), metadata=known)


def _metadata(chunk: Chunk, with_offsets: bool) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if with_offsets:
        known = {"start_index": chunk.start_index, "end_index": chunk.end_index}
    if chunk.headings:
        known["headings"] = " > ".join(chunk.headings)
    return {**known, **chunk_metadata(chunk, with_offsets=with_offsets)}


def message_counter(
    chat_format: ChatFormat, *, tools: Sequence[Tool] = ()
) -> Callable[[list[BaseMessage]], int]:
    """Make a `token_counter` for `trim_messages`, which counts requests as the model reads them.

    Calls of tools are counted, and so are the tools themselves if they are given.

    Args:
        chat_format: counts messages in OpenAI's form, which the messages are brought into.
        tools: the schemas that are sent along.

    >>> from langchain_core.messages import HumanMessage
    >>> from cutline.chat.by_name import chat_format_of
    >>> count = message_counter(chat_format_of("chatml", "o200k_base"))
    >>> count([HumanMessage("hello world")])
    10
    """

    # Without the annotation, LangChain would call it for each message.
    def count(messages: list[BaseMessage]) -> int:
        return chat_format.count(convert_to_openai_messages(messages), tools=tools)

    return count
