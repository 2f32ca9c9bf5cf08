"""LlamaIndex: parents and children, and ingestion with every kind of tokenizer."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.protocols import TokenCounter
from tests.integrations.samples import FISH, UNUSUAL, embed
from tests.oracles import counter
from tests.wrapping.made import KINDS, made, wrapped

pytest.importorskip("llama_index.core", reason="llama-index-core is missing")

from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import get_leaf_nodes, get_root_nodes
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.schema import Document, MetadataMode, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from cutline.integrations.llama_index import CutlineHierarchicalNodeParser, CutlineNodeParser

SIZES = (120, 60, 30)
LONG = FISH + "\n" + UNUSUAL + "\n" + FISH.replace("Fish", "More fish")
TEMPLATE = cutline.Template("{file}: {headings}\n\n{text}")
count = counter("o200k_base")


class Words(BaseEmbedding):
    """Embeds texts by their words."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return embed(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return embed(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return embed(query)


def encodings() -> dict[str, Any]:
    """Make every kind of tokenizer: packaged, read into kernels, wrapped."""
    found: dict[str, TokenCounter] = {"packaged": cutline.get_encoding("o200k_base")}
    for kind in KINDS:
        found[f"wrapped {kind}"] = wrapped(kind)
        try:
            found[f"read {kind}"] = cutline.Encoding.from_tokenizers(made(kind))
        except ValueError:
            continue  # it is wrapped only
    return found


ENCODINGS = encodings()


def family_of(encoding: Any, *, template: bool) -> CutlineHierarchicalNodeParser:
    sent = TEMPLATE if template else None
    chunker = cutline.MarkdownChunker(encoding, 240, template=sent)
    return CutlineHierarchicalNodeParser(cutline.HierarchicalChunker(chunker, (240, 120)))


def levels_of(nodes: list[Any]) -> list[list[TextNode]]:
    most = max(node.metadata["level"] for node in nodes)
    return [[node for node in nodes if node.metadata["level"] == k] for k in range(most + 1)]


@pytest.mark.parametrize("mode", [MetadataMode.EMBED, MetadataMode.LLM])
def test_every_level_partitions_its_parents_within_its_budget(mode: MetadataMode) -> None:
    parser = CutlineHierarchicalNodeParser(cutline.HierarchicalChunker("o200k_base", SIZES))
    documents = [Document(text=LONG, metadata={"title": "fish"}), Document(text=UNUSUAL)]
    nodes = parser.get_nodes_from_documents(documents)
    by_id = {node.node_id: node for node in nodes}
    assert len(by_id) == len(nodes)
    for document in documents:
        levels = levels_of([node for node in nodes if node.ref_doc_id == document.doc_id])
        assert len(levels) == len(SIZES)
        for level, (size, of_level) in enumerate(zip(SIZES, levels, strict=True)):
            assert "".join(node.text for node in of_level) == document.text
            assert max(count(node.get_content(mode)) for node in of_level) <= size
            ids = [node.node_id for node in of_level]
            assert [one.next_node and one.next_node.node_id for one in of_level] == [*ids[1:], None]
            for node in of_level:
                spelled = document.text[node.start_char_idx : node.end_char_idx]
                assert spelled == node.text
                children = [by_id[child.node_id] for child in node.child_nodes or []]
                assert bool(children) == (level < len(SIZES) - 1)
                assert "".join(child.text for child in children) == node.text * bool(children)
                assert all(child.parent_node.node_id == node.node_id for child in children)
                assert (node.parent_node is None) == (level == 0)
    assert get_root_nodes(nodes) == [node for node in nodes if node.metadata["level"] == 0]
    assert get_leaf_nodes(nodes) == [node for node in nodes if node.metadata["level"] == 2]


def test_what_is_found_is_merged_to_its_parents() -> None:
    parser = CutlineHierarchicalNodeParser(cutline.HierarchicalChunker("o200k_base", SIZES))
    nodes = parser.get_nodes_from_documents([Document(text=LONG), Document(text=UNUSUAL)])
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    storage = StorageContext.from_defaults(docstore=docstore)
    leaves = get_leaf_nodes(nodes)
    index = VectorStoreIndex(leaves, storage_context=storage, embed_model=Words())
    for k in (1, 4, len(leaves)):
        found = AutoMergingRetriever(index.as_retriever(similarity_top_k=k), storage)
        texts = [hit.node.get_content() for hit in found.retrieve("where do eels spawn")]
        assert len(texts) <= k
        assert all(text in LONG or text in UNUSUAL for text in texts)
    # All leaves found: what comes back are the roots.
    roots = sorted(node.text for node in get_root_nodes(nodes))
    assert sorted(texts) == roots


@pytest.mark.parametrize("template", [False, True], ids=["metadata", "template"])
@pytest.mark.parametrize("kind", ENCODINGS)
def test_every_tokenizer_is_ingested_and_remembered(
    kind: str, template: bool, tmp_path: Path
) -> None:
    encoding = ENCODINGS[kind]
    flat = CutlineNodeParser(
        cutline.MarkdownChunker(encoding, 240, template=TEMPLATE if template else None)
    )
    for parser in (flat, family_of(encoding, template=template)):
        steps = [parser, MockEmbedding(embed_dim=4)]
        document = Document(text=FISH, id_="fish", metadata={"file": "fish.md"})
        first = IngestionPipeline(
            transformations=steps,
            docstore=SimpleDocumentStore(),
            docstore_strategy=DocstoreStrategy.UPSERTS,
            vector_store=SimpleVectorStore(),
        )
        nodes = first.run(documents=[document])
        own = nodes if parser is flat else levels_of(nodes)[0]
        assert "".join(node.get_content() for node in own) == FISH
        assert all(
            encoding.count(node.get_content()) <= 240 and node.embedding is not None
            for node in nodes
        )
        assert first.run(documents=[document]) == []  # the docstore has it

        first.persist(str(tmp_path))
        again = IngestionPipeline(transformations=steps, docstore=SimpleDocumentStore())
        again.load(str(tmp_path))
        assert again.docstore.get_document_hash("fish") == first.docstore.get_document_hash("fish")
        again.docstore = None  # only the cache
        remembered = again.run(documents=[document])
        assert [one.node_id for one in remembered] == [one.node_id for one in nodes]


@pytest.mark.parametrize("template", [False, True], ids=["metadata", "template"])
def test_a_family_of_a_named_encoding_is_written_and_read(template: bool) -> None:
    parser = family_of("o200k_base", template=template)
    document = Document(text=LONG, metadata={"file": "fish.md"})
    wanted = [node.get_content() for node in parser.get_nodes_from_documents([document])]
    for read in (
        CutlineHierarchicalNodeParser.from_dict(json.loads(json.dumps(parser.to_dict()))),
        pickle.loads(pickle.dumps(parser)),
        parser.model_copy(deep=True),
    ):
        assert read.to_dict() == parser.to_dict()
        again = read.get_nodes_from_documents([document])
        assert [node.get_content() for node in again] == wanted
