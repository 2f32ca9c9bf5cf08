"""Chunks of any maker are read, located and counted; what is wrong with one is said of it."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline import Chunk, SurrogateError
from cutline.view import html_page, terminal_view
from cutline.view.foreign_chunks import chunks_of
from tests.chunking.contract import json_row
from tests.view.samples import NASTY, TEXTS, encoding, overlapping, stripped

Chunks = list[Chunk]
STORY = "Salmon swim up rivers to spawn. They leap over waterfalls.\n\nEels do the opposite. " * 4


@dataclass
class Document:
    """As LangChain makes them."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


class Row(NamedTuple):
    """As pandas gives them."""

    text: str
    start_index: np.int64
    end_index: np.int64


SHAPES: dict[str, Callable[[Chunk], Any]] = {
    "chunk": lambda c: c,
    "str": lambda c: c.text,
    "offset and str": lambda c: (c.start_index, c.text),
    "list of offset and str": lambda c: [c.start_index, c.text],
    "offsets": lambda c: (c.start_index, c.end_index),
    "offsets of NumPy": lambda c: np.array([c.start_index, c.end_index]).tolist(),
    "row of JSON": lambda c: json_row(c, "a.txt"),
    "row of Parquet": lambda c: {**json_row(c, "a.txt"), "metadata": json.dumps(dict(c.metadata))},
    "row of a frame": lambda c: Row(c.text, np.int64(c.start_index), np.int64(c.end_index)),
    "small dict": lambda c: {"text": c.text, "start": c.start_index, "end": c.end_index},
    "LangChain": lambda c: Document(c.text, {"start_index": c.start_index, "source": "a"}),
    "LangChain without start": lambda c: Document(c.text),
    "LangChain, not found": lambda c: Document(c.text, {"start_index": -1}),
    "chonkie": lambda c: SimpleNamespace(
        text=c.text, start_index=c.start_index, end_index=c.end_index, token_count=99, id="a"
    ),
    "LlamaIndex": lambda c: SimpleNamespace(
        text=c.text, start_char_idx=c.start_index, end_char_idx=c.end_index, metadata={}
    ),
    "LlamaIndex without offsets": lambda c: SimpleNamespace(
        text=c.text, start_char_idx=None, end_char_idx=None, metadata={}
    ),
    "Haystack": lambda c: SimpleNamespace(
        content=c.text, meta={"split_idx_start": c.start_index, "_split_overlap": []}
    ),
}
EVERY_SHAPE = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def spans(chunks: Iterable[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.start_index, chunk.end_index) for chunk in chunks]


def read(text: str, chunks: Iterable[Any]) -> Chunks:
    return chunks_of(text, chunks, encoding())


@EVERY_SHAPE
def test_chunks_of_every_shape_are_read(shape: Callable[[Chunk], Any]) -> None:
    for text, cut in product((STORY, NASTY, "", "hello"), (overlapping, stripped)):
        chunks = cut(text)
        found = read(text, map(shape, chunks))
        assert [chunk.text for chunk in found] == [chunk.text for chunk in chunks]
        assert [chunk.token_count for chunk in found] == [chunk.token_count for chunk in chunks]
        assert all(text[chunk.start_index : chunk.end_index] == chunk.text for chunk in found)
        if text is not STORY:  # which repeats, so that without offsets there are several places
            assert spans(found) == spans(chunks)


@EVERY_SHAPE
def test_page_and_terminal_show_chunks_of_every_shape(shape: Callable[[Chunk], Any]) -> None:
    given_chunks = list(map(shape, stripped(NASTY)))
    assert html_page(NASTY, given_chunks, "o200k_base").startswith("<!doctype html>")
    shown = "".join(terminal_view(NASTY, given_chunks, "o200k_base", has_colors=False))
    assert f"\n#{len(given_chunks) - 1}  " in shown


@pytest.mark.parametrize("shape", ["chunk", "row of JSON", "row of Parquet"])
def test_page_of_rows_is_that_of_their_chunks(shape: str) -> None:
    for text in TEXTS.values():
        chunks = overlapping(text)
        rows = list(map(SHAPES[shape], chunks))
        assert read(text, rows) == chunks
        assert html_page(text, rows, "o200k_base") == html_page(text, chunks, "o200k_base")


