"""Docling: chunks of documents that docling-core itself builds."""

import pickle
import random
import re

import pytest

import cutline
from cutline.template import Template
from tests.oracles import counter

pytest.importorskip("docling_core", reason="docling-core is missing")

from docling_core.transforms.chunker import DocChunk, DocMeta, HierarchicalChunker
from docling_core.transforms.chunker.hybrid_chunker import HybridChunker
from docling_core.transforms.serializer.markdown import MarkdownDocSerializer, MarkdownParams
from docling_core.types.doc import BoundingBox, DocItemLabel, DoclingDocument, ProvenanceItem
from docling_core.types.doc.document import (
    DocumentOrigin,
    Formatting,
    TableCell,
    TableData,
)

from cutline.integrations.docling import CutlineChunk, CutlineChunker, CutlineTokenizer

count = counter("o200k_base")


def on_page(number: int, top: float = 10) -> ProvenanceItem:
    box = BoundingBox(l=10, t=top, r=90, b=top + 10)
    return ProvenanceItem(page_no=number, bbox=box, charspan=(0, 0))


def table_of(n_rows: int, cell: str) -> TableData:
    rows = [["Name", "Teeth"], *([f"{cell}{row}", str(row)] for row in range(1, n_rows))]
    cells = [
        TableCell(
            text=text,
            start_row_offset_idx=row,
            end_row_offset_idx=row + 1,
            start_col_offset_idx=column,
            end_col_offset_idx=column + 1,
            column_header=row == 0,
        )
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
    ]
    return TableData(table_cells=cells, num_rows=n_rows, num_cols=2)


def workshop() -> DoclingDocument:
    """A document with all kinds of items, on three pages."""
    document = DoclingDocument(name="workshop")
    document.add_title("The workshop", prov=on_page(1))
    document.add_text(DocItemLabel.TEXT, "Keep it dry. Sweep the floor.", prov=on_page(1, 30))
    document.add_heading("Saws", prov=on_page(1, 50))
    outer = document.add_list_group()
    item = document.add_list_item("A saw for wood.", parent=outer, prov=on_page(1, 60))
    inner = document.add_list_group(parent=item)
    document.add_list_item("With large teeth.", parent=inner, prov=on_page(2, 10))
    document.add_list_item("A saw for metal.", parent=outer, prov=on_page(2, 20))
    caption = document.add_text(DocItemLabel.CAPTION, "Table 1. All saws.", prov=on_page(2, 30))
    document.add_table(table_of(24, "saw "), caption=caption, prov=on_page(2, 40))
    document.add_heading("Glue", prov=on_page(3, 5))
    document.add_code("def clamp():\n    # half an hour\n    return 30\n", prov=on_page(3, 10))
    group = document.add_inline_group()
    document.add_text(DocItemLabel.TEXT, "Clamp the", parent=group, prov=on_page(3, 20))
    bold = Formatting(bold=True)
    document.add_text(
        DocItemLabel.TEXT, "parts", parent=group, prov=on_page(3, 21), formatting=bold
    )
    caption = document.add_text(DocItemLabel.CAPTION, "Figure 1. A clamp.", prov=on_page(3, 30))
    document.add_picture(caption=caption, prov=on_page(3, 40))
    document.add_formula("a^2 + b^2", prov=on_page(3, 50))
    return document


