"""A text in parts is cut like the whole."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.chunking import TextChunker, TokenChunker, chunk_stream
from cutline.errors import SurrogateError
from tests.chunking.test_contract import CHUNKERS, OPTIONS, Make
from tests.conftest import short_or_long
from tests.texts import NAMED_TEXTS, random_texts


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_stream, "WINDOW_CHARACTERS", 1)


def in_parts(text: str, rng: random.Random) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + rng.choice([0, 1, 3, 50, 4000])
        yield text[start:end]
        start = end


def long_text(seed: int, n_characters: int) -> str:
    """Longer than some windows of small chunks are."""
    parts = [*random_texts(seed, 150), *(text[:400] for text in NAMED_TEXTS.values())]
    random.Random(seed).shuffle(parts)
    return "".join(parts)[:n_characters]


@short_or_long("n_characters", 6_000, 20_000)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_chunks_of_parts_are_those_of_the_whole(
    make: Make, options: dict[str, Any], n_characters: int
) -> None:
    rng = random.Random(5)
    for seed, (size, overlap) in enumerate([(4, 0), (8, 3), (20, 0), (20, 6)]):
        text = long_text(seed, n_characters)
        assert len(text) > 4 * (128 * size + 256) or size == 20
        chunker = make("o200k_base", size, overlap, **options)
        assert list(chunker.iter_chunks(in_parts(text, rng))) == chunker.chunk(text)


@pytest.mark.parametrize("text", ["", " ", "\n" * 5000, "a" * 20_000, " " * 20_000])
@pytest.mark.parametrize("options", [{}, {"strip": True}, {"balance": True}], ids=str)
def test_runs(text: str, options: dict[str, Any]) -> None:
    chunker = TextChunker("o200k_base", 4, **options)
    parts = (text[start : start + 100] for start in range(0, len(text), 100))
    assert list(chunker.iter_chunks(parts)) == chunker.chunk(text)


@settings(max_examples=100)
@given(st.lists(st.text("ab. \n。日🇩", max_size=600), max_size=8), st.integers(0, 3))
def test_any_parts(parts: list[str], overlap: int) -> None:
    for make in CHUNKERS.values():
        chunker = make("r50k_base", 4, overlap, balance=True)
        assert list(chunker.iter_chunks(parts)) == chunker.chunk("".join(parts))


def test_chunks_come_as_soon_as_they_are_decided() -> None:
    taken = 0

    def parts() -> Iterator[str]:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield "some words and more. " * 10

    chunks = TextChunker("o200k_base", 8).iter_chunks(parts())
    next(chunks)
    assert taken < 50
    assert sum(1 for _ in chunks) > 1000


def test_a_file_is_cut_like_its_text(tmp_path: Path) -> None:
    text = "line\r\nnext\rlast\n" * 2000
    (tmp_path / "a.txt").write_bytes(text.encode())
    chunker = TextChunker("o200k_base", 8)
    assert list(chunker.iter_chunks(tmp_path / "a.txt")) == chunker.chunk(text)
    (tmp_path / "b.txt").write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        list(chunker.iter_chunks(tmp_path / "b.txt"))


def test_what_is_no_stream_is_refused() -> None:
    chunker = TokenChunker("o200k_base", 8)
    with pytest.raises(TypeError, match="source must be parts of a text or a Path, got one str"):
        chunker.iter_chunks("text")
    with pytest.raises(TypeError, match="parts of a text must be str, part 2 is bytes"):
        list(chunker.iter_chunks(["a", b"b"]))  # type: ignore[list-item]
    with pytest.raises(SurrogateError):
        list(chunker.iter_chunks(["a", "\ud800"]))


def test_patterns_may_look_at_the_whole_chunk() -> None:
    text = "Chapter 1. " + "word " * 3000 + "Chapter 2. " + "word " * 3000
    chunker = TextChunker("o200k_base", 50, levels=[re.compile(r"(?=Chapter)")])
    parts = (text[start : start + 77] for start in range(0, len(text), 77))
    assert list(chunker.iter_chunks(parts)) == chunker.chunk(text)


def test_errors_in_streams_name_the_place_in_the_whole_text() -> None:
    from cutline.errors import BudgetError

    with pytest.raises(BudgetError, match="at offset 13000 has"):
        list(
            TokenChunker("o200k_base", 2, boundary="grapheme").iter_chunks(
                ["word " * 2600, "\U0001f9ff"]
            )
        )
    with pytest.raises(SurrogateError, match="at offset 30001;"):
        list(TextChunker("o200k_base", 4).iter_chunks([*["word " * 3000] * 2, "x\ud800"]))


@pytest.mark.parametrize("overlap", [0, 3])
def test_white_space_that_is_stripped_is_scanned_a_few_times(
    monkeypatch: pytest.MonkeyPatch, overlap: int
) -> None:
    scanned = 0
    make = chunk_stream.window_finder

    def noted(text: str, *arguments: Any) -> Any:
        nonlocal scanned
        scanned += len(text)
        return make(text, *arguments)

    monkeypatch.setattr(chunk_stream, "window_finder", noted)
    parts = ["word ", *[" " * 1000] * 200, "word"]
    chunker = TextChunker("o200k_base", 4, overlap, strip=True, balance=True)
    assert [chunk.text for chunk in chunker.iter_chunks(parts)] == ["word", "word"]
    assert scanned < 8 * 200_000