def test_tokens_are_counted_whatever_chunks_say_of_them() -> None:
    (found,) = read("one two", [{"text": "one two", "token_count": 99}])
    assert found.token_count == 2


def test_what_else_chunks_know_is_kept() -> None:
    boundary = {"text": "one", "boundary": "word", "metadata": '{"file": "a"}', "headings": ["A"]}
    odd = {"text": "two", "boundary": None, "metadata": "no JSON", "headings": None}
    found = read("one two", [boundary, odd])
    assert [chunk.metadata for chunk in found] == [{"boundary": "word", "file": "a"}, {}]
    assert [chunk.headings for chunk in found] == [("A",), ()]


def test_metadata_may_be_anything() -> None:
    ring: list[Any] = []
    ring.append(ring)
    metadata = {"text": "one", "metadata": {"keys": {(1, 2): 3}, "ring": ring, 5: {b"a"}}}
    rows = [metadata, {"text": " two", "metadata": "[" * 100_000}]
    assert "one two" in html_page("one two", rows, "o200k_base")
    assert "one" in "".join(terminal_view("one two", rows, "o200k_base"))


# Where chunks without offsets lie


@pytest.mark.parametrize("name", TEXTS)
def test_chunks_without_overlap_lie_one_behind_the_other(name: str) -> None:
    chunks = encoding().split(TEXTS[name] * 3, 8)
    assert spans(read(TEXTS[name] * 3, [chunk.text for chunk in chunks])) == spans(chunks)


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize("run", ["a", "ab", "one line\n", "| a | b |\n"])
def test_equal_chunks_of_a_run_are_not_put_at_one_place(run: str, size: int) -> None:
    part = run * size
    found = read(part * 9, [part] * 9)
    assert spans(found) == [(len(part) * k, len(part) * (k + 1)) for k in range(9)]


def test_stripped_chunks_of_repeated_text_lie_behind_the_white_space() -> None:
    found = read("same\n\n  same\n\nsame\n", ["same"] * 3)
    assert spans(found) == [(0, 4), (8, 12), (14, 18)]


@pytest.mark.parametrize("overlap", [1, 3, 9])
@pytest.mark.parametrize("run", ["a", "ab", "one, "])
def test_chunks_of_a_run_that_overlap_fill_it(run: str, overlap: int) -> None:
    text = run * 100
    starts = range(0, len(text) - overlap, 10 * len(run) - overlap)
    found = read(text, [text[start : start + 10 * len(run)] for start in starts])
    assert all(text[c.start_index : c.end_index] == c.text for c in found)
    assert found[-1].end_index == len(text)
    assert [*spans(found)] == sorted(spans(found))


def test_chunks_that_overlap_lie_where_they_go_on() -> None:
    text = "one two three two three four"
    assert spans(read(text, ["one two three", "two three two", "two three four"])) == [
        (0, 13), (4, 17), (14, 28),
    ]  # fmt: skip


def test_text_that_no_chunk_holds_is_passed_over() -> None:
    text = "# Title\n\none. " + "left out " * 2_000 + "two."
    assert spans(read(text, ["one.", "two."])) == [(9, 13), (len(text) - 4, len(text))]


def test_chunks_within_others_are_found() -> None:
    assert spans(read("one two three", ["one two", "two", "three"])) == [(0, 7), (4, 7), (8, 13)]
    assert spans(read("one two", ["one two", "one two"])) == [(0, 7), (0, 7)]
    assert spans(read("one two", ["", "one", "", "two", ""])) == [
        (0, 0), (0, 3), (3, 3), (4, 7), (7, 7),
    ]  # fmt: skip


def test_offsets_are_believed_where_text_repeats() -> None:
    text = "same " * 6
    found = read(text, [(0, "same"), (0, "same"), (20, "same")])
    assert [chunk.start_index for chunk in found] == [0, 0, 20]
    mixed = read(text, [(0, "same"), Document("same"), (10, "same"), "same"])
    assert [chunk.start_index for chunk in mixed] == [0, 5, 10, 15]


