"""Line numbers of chunks are those of their first and last characters in the text."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.chunking import chunk_stream

TEXT = (
    "# One\n\nA saw cuts wood.\r\n\r\nOil the blade. Keep it\rdry.\n\n\n| a | b |\n|---|---|\n"
    "| 名前 | 👍🏽 |\n" + "word " * 40 + "\n\r\n\n\r\r\rlast line\x0b\x85\u2028 of all"
)
CHUNKERS: dict[str, Any] = {
    "token": cutline.TokenChunker,
    "text": cutline.TextChunker,
    "markdown": cutline.MarkdownChunker,
    "code": lambda *given, **options: cutline.CodeChunker("python", *given, **options),
    "data": lambda *given, **options: cutline.DataChunker("csv", *given, **options),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "overlap": {"chunk_overlap": 3},
    "strip": {"strip": True},
    "balance": {"balance": True},
    "stable": {"stable": True},
    "characters": {"boundary": "character"},
    "template": {"template": cutline.Template("a {text}")},
}


def line_of(text: str, offset: int) -> int:
    """The line of a character: one more than line ends end before it."""
    ends = [found.end() for found in re.finditer("\r\n|\r|\n", text)]
    return sum(end <= offset for end in ends) + 1


def check(text: str, chunks: list[cutline.Chunk]) -> None:
    for chunk in chunks:
        wanted = line_of(text, chunk.start_index), line_of(text, chunk.end_index - 1)
        found = chunk.metadata["start_line"], chunk.metadata["end_line"]
        assert (chunk.start_index, chunk.end_index, *found) == (
            *(chunk.start_index, chunk.end_index), *wanted
        )  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", CHUNKERS)
def test_lines_are_those_of_the_text_and_nothing_else_changes(
    kind: str, options: dict[str, Any]
) -> None:
    make, size = CHUNKERS[kind], 7
    chunks = make("o200k_base", size, line_numbers=True, **options)(TEXT)
    check(TEXT, chunks)
    assert [
        chunk.__replace__(
            metadata={k: v for k, v in chunk.metadata.items() if not k.endswith("_line")}
        )
        for chunk in chunks
    ] == make("o200k_base", size, **options)(TEXT)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", CHUNKERS)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_streams_have_the_same_lines(
    monkeypatch: pytest.MonkeyPatch, kind: str, options: dict[str, Any], length: int
) -> None:
    monkeypatch.setattr(chunk_stream, "WINDOW_CHARACTERS", 1)
    chunker = CHUNKERS[kind]("gpt2", 5, line_numbers=True, **options)
    text = TEXT * 6
    parts = (text[start : start + length] for start in range(0, len(text), length))
    assert list(chunker.iter_chunks(parts)) == chunker(text)


def test_random_texts() -> None:
    rng = random.Random(8)
    chunkers = [
        cutline.TextChunker("gpt2", 4, chunk_overlap=2, boundary="character", line_numbers=True),
        cutline.TokenChunker("gpt2", 4, strip=True, line_numbers=True),
    ]
    for _ in range(150):
        text = "".join(rng.choices(["\r", "\n", "\r\n", "a", "b c", " ", "é", "."], k=40))
        for chunker in chunkers:
            check(text, chunker(text))
            parts = re.findall("(?s).{1,3}", text)
            assert list(chunker.iter_chunks(parts)) == chunker(text)


def test_a_file_a_batch_and_a_hierarchy(tmp_path: Path) -> None:
    chunker = cutline.MarkdownChunker("gpt2", 12, line_numbers=True)
    path = tmp_path / "a.md"
    path.write_bytes(TEXT.encode())
    assert list(chunker.iter_chunks(path)) == chunker(TEXT) == chunker.chunk_batch([TEXT])[0]
    for level in cutline.HierarchicalChunker(chunker, (24, 8))(TEXT):
        check(TEXT, [node.chunk for node in level])
    assert chunker("") == []


def test_no_chunk_has_lines_unless_asked() -> None:
    for make in CHUNKERS.values():
        assert all("start_line" not in chunk.metadata for chunk in make("gpt2", 9)(TEXT))