def chunks_of(document: DoclingDocument, chunker: CutlineChunker) -> list[CutlineChunk]:
    """Cut a document, and check what holds for all chunks."""
    text, chunks = chunker.text_of(document), list(chunker.chunk(document))
    assert [chunk.meta.index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        meta = chunk.meta
        assert chunk.text == text[meta.start_index : meta.end_index]
        assert count(chunk.text) == meta.token_count
        assert count(chunker.contextualize(chunk)) == meta.sent_tokens <= chunker.max_tokens
        assert chunk.text in chunker.contextualize(chunk)
    return chunks


@pytest.mark.parametrize("size", [16, 24, 64, 1000])
def test_chunks_joined_are_the_markdown_that_docling_writes(size: int) -> None:
    document, chunker = workshop(), CutlineChunker(chunk_size=size)
    assert "".join(chunk.text for chunk in chunks_of(document, chunker)) == (
        MarkdownDocSerializer(doc=document, params=chunker.markdown).serialize().text
    )


def test_a_chunk_knows_its_headings_pages_boxes_and_items() -> None:
    document = workshop()
    chunks = chunks_of(document, CutlineChunker(chunk_size=36))
    saws = next(chunk for chunk in chunks if "metal" in chunk.text)
    assert saws.meta.headings == ["The workshop", "Saws"]
    assert saws.meta.page_numbers == [1, 2]
    refs = [item.self_ref for item in saws.meta.doc_items]
    assert refs[:4] == ["#/texts/2", "#/texts/3", "#/texts/4", "#/texts/5"]
    boxes = [(place.page_no, place.bbox.t) for place in saws.meta.provenance]
    assert boxes[:4] == [(1, 50), (1, 60), (2, 10), (2, 20)]
    clamp = next(chunk.meta for chunk in chunks if "Figure 1" in chunk.text)
    assert clamp.headings == ["The workshop", "Glue"]
    assert {"#/texts/11", "#/pictures/0"} <= {item.self_ref for item in clamp.doc_items}


def test_the_header_of_a_table_is_repeated_as_a_template_says() -> None:
    document = workshop()
    usual = CutlineChunker(chunk_size=48)
    bare = CutlineChunker(chunk_size=48, template=Template("{text}"))
    header = "| Name | Teeth |\n| - | - |\n"
    for chunker, repeats in ((usual, True), (bare, False)):
        rows = [chunk for chunk in chunks_of(document, chunker) if chunk.text.startswith("| saw")]
        assert len(rows) > 2
        for chunk in rows:
            assert (header + chunk.text in chunker.contextualize(chunk)) == repeats
            assert {item.self_ref for item in chunk.meta.doc_items} >= {"#/tables/0"}
    (first, *_) = chunks_of(document, usual)
    assert usual.contextualize(first) == f"The workshop\n{first.text}"


def made_at_random(seed: int) -> DoclingDocument:
    """A document of which each item has words that no other has."""
    numbers = random.Random(seed)
    document, lists = DoclingDocument(name="random"), []

    def words(ref: int) -> str:
        return " ".join(f"w{ref}x{place}" for place in range(numbers.randint(1, 30)))

    for page in range(60):
        ref = len(document.texts)
        match numbers.randint(0, 7):
            case 0:
                document.add_heading(words(ref), level=numbers.randint(1, 9), prov=on_page(page))
            case 1 | 2:
                lists = [*lists[: numbers.randint(0, 3)]]
                lists.append(document.add_list_group(parent=lists[-1] if lists else None))
                for _ in range(numbers.randint(1, 5)):
                    ref = len(document.texts)
                    document.add_list_item(words(ref), parent=lists[-1], prov=on_page(page))
            case 3:
                caption = document.add_text(DocItemLabel.CAPTION, words(ref), prov=on_page(page))
                document.add_table(table_of(8, f"t{len(document.tables)}x"), caption=caption)
            case 4:
                document.add_code(words(ref).replace(" ", "\n\n"), prov=on_page(page))
            case 5:
                group = document.add_inline_group()
                for _ in range(3):
                    ref = len(document.texts)
                    document.add_text(
                        DocItemLabel.TEXT, words(ref), parent=group, prov=on_page(page),
                        formatting=numbers.choice([None, Formatting(bold=True)]),
                    )  # fmt: skip
            case _:
                document.add_text(DocItemLabel.TEXT, words(ref), prov=on_page(page))
    return document


@pytest.mark.parametrize("seed", range(6))
def test_the_items_of_a_chunk_are_those_whose_words_it_has(seed: int) -> None:
    document = made_at_random(seed)
    for size, overlap in ((40, 0), (60, 20)):
        chunker = CutlineChunker(chunk_size=size, chunk_overlap=overlap)
        for chunk in chunks_of(document, chunker):
            found = [f"#/texts/{n}" for n in re.findall(r"\bw(\d+)x", chunk.text)]
            found += [f"#/tables/{n}" for n in re.findall(r"\bt(\d+)x", chunk.text)]
            refs = [item.self_ref for item in chunk.meta.doc_items]
            assert len(set(refs)) == len(refs)
            assert set(found) <= set(refs)
            # A table's caption, and what has a mark such as a fence in the chunk, not a word.
            assert len(set(refs) - set(found)) <= 3


@pytest.mark.parametrize(
    "looks_like",
    ["# Title", "```\ncode", "<!-- a comment", "<pre>", "    indented", "Title\n===", "~~~",
     "- # a", "> # quoted", "a\n\n# b", "| a |\n| - |", "[a]: /b", "-\t# a", "1. # a"],
)  # fmt: skip
def test_what_only_looks_like_markdown_is_text(looks_like: str) -> None:
    document = DoclingDocument(name="text")
    document.add_heading("One")
    document.add_text(DocItemLabel.TEXT, looks_like)
    outer = document.add_list_group()
    item = document.add_list_item(looks_like, parent=outer)
    document.add_list_item(looks_like, parent=document.add_list_group(parent=item))
    document.add_text(DocItemLabel.TEXT, "Before it. " * 20)
    document.add_heading("Two")
    document.add_text(DocItemLabel.TEXT, "After it. " * 20)
    chunks = chunks_of(document, CutlineChunker(chunk_size=32))
    assert {tuple(chunk.meta.headings or ()) for chunk in chunks} == {("One",), ("Two",)}


@pytest.mark.parametrize(
    "text", ["\ufdd0key+0\ufdd1", "日本語のテキスト。👨‍👩‍👧‍👦", "<|endoftext|>", "a\r\nb"]
)
def test_any_text_is_kept(text: str) -> None:
    document = DoclingDocument(name=text)
    document.add_heading(text)
    document.add_text(DocItemLabel.TEXT, text * 9)
    chunker = CutlineChunker(chunk_size=24)
    assert "".join(chunk.text for chunk in chunks_of(document, chunker)) == (
        MarkdownDocSerializer(doc=document, params=chunker.markdown).serialize().text
    )


def test_documents_without_text_have_no_chunks() -> None:
    document = DoclingDocument(name="empty")
    assert list(CutlineChunker().chunk(document)) == []
    document.add_picture(prov=on_page(1))
    document.add_text(DocItemLabel.TEXT, " ")
    assert "".join(chunk.text for chunk in CutlineChunker().chunk(document)).strip() == ""
    (chunk,) = CutlineChunker(markdown=MarkdownParams()).chunk(document)
    assert "<!-- image -->" in chunk.text
    assert chunk.meta.page_numbers == [1]


def test_fields_of_a_template_are_those_of_the_document() -> None:
    document = workshop()
    document.origin = DocumentOrigin(mimetype="application/pdf", binary_hash=1, filename="a.pdf")
    template = Template("{filename} {name}: {text}", special_tokens=2)
    chunker = CutlineChunker(chunk_size=40, template=template)
    chunks = list(chunker.chunk(document))
    assert chunks[0].meta.origin == document.origin
    for chunk in chunks:
        sent = chunker.contextualize(chunk)
        assert sent == f"a.pdf workshop: {chunk.text}"
        assert count(sent) + 2 == chunk.meta.sent_tokens <= 40
    with pytest.raises(ValueError, match="which the document's metadata lacks"):
        list(CutlineChunker(template=Template("{page}{text}")).chunk(document))


def test_any_chunker_can_cut() -> None:
    document = workshop()
    chunker = CutlineChunker(cutline.TokenChunker("o200k_base", 20, 5))
    chunks = chunks_of(document, chunker)
    assert all(chunker.contextualize(chunk) == chunk.text for chunk in chunks)
    assert {item.self_ref for chunk in chunks for item in chunk.meta.doc_items} >= {"#/tables/0"}
    with pytest.raises(TypeError, match="are both given"):
        CutlineChunker(chunker.chunker, chunk_size=3)


def test_chunks_and_chunkers_can_be_written_and_read() -> None:
    document, chunker = workshop(), CutlineChunker(chunk_size=48)
    chunks = list(chunker.chunk(document))
    for chunk in chunks:
        again = CutlineChunk.model_validate_json(chunk.model_dump_json(by_alias=True))
        assert chunker.contextualize(again) == chunker.contextualize(chunk)
        assert again.meta.page_numbers == chunk.meta.page_numbers
        assert chunk.export_json_dict()["meta"]["token_count"] == chunk.meta.token_count
    for other in (
        CutlineChunker.model_validate_json(chunker.model_dump_json()),
        pickle.loads(pickle.dumps(chunker)),
    ):
        assert list(other.chunk(document)) == chunks


def test_models_are_not_shown_what_programs_need() -> None:
    (chunk, *_) = CutlineChunker().chunk(workshop())
    shown = chunk.meta.model_dump(exclude=set(chunk.meta.excluded_embed), exclude_none=True)
    assert shown == {"headings": ["The workshop"]}
    assert chunk.meta.excluded_llm == chunk.meta.excluded_embed


def test_chunks_of_other_chunkers_are_contextualized_as_by_docling() -> None:
    other, chunker = HierarchicalChunker(), CutlineChunker()
    for chunk in other.chunk(workshop()):
        assert chunker.contextualize(chunk) == other.contextualize(chunk)
    assert isinstance(chunk, DocChunk)
    assert type(chunk.meta) is DocMeta


def test_hybrid_chunker_counts_with_any_tokenizer() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, "[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    for encoding in ("o200k_base", cutline.get_encoding("gpt2"), cutline.wrap(made)):
        tokenizer = CutlineTokenizer(encoding, 300)
        hybrid = HybridChunker(tokenizer=tokenizer)
        chunks = list(hybrid.chunk(workshop()))
        assert chunks
        for chunk in chunks:
            assert tokenizer.count_tokens(hybrid.contextualize(chunk)) <= 300
        assert tokenizer.get_max_tokens() == hybrid.max_tokens == 300
        text = "One <|endoftext|>, two."
        assert tokenizer.get_tokenizer()(text) == tokenizer.count_tokens(text)
        assert tokenizer.model_dump()["max_tokens"] == 300


def test_hybrid_chunker_splits_paragraphs_by_its_counts() -> None:
    pytest.importorskip("semchunk", reason="semchunk is missing")
    document = DoclingDocument(name="long")
    document.add_text(DocItemLabel.TEXT, "Keep the teeth dry. <|endoftext|> Oil the blade. " * 40)
    tokenizer = CutlineTokenizer("o200k_base", 32)
    chunks = list(HybridChunker(tokenizer=tokenizer).chunk(document))
    assert len(chunks) > 10
    assert all(count(chunk.text) <= 32 for chunk in chunks)


def test_a_tokenizer_needs_a_limit() -> None:
    with pytest.raises(ValueError, match="is not known"):
        CutlineTokenizer("o200k_base")
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        CutlineTokenizer("o200k_base", 0)
    with pytest.raises(TypeError, match="encoding must be"):
        CutlineTokenizer(len, 5)