def test_offsets_that_others_found_by_searching_are_refused_with_a_way_out() -> None:
    """As LlamaIndex gives them: of text that repeats, the place of its first occurrence."""
    text = "One. Same. Two. Same. Three."
    parts = ["One.", "Same.", "Two.", "Same.", "Three."]
    with pytest.raises(ValueError, match=r"chunk 3 begins at 5, .* give their texts alone"):
        read(text, [(text.find(part), part) for part in parts])
    assert [chunk.start_index for chunk in read(text, parts)] == [0, 5, 11, 16, 22]


def test_many_chunks_within_one_are_found() -> None:
    lines = [f"line {number}\n" for number in range(100)]
    found = read("".join(lines), ["".join(lines), *lines])
    assert [chunk.text for chunk in found[1:]] == lines
    assert found[-1].end_index == len("".join(lines))


@settings(max_examples=150)
@given(
    st.text("ab \n", max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), max_size=6).map(sorted),
)
def test_any_slices_in_order_are_found_or_refused(text: str, cuts: list[list[int]]) -> None:
    slices = [text[start:end] for start, end in cuts]
    try:
        found = read(text, slices)
    except ValueError as error:
        assert "sort the chunks" in str(error)  # noqa: PT017 (most are found)
    else:
        assert [text[start:end] for start, end in spans(found)] == slices


# What is refused


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([Chunk("x", 0, 1, 1, 0)], r"chunk 0 is not the slice \[0:1\] .* has 'a', the chunk 'x'"),
        ([Chunk("ab", 0, 2, 1, 0), Chunk("c", -1, 3, 1, 1)], r"chunk 1 is not the slice \[-1:3\]"),
        (
            [(1, "bx")],
            r"chunk 0 is not the slice \[1:3\] .*: 1 characters on, .* 'c', the chunk 'x'",
        ),
        ([(0, "abcd")], r"\[0:4\] .*: 3 characters on, the text there has '', the chunk 'd'"),
        ([(2, 4)], r"\[2:4\]"),
        ([(2, 1)], r"\[2:1\]"),
        ([(-2, 1)], r"\[-2:1\]"),
        ([{"text": "ab", "start": 0, "end": 3}], r"\[0:3\]"),
        ([Document("b", {"start_index": 0})], r"\[0:1\]"),
        (["a", "x"], "chunk 1 is nowhere in the text: 'x'"),
        (["a", "b\ufffd"], "chunk 1 is nowhere in the text"),
        ([Chunk("bc", 1, 3, 1, 0), Chunk("ab", 0, 2, 1, 1)], "chunk 1 begins at 0, before .* sort"),
        (["bc", "ab"], "chunk 1 begins at 0, before .* sort the chunks"),
    ],
)
def test_what_is_no_slice_is_refused(chunks: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read("abc", chunks)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ("abc", "chunks must be a list of chunks, got one str"),
        ({"text": "abc"}, "chunks must be a list of chunks, got one dict"),
        (None, "chunks must be a list of chunks, got NoneType"),
        (["a", 3], "chunk 1, of type int, has no text: it must be a str, a pair"),
        ([("a", "b")], "chunk 0, of type tuple, has no text"),
        ([None], "chunk 0, of type NoneType, has no text"),
        ((["a", "b", "c"], [(0, 1), (1, 2), (2, 3)]), "chunk 0, of type list, has no text"),
    ],
)
def test_what_is_no_chunk_is_refused(chunks: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        read("abc", chunks)


def test_text_with_surrogates_is_refused() -> None:
    with pytest.raises(SurrogateError):
        read("a\ud800", [])
    with pytest.raises(TypeError, match="text must be a str"):
        read(b"", [])  # type: ignore[arg-type]


def test_surrogates_in_metadata_can_be_written() -> None:
    chunk = replace(read("a", ["a"])[0], metadata={"file": "\udcff", "boundary": "\ud800"})
    html_page("a", [chunk], "o200k_base").encode()
    "".join(terminal_view("a", [chunk], "o200k_base")).encode()
