"""The view takes what other packages, and our own command, really make."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import cutline
from cutline import Chunk
from cutline.cli import main
from cutline.view import html_page, terminal_view
from cutline.view.foreign_chunks import chunks_of

ENC = cutline.get_encoding("o200k_base")
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "chunking.md"
TEXT = f"名前 👩‍👩‍👧‍👦 café\n\n{DOCUMENT.read_text(encoding='utf-8')[:6_000]}"

pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages


def shown(chunks: Iterable[Any], text: str = TEXT) -> list[Chunk]:
    """Show chunks, and see that they are found where they are without their offsets, too."""
    given = list(chunks)
    assert html_page(text, given, ENC, chunk_size=64).startswith("<!doctype html>")
    assert "".join(terminal_view(text, given, ENC)).count("tokens  characters ") == len(given) > 5
    found = chunks_of(text, given, ENC)
    again = chunks_of(text, [chunk.text for chunk in found], ENC)
    assert [chunk.start_index for chunk in again] == [chunk.start_index for chunk in found]
    assert [chunk.token_count for chunk in found] == [ENC.count(chunk.text) for chunk in found]
    return found


@pytest.mark.parametrize("overlap", [0, 60])
def test_langchain(overlap: int) -> None:
    splitters = pytest.importorskip("langchain_text_splitters")
    splitter = splitters.RecursiveCharacterTextSplitter(
        chunk_size=300, chunk_overlap=overlap, add_start_index=True
    )
    documents = splitter.create_documents([TEXT], [{"source": "chunking.md"}])
    found = shown(documents)
    assert [c.start_index for c in found] == [d.metadata["start_index"] for d in documents]
    assert found[0].metadata["source"] == "chunking.md"
    assert shown(splitter.split_text(TEXT)) == shown([text.page_content for text in documents])


def test_langchain_that_did_not_find_its_own_chunks() -> None:
    """Its search takes tokens for characters, so that it begins too far on."""
    splitters = pytest.importorskip("langchain_text_splitters")
    documents = splitters.RecursiveCharacterTextSplitter(
        chunk_size=100, chunk_overlap=30, length_function=ENC.count, add_start_index=True
    ).create_documents([TEXT])
    assert any(document.metadata["start_index"] == -1 for document in documents)
    shown(documents)


def test_llama_index() -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.node_parser import TokenTextSplitter
    from llama_index.core.schema import Document

    splitter = TokenTextSplitter(chunk_size=80, chunk_overlap=10, tokenizer=ENC.encode_ordinary)
    nodes: list[Any] = splitter.get_nodes_from_documents([Document(text=TEXT)])
    assert [c.start_index for c in shown(nodes)] == [node.start_char_idx for node in nodes]


def test_haystack() -> None:
    pytest.importorskip("haystack")
    from haystack import Document
    from haystack.components.preprocessors import DocumentSplitter

    splitter = DocumentSplitter(split_by="word", split_length=50, split_overlap=5)
    documents = splitter.run([Document(content=TEXT)])["documents"]
    found = shown(documents)
    assert [c.start_index for c in found] == [one.meta["split_idx_start"] for one in documents]


def test_chonkie() -> None:
    chonkie = pytest.importorskip("chonkie")
    for chunker in (
        chonkie.TokenChunker("character", chunk_size=300, chunk_overlap=60),
        chonkie.RecursiveChunker("character", chunk_size=300),
        chonkie.SentenceChunker("character", chunk_size=300),
    ):
        chunks = chunker.chunk(TEXT)
        assert [c.start_index for c in shown(chunks)] == [chunk.start_index for chunk in chunks]


@pytest.mark.parametrize("options", [{}, {"trim": False}, {"overlap": 60}])
def test_semantic_text_splitter(options: dict[str, Any]) -> None:
    module = pytest.importorskip("semantic_text_splitter")
    splitter = module.TextSplitter(300, **options)
    pairs = splitter.chunk_indices(TEXT)
    assert [chunk.start_index for chunk in shown(pairs)] == [start for start, _ in pairs]
    shown(splitter.chunks(TEXT))


@pytest.mark.parametrize("overlap", [None, 16])
def test_semchunk(overlap: int | None) -> None:
    semchunk = pytest.importorskip("semchunk")
    chunks, offsets = semchunk.chunkerify(ENC.count, 64)(TEXT, overlap=overlap, offsets=True)
    assert [(c.start_index, c.end_index) for c in shown(offsets)] == offsets
    assert [chunk.text for chunk in shown(chunks)] == chunks


# Our own command


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "a.md"
    path.write_text(TEXT, encoding="utf-8", newline="")
    return str(path)


def written(file: str, form: str) -> bytes:
    options = ["--by", "markdown", "--chunk-size", "64", "--overlap", "8", "--format", form]
    return CliRunner().invoke(main, ["chunk", *options, file]).stdout_bytes


def expected() -> str:
    pytest.importorskip("pyromark")
    return html_page(TEXT, cutline.MarkdownChunker(ENC, 64, 8)(TEXT), ENC)


def test_rows_of_json(file: str) -> None:
    rows = list(map(json.loads, written(file, "jsonl").splitlines()))
    assert html_page(TEXT, rows, ENC) == expected()


def test_rows_of_parquet(file: str) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = parquet.read_table(pa.BufferReader(written(file, "parquet"))).to_pylist()
    assert html_page(TEXT, rows, ENC) == expected()


def test_plain_text(file: str) -> None:
    pytest.importorskip("pyromark")
    chunks = written(file, "text").decode().split("\n\f\n")
    found = cutline.MarkdownChunker(ENC, 64, 8)(TEXT)
    assert [chunk.start_index for chunk in shown(chunks)] == [c.start_index for c in found]


def test_rows_of_arrow() -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa

    from cutline.integrations.arrow import chunk_batch

    chunker = cutline.TextChunker(ENC, 64, 8)
    batch = pa.RecordBatch.from_pydict({"document": [TEXT]})
    rows = chunk_batch(batch, chunker, column="document").to_pylist()
    assert html_page(TEXT, rows, ENC) == html_page(TEXT, chunker(TEXT), ENC)
