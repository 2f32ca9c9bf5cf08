"""Templates in the adapters: described, filled from what is known of a document, rendered."""

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import cutline
from cutline import Template
from cutline.integrations.describing import chunker_from, describe
from tests.integrations.samples import FISH
from tests.oracles import counter

TEMPLATE = Template("{title}: {headings}\n\n{text}", joined_by=" / ", special_tokens=2)
CHUNKER = cutline.MarkdownChunker("o200k_base", 40, template=TEMPLATE)


def expected(title: str | None, text: str = FISH) -> list[str]:
    template = TEMPLATE.fill(title=title)
    chunks = CHUNKER.with_template(template).chunk(text)
    count = counter("o200k_base")
    assert all(count(template.render(chunk)) + 2 <= 40 for chunk in chunks)
    return [template.render(chunk) for chunk in chunks]


def test_descriptions_restore_templates() -> None:
    for template in (TEMPLATE, TEMPLATE.fill(title="T"), Template("{text}")):
        chunker = CHUNKER.with_template(template)
        described = json.loads(json.dumps(describe(chunker)))
        assert chunker_from(described).template == template
        assert describe(chunker_from(described)) == described
    assert describe(CHUNKER) != describe(CHUNKER.with_template(None))


@pytest.mark.parametrize("damaged", ["text", {"pattern": "x"}, {"pattern": "{text}", "a": 1}, 7])
def test_damaged_descriptions_of_templates_are_refused(damaged: Any) -> None:
    with pytest.raises(ValueError, match="template"):
        chunker_from(describe(CHUNKER) | {"template": damaged})


class Shouting(Template):
    """A user's own kind."""


def test_a_template_of_a_users_class_is_no_plain_data() -> None:
    described = describe(CHUNKER.with_template(Shouting("{text}")))
    with pytest.raises(ValueError, match=r"the template .*Shouting cannot be restored"):
        chunker_from(described)


def test_langchain() -> None:
    pytest.importorskip("langchain_text_splitters")
    from cutline.integrations.langchain import CutlineTextSplitter

    texts, known = [FISH, FISH], [{"title": "A"}, {"title": "B"}]
    sent = CutlineTextSplitter(CHUNKER, rendered=True).create_documents(texts, known)
    assert [one.page_content for one in sent] == expected("A") + expected("B")
    alone = CutlineTextSplitter(CHUNKER).create_documents(texts, known)
    assert [one.page_content for one in alone] == [one.metadata["text"] for one in sent]
    assert all(one.metadata["sent_tokens"] <= 40 for one in alone)
    made = CutlineTextSplitter(chunk_size=30, template=Template("p: {text}"))
    assert made.chunker.template == Template("p: {text}")
    with pytest.raises(ValueError, match=r"needs \{title\}.*it has \['source'\]"):
        CutlineTextSplitter(CHUNKER).create_documents([FISH], [{"source": "a"}])
    with pytest.raises(ValueError, match="rendered=True needs a template"):
        CutlineTextSplitter(chunk_size=30, rendered=True)


def test_haystack() -> None:
    pytest.importorskip("haystack")
    from haystack import Document

    from cutline.integrations.haystack import CutlineDocumentSplitter

    made = CutlineDocumentSplitter(CHUNKER, rendered=True)
    for splitter in (made, CutlineDocumentSplitter.from_dict(made.to_dict())):
        found = splitter.run([Document(content=FISH, meta={"title": "A"})])["documents"]
        assert [one.content for one in found] == expected("A")
        assert "".join(one.meta["text"] for one in found) == FISH


def test_llama_index() -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.schema import Document

    from cutline.integrations.llama_index import CutlineNodeParser

    parser = CutlineNodeParser(CHUNKER)
    assert json.loads(parser.model_dump_json())["chunker"]["template"]["joined_by"] == " / "
    documents = [Document(text=FISH, metadata={"title": "A"})]
    lengths = [len(text) for text in expected("A")]
    for one in (
        parser, CutlineNodeParser.from_dict(parser.to_dict()), pickle.loads(pickle.dumps(parser)),
    ):  # fmt: skip
        nodes = IngestionPipeline(transformations=[one], disable_cache=True).run(
            documents=documents
        )
        assert len(nodes) == len(lengths)
        assert all(node.metadata["sent_tokens"] <= 40 for node in nodes)


@pytest.mark.parametrize("as_table", [True, False])
def test_arrow(as_table: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    from cutline.integrations.arrow import CHUNK_COLUMNS, chunk_batch, chunk_schema

    columns = {"text": [FISH, None, FISH], "title": ["A", "B", None]}
    batch = pa.table(columns) if as_table else pa.record_batch(columns)
    found = chunk_batch(batch, CHUNKER)
    assert found.column("sent").to_pylist() == expected("A") + expected(None)
    assert found.schema == chunk_schema(batch.schema, sent=True)
    assert found.schema.names == ["title", *CHUNK_COLUMNS, "sent"]
    metadata = map(json.loads, found.column("metadata").to_pylist())
    assert all(one["sent_tokens"] <= 40 for one in metadata)
    with pytest.raises(ValueError, match=r"needs \{title\}"):
        chunk_batch(batch.select(["text"]), CHUNKER)


TITLED = cutline.TextChunker("o200k_base", 8, template=Template("{title}: {text}"))
FAMILIES = cutline.HierarchicalChunker(TITLED, (16, 8))


def note_of(call: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(ValueError, match=r"the template needs \{title\}") as caught:
        call(*arguments)
    [note] = caught.value.__notes__
    return note


def test_the_document_that_fails_is_named() -> None:
    """Of many in one call: each adapter has names of its own for them."""
    pytest.importorskip("langchain_text_splitters")
    from langchain_core.documents import Document

    from cutline.integrations.langchain import CutlineHierarchicalSplitter, CutlineTextSplitter

    first = Document(FISH, metadata={"title": "", "source": "a.md"})
    for known, name in (({"source": "b.md"}, "'b.md'"), ({}, "1")):
        given = [first, Document(FISH, metadata=known)]
        assert note_of(CutlineTextSplitter(TITLED).split_documents, given) == (
            f"in the document {name}"
        )
    given = [first, Document(FISH, id="b")]
    assert note_of(CutlineHierarchicalSplitter(FAMILIES).split_documents, given) == (
        "in the document 'b'"
    )


def test_the_document_that_fails_is_named_by_haystack() -> None:
    pytest.importorskip("haystack")
    from haystack import Document

    from cutline.integrations import haystack

    given = [Document(id="a", content=FISH, meta={"title": ""}), Document(id="b", content=FISH)]
    for splitter in (
        haystack.CutlineDocumentSplitter(TITLED),
        haystack.CutlineHierarchicalDocumentSplitter(FAMILIES),
    ):
        assert note_of(splitter.run, given) == "in the document 'b'"


def test_the_document_that_fails_is_named_by_llama_index() -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import Document

    from cutline.integrations import llama_index

    given = [Document(id_="a", text=FISH, metadata={"title": ""}), Document(id_="b", text=FISH)]
    for parser in (
        llama_index.CutlineNodeParser(TITLED),
        llama_index.CutlineHierarchicalNodeParser(FAMILIES),
    ):
        assert note_of(parser.get_nodes_from_documents, given) == "in the document 'b'"
