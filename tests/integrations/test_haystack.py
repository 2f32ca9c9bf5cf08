"""Haystack: from documents to what is retrieved, with the real package."""

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import cutline
from cutline.chunking.chunker import Chunker
from tests.integrations.samples import EDITED, FISH, PROGRAM, REPEATED, UNUSUAL, embed
from tests.oracles import counter
from tests.wrapping.made import wrapped

pytest.importorskip("haystack", reason="haystack-ai is missing")

from haystack import Document, Pipeline, component
from haystack.components.caching import CacheChecker
from haystack.components.preprocessors import DocumentSplitter, RecursiveDocumentSplitter
from haystack.components.retrievers import AutoMergingRetriever
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.core.errors import DeserializationError
from haystack.document_stores.in_memory import InMemoryDocumentStore

from cutline.integrations.haystack import (
    CutlineDocumentSplitter,
    CutlineHierarchicalDocumentSplitter,
    count_with,
)

MARKDOWN = cutline.MarkdownChunker("o200k_base", 32)


@component
class Words:
    """Embeds documents by their words."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        return {
            "documents": [replace(one, embedding=embed(one.content or "")) for one in documents]
        }


def split(splitter: Any, text: str, **meta: Any) -> list[Document]:
    documents: list[Document] = splitter.run([Document(content=text, meta=meta)])["documents"]
    return documents


def test_documents_are_split_stored_and_found_with_what_their_chunks_know() -> None:
    store = InMemoryDocumentStore()
    indexing = Pipeline()
    indexing.add_component("splitter", CutlineDocumentSplitter(MARKDOWN))
    indexing.add_component("embedder", Words())
    indexing.add_component("writer", DocumentWriter(store))
    indexing.connect("splitter.documents", "embedder.documents")
    indexing.connect("embedder.documents", "writer.documents")
    whole = Document(content=FISH, meta={"source": "fish.md"})
    indexing.run({"splitter": {"documents": [whole, Document(content=REPEATED)]}})
    retriever = InMemoryEmbeddingRetriever(store, top_k=1)
    (found,) = retriever.run(embed("where do eels spawn"))["documents"]
    assert found.meta == {
        "source": "fish.md",
        "source_id": whole.id,
        "page_number": 1,
        "split_id": 2,
        "split_idx_start": FISH.index("## Eels"),
        "split_idx_end": len(FISH),
        "content_hash": MARKDOWN(FISH)[-1].content_hash,
        "token_count": counter("o200k_base")(found.content),
        "headings": ["Fish", "Eels"],
        "boundary": "end",
    }


@pytest.mark.parametrize("text", [REPEATED, UNUSUAL, FISH], ids=["repeated", "unusual", "fish"])
@pytest.mark.parametrize("overlap", [0, 5])
def test_starts_are_true_and_no_chunk_is_over_budget(text: str, overlap: int) -> None:
    documents = split(CutlineDocumentSplitter(chunk_size=16, chunk_overlap=overlap), text)
    chunks = [{"text": one.content, "start": one.meta["split_idx_start"]} for one in documents]
    report = cutline.verify(text, chunks, chunk_size=16, chunk_overlap=overlap)
    assert report.ok, report
    assert [one.meta["split_id"] for one in documents] == list(range(len(documents)))


@pytest.mark.parametrize("overlap", [0, 2])
def test_metadata_is_that_of_the_built_in_splitter(overlap: int) -> None:
    """Given our texts and places, Haystack's own code makes the metadata that we make."""
    text = "one two three four\ffive six\f\fseven eight nine ten eleven twelve"
    theirs = DocumentSplitter(split_length=4, split_overlap=overlap)
    found = split(CutlineDocumentSplitter(chunk_size=4, chunk_overlap=overlap), text, source="a")
    starts = [one.meta["split_idx_start"] for one in found]
    expected = theirs._create_docs_from_splits(
        text_splits=[one.content or "" for one in found],
        splits_pages=[1 + text.count("\f", 0, start) for start in starts],
        splits_start_idxs=starts,
        meta={"source": "a", "source_id": found[0].meta["source_id"]},
    )
    for ours_one, theirs_one in zip(found, expected, strict=True):
        shared = theirs_one.meta.keys() - {"_split_overlap"}
        assert {key: ours_one.meta[key] for key in shared} == {
            key: theirs_one.meta[key] for key in shared
        }
    assert ranges(found) == ranges(expected)
    assert any(one.meta["page_number"] > 3 for one in found)


