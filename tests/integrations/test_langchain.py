"""LangChain: from documents to what is retrieved, with the real package."""

import pickle
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import cutline
from tests.integrations.samples import EDITED, FISH, PROGRAM, PYTHON, REPEATED, UNUSUAL, embed
from tests.oracles import counter

pytest.importorskip("langchain_text_splitters", reason="langchain-text-splitters is missing")

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter, TextSplitter

from cutline.integrations.langchain import CutlineHierarchicalSplitter, CutlineTextSplitter


class Words(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return embed(text)


MARKDOWN = cutline.MarkdownChunker("o200k_base", 32)


def test_documents_are_split_stored_and_found_with_what_their_chunks_know() -> None:
    splitter = CutlineTextSplitter(MARKDOWN, add_start_index=True)
    documents = [Document(FISH, metadata={"source": "fish.md"}), Document(REPEATED)]
    store = InMemoryVectorStore(Words())
    store.add_documents(splitter.split_documents(documents))
    (found,) = store.as_retriever(search_kwargs={"k": 1}).invoke("where do eels spawn")
    start = found.metadata["start_index"]
    assert FISH[start : start + len(found.page_content)] == found.page_content
    assert found.metadata == {
        "source": "fish.md",
        "start_index": FISH.index("## Eels"),
        "end_index": len(FISH),
        "content_hash": MARKDOWN(FISH)[-1].content_hash,
        "token_count": counter("o200k_base")(found.page_content),
        "headings": "Fish > Eels",
        "boundary": "end",
    }


@pytest.mark.parametrize("text", [REPEATED, UNUSUAL, FISH], ids=["repeated", "unusual", "fish"])
@pytest.mark.parametrize("overlap", [0, 5])
def test_start_indices_are_true_and_no_chunk_is_over_budget(text: str, overlap: int) -> None:
    splitter = CutlineTextSplitter(chunk_size=16, chunk_overlap=overlap, add_start_index=True)
    documents = splitter.create_documents([text, text], [{"n": 1}, {"n": 2}])
    for number in (1, 2):
        part = [document for document in documents if document.metadata["n"] == number]
        report = cutline.verify(text, part, chunk_size=16, chunk_overlap=overlap)
        assert report.ok, report
        assert [document.page_content for document in part] == splitter.split_text(text)


def test_start_indices_are_left_out_unless_asked_for() -> None:
    (document,) = CutlineTextSplitter().create_documents(["short"])
    (chunk,) = cutline.TextChunker("o200k_base")("short")
    assert document.metadata == {
        "token_count": 1,
        "content_hash": chunk.content_hash,
        "boundary": "end",
    }
    table = "| a | b |\n|---|---|\n" + "| one | two |\n" * 30
    for asked in (False, True):
        splitter = CutlineTextSplitter(MARKDOWN, add_start_index=asked)
        keys = {key for one in splitter.create_documents([table]) for key in one.metadata}
        assert {"continues", "continued"} < keys
        offsets = {"start_index", "end_index", "continues_from", "continued_to"}
        assert keys & offsets == (offsets if asked else set())


def test_line_numbers_of_the_chunker_are_metadata() -> None:
    chunker = cutline.TextChunker("gpt2", 8, line_numbers=True)
    text = "One fish.\r\n\r\nTwo fish, and a third one.\r\n" * 3
    documents = CutlineTextSplitter(chunker, add_start_index=True).create_documents([text])
    for document in documents:
        start, end = document.metadata["start_index"], document.metadata["end_index"]
        lines = text.count("\n", 0, start) + 1, text.count("\n", 0, end - 1) + 1
        assert (document.metadata["start_line"], document.metadata["end_line"]) == lines


@pytest.mark.parametrize("cleanup", ["full", "scoped_full"])
def test_index_embeds_only_what_an_edit_changed(cleanup: Any) -> None:
    embedded: list[str] = []

    class Counted(Words):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            embedded.extend(texts)
            return super().embed_documents(texts)

    store, manager = InMemoryVectorStore(Counted()), InMemoryRecordManager(namespace="code")
    manager.create_schema()
    splitter = CutlineTextSplitter(cutline.CodeChunker("python", "o200k_base", 64, stable=True))
    for text in (PROGRAM, EDITED):
        embedded.clear()
        documents = splitter.create_documents([text], [{"source": "program.py"}])
        done = index(
            documents,
            manager,
            store,
            cleanup=cleanup,
            source_id_key="source",
            key_encoder="blake2b",
        )
        if text == PROGRAM:
            assert len(embedded) == len(documents) >= 250
    assert 1 <= len(embedded) <= 2
    assert done["num_skipped"] == len(documents) - len(embedded)
    assert done["num_deleted"] <= 1
    kept = [one["text"] for one in store.store.values()]
    assert sorted(kept) == sorted(document.page_content for document in documents)


def test_metadata_is_copied_for_each_chunk() -> None:
    metadata = {"tags": ["a"]}
    documents = CutlineTextSplitter(chunk_size=16).create_documents([REPEATED], [metadata])
    documents[0].metadata["tags"].append("b")
    assert documents[1].metadata["tags"] == metadata["tags"] == ["a"]


def test_it_is_a_text_splitter_and_transforms_documents() -> None:
    splitter = CutlineTextSplitter(chunk_size=16, strip_whitespace=True)
    assert isinstance(splitter, TextSplitter)
    documents = splitter.transform_documents([Document(REPEATED)])
    assert [document.page_content for document in documents] == splitter.split_text(REPEATED)
    assert all(text == text.strip() for text in splitter.split_text(REPEATED))
    assert splitter._length_function("one two") == 2


def test_chunks_fit_further_limits() -> None:
    limits = {"gpt2": 12, "bytes": 40}
    splitter = CutlineTextSplitter(chunk_size=30, also_fits=limits)
    wanted = cutline.TextChunker("o200k_base", 30, also_fits=limits)(FISH)
    assert splitter.split_text(FISH) == [chunk.text for chunk in wanted]


def test_it_pickles() -> None:
    for splitter in (CutlineTextSplitter(MARKDOWN), CutlineTextSplitter(chunk_size=16)):
        again = pickle.loads(pickle.dumps(splitter))
        assert again.create_documents([FISH]) == splitter.create_documents([FISH])


def test_it_takes_any_chunker() -> None:
    code = CutlineTextSplitter(cutline.CodeChunker("python", "o200k_base", 8))
    documents = code.create_documents([PYTHON])
    assert documents[-1].metadata["headings"] == "class Fish > def rest"
    assert "".join(code.split_text(PYTHON)) == PYTHON
    with pytest.raises(TypeError, match="chunk_size and chunker are both given"):
        CutlineTextSplitter(MARKDOWN, chunk_size=3)


def test_the_usual_class_methods_make_it() -> None:
    by_name = CutlineTextSplitter.from_tiktoken_encoder("cl100k_base", chunk_size=7)
    by_model = CutlineTextSplitter.from_tiktoken_encoder(model_name="gpt-4o")
    assert by_name.chunker.encoding is cutline.get_encoding("cl100k_base")
    assert by_name.chunker.chunk_size == 7
    assert by_model.chunker.encoding is cutline.get_encoding("o200k_base")
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    wrapping = CutlineTextSplitter.from_huggingface_tokenizer(tokenizer, chunk_size=2)
    assert wrapping.split_text("one two three") == ["one two ", "three"]


def test_other_splitters_count_with_an_encoding() -> None:
    count = cutline.get_encoding("o200k_base").count
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=32, chunk_overlap=0, length_function=count, keep_separator=False
    )
    texts = splitter.split_text(FISH)
    assert len(texts) > 2
    assert all(counter("o200k_base")(text) <= 32 for text in texts)


