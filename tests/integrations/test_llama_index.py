"""LlamaIndex: from documents to what is retrieved, with the real package."""

import copy
import json
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import cutline
from cutline.chunking.chunker import Chunker
from tests.integrations.samples import EDITED, FISH, PROGRAM, REPEATED, UNUSUAL, embed
from tests.oracles import counter

pytest.importorskip("llama_index.core", reason="llama-index-core is missing")

from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.schema import Document, MetadataMode, NodeRelationship, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

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
        "content_hash": MARKDOWN(FISH)[-1].content_hash,
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
    assert nodes[0].excluded_llm_metadata_keys == ["token_count", "content_hash", "boundary"]


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
    for read in (
        CutlineNodeParser.from_dict(json.loads(json.dumps(written))),
        pickle.loads(pickle.dumps(parser)),
        parser.model_copy(deep=True),
    ):
        assert read.chunker.chunk(FISH) == parser.chunker.chunk(FISH)
        assert read.include_metadata == parser.include_metadata
        assert type(read.chunker) is type(parser.chunker)


def test_a_docstore_keeps_nodes_that_an_edit_did_not_change_from_being_embedded() -> None:
    embedded: list[str] = []

    class Counted(Words):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            embedded.extend(texts)
            return super()._get_text_embeddings(texts)

    parser = CutlineNodeParser(cutline.CodeChunker("python", "o200k_base", 64, stable=True))
    pipeline = IngestionPipeline(
        transformations=[Counted()],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY,
    )
    for text in (PROGRAM, EDITED):
        embedded.clear()
        document = Document(text=text, id_="program.py", metadata={"file": "program.py"})
        nodes = parser.get_nodes_from_documents([document])
        pipeline.run(nodes=nodes)
        if text == PROGRAM:
            assert len(embedded) == len(nodes) >= 250
    assert 1 <= len(embedded) <= 2


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


# Ingestion with chunkers that have more to them than names and numbers


def words_of(*words: str) -> cutline.WrappedTokenizer:
    vocab = {word: number for number, word in enumerate(("[UNK]", *words))}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return cutline.wrap(tokenizer, name="words")