def test_cuts_are_those_of_the_built_in_splitter_where_these_are_exact() -> None:
    text = "one two three four five six seven eight nine ten eleven twelve"
    theirs = count_with(DocumentSplitter(split_by="token", split_length=4))
    ours = CutlineDocumentSplitter(cutline.TokenChunker("o200k_base", 4))
    assert [one.content for one in split(ours, text)] == [
        one.content for one in split(theirs, text)
    ]


def test_without_places_only_what_an_edit_changed_has_a_new_id() -> None:
    chunker = cutline.CodeChunker("python", "o200k_base", 64, stable=True)
    splitter = CutlineDocumentSplitter(chunker, add_places=False)
    store = InMemoryDocumentStore()
    before, after = (split(splitter, text, source="program.py") for text in (PROGRAM, EDITED))
    store.write_documents(before)
    checked = CacheChecker(store, "id").run([one.id for one in after])
    assert len(before) >= 250
    assert 1 <= len(checked["misses"]) <= 2
    assert {"split_id", "split_idx_start", "page_number", "source_id"}.isdisjoint(after[1].meta)
    again = CutlineDocumentSplitter.from_dict(splitter.to_dict())
    assert [one.id for one in split(again, EDITED, source="program.py")] == [o.id for o in after]


def ranges(documents: list[Document]) -> list[Any]:
    """What the documents say of their overlaps, by number instead of by id."""
    numbers = {one.id: number for number, one in enumerate(documents)}
    return [
        [(numbers[each["doc_id"]], each["range"]) for each in one.meta["_split_overlap"]]
        for one in documents
        if "_split_overlap" in one.meta
    ]


def test_shared_text_is_where_the_metadata_says() -> None:
    documents = split(CutlineDocumentSplitter(chunk_size=16, chunk_overlap=6), REPEATED)
    by_id = {one.id: one for one in documents}
    told = 0
    for one in documents:
        for each in one.meta["_split_overlap"]:
            start, end = each["range"]
            other = by_id[each["doc_id"]]
            assert other.content is not None
            assert one.content is not None
            assert other.content[start:end] in (
                one.content[: end - start],
                one.content[len(one.content) - (end - start) :],
            )
            told += 1
    assert told == 2 * (len(documents) - 1)


def test_pages_are_told_as_the_built_in_splitter_does() -> None:
    splitter = CutlineDocumentSplitter(cutline.TokenChunker("o200k_base", 1))
    pages = [(one.content, one.meta["page_number"]) for one in split(splitter, "a\fb\f\fc")]
    assert pages == [("a", 1), ("\f", 1), ("b", 2), ("\f", 2), ("\f", 3), ("c", 4)]


def load_trained(folder: Path) -> cutline.Encoding:
    cutline.train(iter([FISH]), 300).save(folder / "fish.cutline")
    return cutline.load(folder / "fish.cutline")


def test_a_pipeline_is_written_and_read(tmp_path: Path) -> None:
    for chunker in (
        MARKDOWN,
        cutline.CodeChunker("python", "gpt2", 12),
        cutline.TokenChunker("gpt2", 9, 3),
        cutline.TextChunker(load_trained(tmp_path), 9, levels=[re.compile("(?i)FISH")]),
    ):
        pipeline = Pipeline()
        splitter = CutlineDocumentSplitter(chunker, skip_empty_documents=False)
        pipeline.add_component("splitter", splitter)
        module = CutlineDocumentSplitter.__module__
        read = Pipeline.loads(pipeline.dumps(), allowed_modules=[module]).get_component("splitter")
        assert isinstance(read, CutlineDocumentSplitter)
        assert read.to_dict() == splitter.to_dict()
        assert split(read, FISH) == split(splitter, FISH)


def test_written_components_have_names_and_numbers() -> None:
    written = CutlineDocumentSplitter(chunk_size=9).to_dict()
    assert written["type"] == "cutline.integrations.haystack.CutlineDocumentSplitter"
    assert written["init_parameters"]["chunker"]["chunk_size"] == 9
    parameters = {"chunk_size": 9}
    read = CutlineDocumentSplitter.from_dict({**written, "init_parameters": parameters})
    assert read.to_dict() == written