# Hierarchies

HIERARCHY = cutline.HierarchicalChunker(cutline.MarkdownChunker("o200k_base"), (90, 30, 15))


def test_small_documents_are_found_and_large_ones_read() -> None:
    documents = [
        Document(FISH, id="fish"),
        Document(FISH, metadata={"source": "a.md"}),
        Document(FISH, metadata={"source": "a.md", "parent_id": "other"}),
        Document(UNUSUAL),
        Document(""),
    ]
    splitter = CutlineHierarchicalSplitter(HIERARCHY, add_start_index=True)
    made = splitter.split_documents(documents)
    assert splitter.transform_documents(documents) == made
    by_id = {str(one.id): one for one in made}
    assert len(by_id) == len(made)
    begins = dict.fromkeys(str(one.id).partition("/")[0] for one in made)
    assert [*begins][:3] == ["fish", "a.md", "a.md-2"]
    for one in made:
        known = one.metadata
        text = UNUSUAL if one.page_content in UNUSUAL else FISH
        assert text[known["start_index"] : known["end_index"]] == one.page_content
        assert known["token_count"] <= HIERARCHY.sizes[known["level"]]
        assert ("parent_id" in known) == (known["level"] > 0)
        if known["level"]:
            parent = by_id[known["parent_id"]]
            assert parent.metadata["level"] == known["level"] - 1
            assert parent.metadata["start_index"] <= known["start_index"]
            assert parent.metadata["end_index"] >= known["end_index"]
        assert all(isinstance(value, int | str) for value in known.values())
    store, parents = InMemoryVectorStore(Words()), InMemoryStore()
    store.add_documents([one for one in made if one.metadata["level"] == 2])
    parents.mset([(key, one) for key, one in by_id.items() if one.metadata["level"] < 2])
    (found,) = store.similarity_search("eels spawn in the Sargasso sea", k=1)
    (parent,) = parents.mget([found.metadata["parent_id"]])
    assert isinstance(parent, Document)
    assert found.page_content in parent.page_content


def test_ids_stay_where_the_text_stays() -> None:
    splitter = CutlineHierarchicalSplitter(cutline.HierarchicalChunker("o200k_base", (60, 20)))
    before, after = (
        {one.id for one in splitter.split_documents([Document(text, id="fish")])}
        for text in (FISH * 3, FISH * 3 + "More.")
    )
    assert len(after - before) <= 3


def test_a_hierarchy_renders_templates() -> None:
    template = cutline.Template("{title}: {text}")
    chunker = cutline.HierarchicalChunker(
        cutline.MarkdownChunker("o200k_base", template=template), (60, 20)
    )
    splitter = pickle.loads(pickle.dumps(CutlineHierarchicalSplitter(chunker, rendered=True)))
    made = splitter.split_documents([Document(FISH, metadata={"title": "Fish"})])
    for one in made:
        assert one.page_content == f"Fish: {one.metadata['text']}"
        size = splitter.chunker.sizes[one.metadata["level"]]
        assert one.metadata["sent_tokens"] == counter("o200k_base")(one.page_content) <= size
    with pytest.raises(ValueError, match="rendered=True needs a template"):
        CutlineHierarchicalSplitter("gpt2", rendered=True)
    assert CutlineHierarchicalSplitter().chunker.sizes == (2048, 512, 128)


@pytest.mark.parametrize("n", [1, 3])
def test_each_text_needs_metadata(n: int) -> None:
    with pytest.raises(ValueError, match=f"one for each of the 2 texts, got {n}"):
        CutlineTextSplitter(chunk_size=8).create_documents(["a", "b"], [{}] * n)
