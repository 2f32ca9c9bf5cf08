"""Rows and records that fit a chunk are in one chunk, whatever is before them."""

import random
from collections.abc import Callable

import pytest

import cutline
from tests.oracles import real_tiktoken

count = real_tiktoken("o200k_base").encode_ordinary


def markdown(size: int, overlap: int) -> cutline.Chunker:
    return cutline.MarkdownChunker("o200k_base", size, overlap)


def data(name: str) -> Callable[[int, int], cutline.Chunker]:
    return lambda size, overlap: cutline.DataChunker(name, "o200k_base", size, overlap)


FORMATS: dict[str, tuple[Callable[[int, int], cutline.Chunker], str, str]] = {
    "Markdown": (markdown, "# Glue\n\n| a | b |\n|---|---|\n", "| {} | {}|\n"),
    "CSV": (data("csv"), "id,note\n", "{},{}\n"),
    "CSV, quoted": (data("csv"), "id,note\n", '{},"{}\nx"\n'),
    "TSV": (data("tsv"), "id\tnote\n", "{}\t{}\n"),
    "JSON Lines": (data("jsonl"), "", '{{"id": {}, "note": ["{}", {{"b": 1}}]}}\n'),
    "JSON": (data("json"), "[\n", '{{"id": {}, "note": "{}"}},\n'),
}


@pytest.mark.parametrize("size", [48, 256])
@pytest.mark.parametrize("overlap", [0, 15])
@pytest.mark.parametrize("name", FORMATS)
def test_rows_that_fit_are_not_torn(name: str, overlap: int, size: int) -> None:
    make, head, line = FORMATS[name]
    rng = random.Random(size)
    rows = [line.format(at, "glue " * rng.randint(1, size)) for at in range(150)]
    text = head + "".join(rows)
    ends = {chunk.end_index for chunk in make(size, overlap)(text)}
    start, n_fitting = len(head), 0
    for at, row in enumerate(rows):
        whole = head + row if at == 0 else row
        if len(count(whole)) <= size:
            n_fitting += 1
            assert not ends & {*range(start + 1, start + len(row))}, (at, row)
        start += len(row)
    assert n_fitting > 20