def test_chunks_fit_further_limits_and_so_does_a_splitter_that_was_written() -> None:
    limits = {"gpt2": 12, "bytes": 40}
    splitter = CutlineDocumentSplitter(chunk_size=30, also_fits=limits)
    wanted = cutline.TextChunker("o200k_base", 30, also_fits=limits)(FISH)
    for one in (splitter, CutlineDocumentSplitter.from_dict(splitter.to_dict())):
        found = one.run([Document(content=FISH)])["documents"]
        assert [document.content for document in found] == [chunk.text for chunk in wanted]


def test_it_pickles() -> None:
    splitter = CutlineDocumentSplitter(MARKDOWN)
    assert split(pickle.loads(pickle.dumps(splitter)), FISH) == split(splitter, FISH)


def test_documents_without_text() -> None:
    skipping, keeping = (
        CutlineDocumentSplitter(),
        CutlineDocumentSplitter(skip_empty_documents=False),
    )
    empty = Document(content="")
    assert skipping.run([empty]) == {"documents": []}
    (kept,) = keeping.run([empty])["documents"]
    assert (kept.content, kept.meta["source_id"]) == ("", empty.id)
    with pytest.raises(ValueError, match=r"the content of document \w+ is None"):
        skipping.run([Document(content=None)])
    with pytest.raises(TypeError, match="expects a list of Documents"):
        skipping.run(["text"])  # type: ignore[list-item]


def test_wrapped_tokenizers_count() -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    splitter = CutlineDocumentSplitter(encoding=cutline.wrap(tokenizer), chunk_size=2)
    assert [one.content for one in split(splitter, "one two three")] == ["one two ", "three"]


@pytest.mark.parametrize(
    ("chunker", "said"),
    [
        (cutline.TextChunker(wrapped("bert"), 8), "encoding 'bert' cannot be restored"),
        (
            cutline.TextChunker("gpt2", 8, count_text=lambda chunk: 1),
            "a chunker with the count_text .*lambda> cannot be restored",
        ),
        (
            cutline.TextChunker("gpt2", 8, levels=[lambda text: [1]]),
            "the level .*lambda> cannot be restored",
        ),
    ],
    ids=["wrapped", "count_text", "level by function"],
)
def test_a_pipeline_that_cannot_be_made_again_says_so_when_it_is_read(
    chunker: Chunker, said: str
) -> None:
    pipeline = Pipeline()
    pipeline.add_component("splitter", CutlineDocumentSplitter(chunker))
    written = pipeline.dumps()
    said = f"{said}.*make it in code where the pipeline is loaded"
    with pytest.raises(ValueError, match=said):
        CutlineDocumentSplitter.from_dict(CutlineDocumentSplitter(chunker).to_dict())
    with pytest.raises(DeserializationError, match=said):
        Pipeline.loads(written, allowed_modules=[CutlineDocumentSplitter.__module__])


def test_built_in_splitters_count_with_an_encoding() -> None:
    by_token = count_with(DocumentSplitter(split_by="token", split_length=8), "cl100k_base")
    recursive = count_with(
        RecursiveDocumentSplitter(
            split_length=16, split_unit="token", separators=["\n\n", "\n", " "]
        ),
        cutline.get_encoding("o200k_base"),
    )
    recursive.warm_up()
    assert "".join(one.content or "" for one in split(by_token, FISH)) == FISH
    assert all(counter("cl100k_base")(one.content or "") <= 8 for one in split(by_token, FISH))
    assert all(counter("o200k_base")(one.content or "") <= 16 for one in split(recursive, FISH))
    for splitter in (
        DocumentSplitter(split_by="word"),
        RecursiveDocumentSplitter(split_unit="word"),
    ):
        with pytest.raises(ValueError, match=r"Splitter does not count tokens"):
            count_with(splitter)
    with pytest.raises(ValueError, match="leave 'sentence' out"):
        count_with(RecursiveDocumentSplitter(split_unit="token"))


# Hierarchies

HIERARCHY = cutline.HierarchicalChunker(cutline.MarkdownChunker("o200k_base"), (90, 30, 15))


