"""What pages show around chunks: parents, and what a template sends."""

import json
import re
from typing import Any

import pytest

import cutline
from cutline.view import html_page, terminal_view
from tests.wrapping.made import KINDS, wrapped

TEXT = "# Fish\n\nOne fish, two fish.\n\n## Red\n\nA red fish swims. It eats.\n" * 3
TEMPLATE = cutline.Template("{headings}: {text}!", special_tokens=2)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', page, re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_each_parent_is_shown_where_it_begins() -> None:
    levels = cutline.HierarchicalChunker(cutline.MarkdownChunker("o200k_base"), (64, 32, 16))(TEXT)
    data = data_of(html_page(TEXT, levels, "o200k_base"))
    assert data["starts"] == [node.chunk.start_index for node in levels[2]]
    begun = [
        [
            f"#{node.chunk.index} · {node.chunk.token_count} tokens · characters "
            f"{node.chunk.start_index}–{node.chunk.end_index} · {' › '.join(node.chunk.headings)}"
            for level in levels[:2]
            for node in level
            if node.chunk.start_index == start
        ]
        for start in data["starts"]
    ]
    assert data["parents"] == begun
    shown = "".join(terminal_view(TEXT, levels, "o200k_base", has_colors=False))
    chunks = [node.chunk for node in levels[2]]
    assert shown == "".join(terminal_view(TEXT, chunks, "o200k_base", has_colors=False))


def test_an_empty_hierarchy_has_no_chunks() -> None:
    levels = cutline.HierarchicalChunker("o200k_base", (64, 32))("")
    assert data_of(html_page("", levels, "o200k_base"))["parents"] == []


@pytest.mark.parametrize("overlap", [0, 4])
def test_what_a_template_sends_is_shown_and_counted(overlap: int) -> None:
    chunks = cutline.MarkdownChunker("o200k_base", 24, overlap, template=TEMPLATE)(TEXT)
    rows = [{"text": one.text, "headings": one.headings} for one in chunks]
    for given in (chunks, rows):
        data = data_of(html_page(TEXT, given, "o200k_base", template=TEMPLATE))
        assert data["frames"] == [[*TEMPLATE.frame_of(chunk)] for chunk in chunks]
        assert data["sent"] == [chunk.metadata["sent_tokens"] for chunk in chunks]
    data = data_of(html_page(TEXT, chunks, "o200k_base"))
    assert data["frames"] == data["sent"] == data["parents"] == []
    with pytest.raises(ValueError, match="has no value"):
        html_page(TEXT, chunks, "o200k_base", template=cutline.Template("{title}{text}"))


@pytest.mark.parametrize("shape", [lambda one: one.text, lambda one: (one.start_index, one.text)])
def test_wrapped_tokenizers_show_chunks_of_others(shape: Any) -> None:
    tokenizer = wrapped(KINDS[0])
    chunks = [shape(chunk) for chunk in cutline.TextChunker(tokenizer, 16)(TEXT)]
    data = data_of(html_page(TEXT, chunks, tokenizer, template=TEMPLATE))
    assert "".join(TEXT[a:b] for a, b in zip(data["starts"], data["ends"], strict=True)) == TEXT
