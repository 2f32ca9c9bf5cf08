"""LlamaIndex: from documents to what is retrieved, with the real package."""

import json
import pickle
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import cutline
from tests.integrations.samples import FISH, REPEATED, UNUSUAL, embed
from tests.oracles import counter

pytest.importorskip("llama_index.core", reason="llama-index-core is missing")

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.schema import Document, MetadataMode, NodeRelationship, TextNode

from cutline.integrations.llama_index import CutlineNodeParser

MARKDOWN = cutline.MarkdownChunker("o200k_base", 48)
count = counter("o200k_base")


class Words(BaseEmbedding):
    """Embeds texts by their words."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return embed(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return embed(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return embed(query)


def parse(parser: CutlineNodeParser, *documents: Any) -> list[TextNode]:
    nodes = parser.get_nodes_from_documents(documents)
    return [node for node in nodes if isinstance(node, TextNode)]


def test_documents_are_parsed_indexed_and_found_with_what_their_chunks_know() -> None:
    documents = [Document(text=FISH, metadata={"source": "fish.md"}), Document(text=REPEATED)]
    pipeline = IngestionPipeline(transformations=[CutlineNodeParser(MARKDOWN), Words()])
    nodes = pipeline.run(documents=documents)
    index = VectorStoreIndex(nodes, embed_model=Words())
    (found,) = index.as_retriever(similarity_top_k=1).retrieve("where do eels spawn")
    node = found.node
    assert isinstance(node, TextNode)
    assert FISH[node.start_char_idx : node.end_char_idx] == node.text
    assert node.start_char_idx == FISH.index("## Eels")
    assert node.ref_doc_id == documents[0].doc_id
    assert node.metadata == {
        "source": "fish.md",
        "token_count": count(node.text),
        "boundary": "end",
        "headings": "Fish > Eels",
    }
    assert (
        node.get_content(MetadataMode.EMBED)
        == (f"source: fish.md\nheadings: Fish > Eels\n\n{node.text}").strip()
    )


@pytest.mark.parametrize("text", [REPEATED, UNUSUAL, FISH], ids=["repeated", "unusual", "fish"])
@pytest.mark.parametrize("overlap", [0, 5])
def test_char_indices_are_true_and_no_node_is_over_budget(text: str, overlap: int) -> None:
    nodes = parse(CutlineNodeParser(chunk_size=16, chunk_overlap=overlap), Document(text=text))
    report = cutline.verify(text, nodes, chunk_size=16, chunk_overlap=overlap)
    assert report.ok, report
    assert "".join(parse_texts(text)) == text


def parse_texts(text: str) -> list[str]:
    return CutlineNodeParser(chunk_size=16, chunk_overlap=0).split_text(text)


def test_neighbours_know_each_other_and_their_document() -> None:
    documents = [Document(text=REPEATED), Document(text=FISH)]
    nodes = parse(CutlineNodeParser(chunk_size=16, chunk_overlap=0), *documents)
    for document in documents:
        own = [node for node in nodes if node.ref_doc_id == document.doc_id]
        assert len(own) > 2
        ids = [node.node_id for node in own]
        assert [node.next_node and node.next_node.node_id for node in own] == [*ids[1:], None]
        assert [node.prev_node and node.prev_node.node_id for node in own] == [None, *ids[:-1]]
    alone = CutlineNodeParser(chunk_size=16, chunk_overlap=0, include_prev_next_rel=False)
    for node in parse(alone, *documents):
        assert NodeRelationship.NEXT not in node.relationships


@pytest.mark.parametrize("mode", [MetadataMode.EMBED, MetadataMode.LLM])
def test_what_is_sent_with_its_metadata_fits(mode: MetadataMode) -> None:
    document = Document(
        text=FISH * 3,
        metadata={"title": "On the lives of fishes", "author": "A. N. Angler", "secret": "x" * 20},
        excluded_llm_metadata_keys=["secret"],
        excluded_embed_metadata_keys=["author"],
        text_template="<meta>{metadata_str}</meta>\n---\n{content}",
        metadata_template="{key} = {value}",
    )
    for chunker in (cutline.TextChunker("o200k_base", 64, 8), cutline.MarkdownChunker("gpt2", 64)):
        nodes = parse(CutlineNodeParser(chunker), document)
        most = max(counter(chunker.encoding.name)(node.get_content(mode)) for node in nodes)
        assert 32 < most <= 64
        assert "".join(node.text for node in nodes).startswith("# Fish")


def test_metadata_is_no_part_of_the_budget_if_it_is_not_included() -> None:
    document = Document(text=FISH, metadata={"long": "word " * 100})
    parser = CutlineNodeParser(chunk_size=32, include_metadata=False)
    assert "long" not in parse(parser, document)[0].metadata
    with pytest.raises(ValueError, match="count_text leaves no room at offset 0"):
        parse(CutlineNodeParser(chunk_size=32), document)


def test_a_chunker_that_knows_what_is_sent_is_believed() -> None:
    chunker = cutline.TextChunker("o200k_base", 32, count_text=lambda chunk: len(chunk.text))
    nodes = parse(CutlineNodeParser(chunker), Document(text=FISH, metadata={"long": "word " * 9}))
    assert max(len(node.text) for node in nodes) <= 32


def test_text_behind_metadata_fits() -> None:
    parser = CutlineNodeParser(chunk_size=24, chunk_overlap=0)
    metadata = "title: On the lives of fishes"
    texts = parser.split_text_metadata_aware(FISH, metadata)
    assert "".join(texts) == FISH
    assert max(count(f"{metadata}\n\n{text}") for text in texts) <= 24


def test_nodes_are_parsed_again() -> None:
    (whole,) = parse(CutlineNodeParser(chunk_size=999, chunk_overlap=0), Document(text=FISH))
    nodes = parse(CutlineNodeParser(chunk_size=16, chunk_overlap=0), whole)
    assert [FISH[node.start_char_idx : node.end_char_idx] for node in nodes] == [
        node.text for node in nodes
    ]
    assert "".join(node.text for node in nodes) == FISH
    assert nodes[0].excluded_llm_metadata_keys == ["token_count", "boundary"]


@pytest.mark.parametrize(
    "parser",
    [
        CutlineNodeParser(MARKDOWN),
        CutlineNodeParser(cutline.TokenChunker("gpt2", 16, 4), include_metadata=False),
        CutlineNodeParser(chunk_size=16, chunk_overlap=2),
    ],
    ids=["markdown", "token", "options"],
)
def test_it_is_written_and_read(parser: CutlineNodeParser) -> None:
    written = parser.to_dict()
    assert written["class_name"] == "CutlineNodeParser"
    written.pop("id_func")  # LlamaIndex writes it and cannot read it: so it is for all parsers
    for read in (
        CutlineNodeParser.from_dict(json.loads(json.dumps(written))),
        pickle.loads(pickle.dumps(parser)),
        parser.model_copy(deep=True),
    ):
        assert read.chunker.chunk(FISH) == parser.chunker.chunk(FISH)
        assert read.include_metadata == parser.include_metadata
        assert type(read.chunker) is type(parser.chunker)


def test_ingestion_remembers_what_it_did_by_the_options() -> None:
    document = Document(text=FISH)
    first = IngestionPipeline(transformations=[CutlineNodeParser(chunk_size=32)])
    second = IngestionPipeline(
        transformations=[CutlineNodeParser(chunk_size=32)], cache=first.cache
    )
    other = IngestionPipeline(transformations=[CutlineNodeParser(chunk_size=48)], cache=first.cache)
    ids = [node.node_id for node in first.run(documents=[document])]
    assert [node.node_id for node in second.run(documents=[document])] == ids
    assert [node.node_id for node in other.run(documents=[document])] != ids


def test_own_ids_are_used() -> None:
    parser = CutlineNodeParser(chunk_size=16, id_func=lambda place, whole: f"node-{place}")
    nodes = parse(parser, Document(text=FISH))
    assert [node.node_id for node in nodes] == [f"node-{place}" for place in range(len(nodes))]


def test_usual_sizes_are_those_of_the_framework() -> None:
    parser = CutlineNodeParser.from_defaults()
    assert (parser.chunker.chunk_size, parser.chunker.chunk_overlap) == (1024, 20)
    with pytest.raises(TypeError, match="chunk_overlap and chunker are both given"):
        CutlineNodeParser(MARKDOWN, chunk_overlap=3)


def test_wrapped_tokenizers_count() -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    parser = CutlineNodeParser(encoding=cutline.wrap(tokenizer), chunk_size=2, chunk_overlap=0)
    assert parser.split_text("one two three") == ["one two ", "three"]


def test_other_splitters_count_with_an_encoding() -> None:
    encoding = cutline.get_encoding("o200k_base")
    splitter = TokenTextSplitter(chunk_size=32, chunk_overlap=0, tokenizer=encoding.encode_ordinary)
    texts = splitter.split_text(FISH)
    assert len(texts) > 2
    assert all(count(text) <= 32 for text in texts)