@pytest.mark.parametrize("text", [FISH, REPEATED, UNUSUAL, "One.", ""], ids=repr)
def test_splits_of_several_sizes_name_parents_and_children(text: str) -> None:
    splits = split(CutlineHierarchicalDocumentSplitter(HIERARCHY), text, author="N. N.")
    expected = [node for level in HIERARCHY(text) for node in level]
    assert [one.content for one in splits] == [node.chunk.text for node in expected]
    by_id = {one.id: one for one in splits}
    assert len(by_id) == len(splits)
    for one, node in zip(splits, expected, strict=True):
        meta = one.meta
        assert (meta["__level"], meta["author"]) == (node.level, "N. N.")
        assert counter("o200k_base")(one.content or "") <= meta["__block_size"]
        assert meta["__block_size"] == HIERARCHY.sizes[node.level]
        assert (meta["__parent_id"] is None) == (node.level == 0)
        children = [by_id[child] for child in meta["__children_ids"]]
        assert all(child.meta["__parent_id"] == one.id for child in children)
        assert len(children) == len(node.children)
        if children:
            assert "".join(child.content or "" for child in children) == one.content
        assert text[meta["split_idx_start"] : meta["split_idx_end"]] == one.content


def test_an_auto_merging_retriever_returns_parents() -> None:
    pipeline = Pipeline()
    pipeline.add_component("splitter", CutlineHierarchicalDocumentSplitter(HIERARCHY))
    read = Pipeline.loads(pipeline.dumps(), allowed_modules=["cutline.integrations.haystack"])
    documents = [Document(content=FISH), Document(content="One line about rivers.")]
    splits = read.run({"splitter": {"documents": documents}})["splitter"]["documents"]
    assert splits == CutlineHierarchicalDocumentSplitter(HIERARCHY).run(documents)["documents"]
    parents, leaves = InMemoryDocumentStore(), InMemoryDocumentStore()
    parents.write_documents([one for one in splits if one.meta["__children_ids"]])
    lowest = [one for one in splits if not one.meta["__children_ids"]]
    leaves.write_documents(Words().run(lowest)["documents"])
    found = InMemoryEmbeddingRetriever(leaves, top_k=3).run(embed("eels spawn in the Sargasso sea"))
    merged = AutoMergingRetriever(parents, threshold=0.3).run(found["documents"])["documents"]
    assert any("Sargasso" in (one.content or "") for one in merged)
    assert any(one.meta["__level"] < 2 for one in merged)
    alone = AutoMergingRetriever(parents).run(lowest[-1:])["documents"]
    assert [one.content for one in alone] == ["One line about rivers."]
    assert alone[0].meta["__level"] == 0


def test_a_hierarchy_is_restored_or_refused() -> None:
    template = cutline.Template("{title}: {text}")
    chunker = cutline.HierarchicalChunker(
        cutline.MarkdownChunker("gpt2", template=template, never_across="heading 2"), (40, 20)
    )
    splitter = CutlineHierarchicalDocumentSplitter(chunker, rendered=True)
    read = CutlineHierarchicalDocumentSplitter.from_dict(splitter.to_dict())
    splits = split(read, FISH, title="Fish")
    assert splits == split(splitter, FISH, title="Fish")
    for one in splits:
        assert one.content == f"Fish: {one.meta['text']}"
        assert one.meta["sent_tokens"] <= one.meta["__block_size"]
    with pytest.raises(ValueError, match=r"sizes must be two or more, got .9,."):
        CutlineHierarchicalDocumentSplitter(cutline.HierarchicalChunker("gpt2", (9,)))
    with pytest.raises(ValueError, match="rendered=True needs a template"):
        CutlineHierarchicalDocumentSplitter(rendered=True)
    with pytest.raises(TypeError, match="CutlineHierarchicalDocumentSplitter expects a list"):
        CutlineHierarchicalDocumentSplitter().run("text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="CutlineHierarchicalDocumentSplitter only works with t"):
        CutlineHierarchicalDocumentSplitter().run([Document(content=None)])
    assert CutlineHierarchicalDocumentSplitter().chunker.sizes == (2048, 512, 128)
    assert CutlineHierarchicalDocumentSplitter("gpt2").chunker.chunker.encoding.name == "gpt2"