def split_words(text: str) -> cutline.WrappedTokenizer:
    """A tokenizer of the same name that counts letters."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(text, "isolated")
    return cutline.wrap(tokenizer, name="words")


def trained(text: str) -> cutline.Encoding:
    return cutline.train(iter([text]), 270, name="mine")


def loaded(folder: Path, text: str) -> cutline.Encoding:
    trained(text).save(folder / "mine.cutline")
    return cutline.load(folder / "mine.cutline")


def sent(extra: int) -> Callable[[cutline.Chunk], int]:
    return lambda chunk: chunk.token_count + extra


def ends(letter: str) -> Callable[[str], Iterator[int]]:
    return lambda text: (place for place, one in enumerate(text) if one == letter)


# Each makes the same chunker of the same text, and of another text one that cuts otherwise.
MADE: dict[str, Callable[[str, Path], Chunker]] = {
    "wrapped": lambda text, folder: cutline.TextChunker(split_words(text[:1]), 24),
    "trained": lambda text, folder: cutline.TextChunker(trained(text), 24),
    "loaded": lambda text, folder: cutline.MarkdownChunker(loaded(folder, text), 24),
    "expression": lambda text, folder: cutline.TextChunker(
        "o200k_base", 24, levels=[re.compile(text[:1])], min_fill=0
    ),
    "expression of an address": lambda text, folder: cutline.TextChunker(
        "o200k_base", 24, levels=[re.compile(f"<a at 0x0>|{text[:1]}|<b at 0x0>")], min_fill=0
    ),
}
# These can be told apart for as long as they live, and are unlike any other.
FUNCTIONS: dict[str, Callable[[str], Chunker]] = {
    "count_text": lambda text: cutline.TextChunker(
        "o200k_base", 24, count_text=sent(len(text) % 16)
    ),
    "level by function": lambda text: cutline.TextChunker(
        "o200k_base", 24, levels=[ends(text[:1])], min_fill=0
    ),
}
TEXTS = ("e", "ing swims fish lives " * 8)


def pipeline_of(chunker: Chunker, cache: IngestionCache | None = None) -> IngestionPipeline:
    parser = CutlineNodeParser(chunker, include_metadata=False)
    return IngestionPipeline(
        transformations=[parser, MockEmbedding(embed_dim=8)], cache=cache or IngestionCache()
    )


def ingest(pipeline: IngestionPipeline) -> list[tuple[str, str]]:
    """Run a pipeline. Returns ids, which are new where nothing is remembered, and texts."""
    nodes = pipeline.run(documents=[Document(text=FISH, id_="fish")])
    assert all(node.embedding for node in nodes)
    return [(node.node_id, node.get_content()) for node in nodes]


def texts_of(nodes: list[tuple[str, str]]) -> list[str]:
    return [text for _, text in nodes]


@pytest.mark.parametrize("what", [*MADE, *FUNCTIONS])
def test_any_chunker_ingests_and_remembers(what: str, tmp_path: Path) -> None:
    one, other = (
        MADE[what](text, tmp_path) if what in MADE else FUNCTIONS[what](text) for text in TEXTS
    )
    assert one.encoding.name == other.encoding.name
    cache = IngestionCache()
    nodes, others = (ingest(pipeline_of(chunker, cache)) for chunker in (one, other))
    assert texts_of(nodes) == [chunk.text for chunk in one.chunk(FISH)]
    assert texts_of(others) == [chunk.text for chunk in other.chunk(FISH)] != texts_of(nodes)
    assert ingest(pipeline_of(one, cache)) == nodes
    assert ingest(pipeline_of(other, cache)) == others


@pytest.mark.parametrize("what", MADE)
def test_a_cache_that_was_persisted_knows_chunkers_by_their_content(
    what: str, tmp_path: Path
) -> None:
    first = pipeline_of(MADE[what](TEXTS[0], tmp_path))
    nodes = ingest(first)
    first.persist(str(tmp_path / "store"))
    for text in TEXTS:
        again = pipeline_of(MADE[what](text, tmp_path))
        again.load(str(tmp_path / "store"))
        assert (ingest(again) == nodes) == (text == TEXTS[0])


def test_a_cache_that_was_persisted_does_not_know_functions_again(tmp_path: Path) -> None:
    """They may do what they did not do before; but embeddings of the same texts are kept."""
    first, again = (pipeline_of(FUNCTIONS["count_text"]("e")) for _ in range(2))
    nodes = ingest(first)
    first.persist(str(tmp_path))
    again.load(str(tmp_path))
    known = len(again.cache.cache.get_all(again.cache.collection))
    assert ingest(again) == nodes
    assert len(again.cache.cache.get_all(again.cache.collection)) == known + 1


@pytest.mark.parametrize("what", ["loaded", "expression"])
def test_what_can_be_made_again_is_written_and_read(what: str, tmp_path: Path) -> None:
    parser = CutlineNodeParser(MADE[what]("e", tmp_path))
    for read in (
        CutlineNodeParser.from_dict(parser.to_dict()),
        CutlineNodeParser.from_json(parser.to_json()),
        pickle.loads(pickle.dumps(parser)),
    ):
        assert read.to_dict() == parser.to_dict()
        assert read.split_text(FISH) == parser.split_text(FISH)


@pytest.mark.parametrize(
    ("chunker", "said"),
    [
        (cutline.TextChunker(words_of("fish"), 24), "encoding 'words' cannot be restored"),
        (cutline.TextChunker(trained(FISH), 24), "encoding 'mine' cannot be restored"),
        (FUNCTIONS["count_text"]("e"), "a chunker with the count_text .*sent.* cannot be restored"),
        (FUNCTIONS["level by function"]("e"), "the level .*ends.* cannot be restored"),
    ],
    ids=["wrapped", "trained", "count_text", "level by function"],
)
def test_what_cannot_be_made_again_says_so_when_it_is_read(chunker: Chunker, said: str) -> None:
    written = json.loads(CutlineNodeParser(chunker).to_json())
    with pytest.raises(ValueError, match=f"{said}.*make it in code where the pipeline is loaded"):
        CutlineNodeParser.from_dict(written)


def test_a_function_for_ids_is_to_be_passed_again() -> None:
    written = CutlineNodeParser(id_func=lambda place, whole: f"node-{place}").to_dict()
    with pytest.raises(ValueError, match="id_func '<lambda>' cannot be restored: pass the fun"):
        CutlineNodeParser.from_dict(written)
    read = CutlineNodeParser.from_dict(written, id_func=lambda place, whole: f"own-{place}")
    assert parse(read, Document(text=FISH))[0].node_id == "own-0"


def test_a_parser_whose_chunker_does_not_pickle_keeps_it() -> None:
    """LlamaIndex would leave it out, of the parser too, and take the usual one when it is read."""
    parser = CutlineNodeParser(FUNCTIONS["count_text"]("e"))
    with pytest.raises((pickle.PicklingError, AttributeError), match="sent"):
        pickle.dumps(parser)
    texts = [chunk.text for chunk in parser.chunker.chunk(FISH)]
    for one in (parser, copy.deepcopy(parser), parser.model_copy(deep=True)):
        assert one.split_text(FISH) == texts


def test_own_ids_are_used() -> None:
    parser = CutlineNodeParser(chunk_size=16, id_func=lambda place, whole: f"node-{place}")
    nodes = parse(parser, Document(text=FISH))
    assert [node.node_id for node in nodes] == [f"node-{place}" for place in range(len(nodes))]


def test_usual_sizes_are_those_of_the_framework() -> None:
    parser = CutlineNodeParser.from_defaults()
    assert (parser.chunker.chunk_size, parser.chunker.chunk_overlap) == (1024, 20)
    with pytest.raises(TypeError, match="chunk_overlap and chunker are both given"):
        CutlineNodeParser(MARKDOWN, chunk_overlap=3)
    with pytest.raises(TypeError, match="chunk_size must be an integer, got '16'"):
        CutlineNodeParser(chunk_size="16")  # type: ignore[arg-type]


def test_nodes_can_be_as_large_as_the_model_reads(tmp_path: Path) -> None:
    cutline.get_encoding("gpt2").save(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 16}')
    encoding = cutline.load(tmp_path)
    parser = CutlineNodeParser(encoding=encoding, chunk_size="model", include_metadata=False)
    assert (parser.chunker.chunk_size, parser.chunker.chunk_overlap) == (16, 15)
    assert max(encoding.count(node.text) for node in parse(parser, Document(text=FISH))) <= 16
    with pytest.raises(ValueError, match="chunk_size='model' needs the model's limit"):
        CutlineNodeParser(chunk_size="model")


def test_wrapped_tokenizers_count() -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    parser = CutlineNodeParser(encoding=cutline.wrap(tokenizer), chunk_size=2, chunk_overlap=0)
    assert parser.split_text("one two three") == ["one two ", "three"]


def test_nodes_fit_further_limits_and_so_does_a_parser_that_was_written() -> None:
    limits = {"gpt2": 12, "bytes": 40}
    parser = CutlineNodeParser(chunk_size=30, chunk_overlap=4, also_fits=limits)
    wanted = [
        chunk.text for chunk in cutline.TextChunker("o200k_base", 30, 4, also_fits=limits)(FISH)
    ]
    for one in (parser, CutlineNodeParser.from_dict(parser.to_dict())):
        assert one.split_text(FISH) == wanted
        assert one.to_dict() == parser.to_dict()
    assert parser.to_dict() != CutlineNodeParser(chunk_size=30, chunk_overlap=4).to_dict()
    with pytest.raises(TypeError, match="also_fits and chunker are both given"):
        CutlineNodeParser(MARKDOWN, also_fits=limits)


def test_other_splitters_count_with_an_encoding() -> None:
    encoding = cutline.get_encoding("o200k_base")
    splitter = TokenTextSplitter(chunk_size=32, chunk_overlap=0, tokenizer=encoding.encode_ordinary)
    texts = splitter.split_text(FISH)
    assert len(texts) > 2
    assert all(count(text) <= 32 for text in texts)
