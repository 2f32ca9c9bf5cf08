"""Late chunking: the tokens of a chunk are those that share a character with it."""

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline import Chunk, token_spans
from cutline.wrapping import WrappedTokenizer
from tests.texts import NAMED_TEXTS
from tests.wrapping.made import ANY_KIND, ANY_TEXT, KINDS, made, some_texts, wrapped

Tokenizer = cutline.Encoding | WrappedTokenizer


def check(text: str, spans: list[tuple[int, int]], encoding: Tokenizer) -> None:
    """Compare with a look at every token for every chunk."""
    found = token_spans(text, spans, encoding)
    assert found.shape == (len(spans), 2)
    assert found.dtype == "int64"
    if isinstance(encoding, cutline.Encoding):
        tokens = encoding._untrimmed_offsets(text)[1].tolist()
    else:
        tokens = encoding.offsets_of(text) or []
    assert len(tokens) == len(encoding.encode_ordinary(text))
    for (start, end), (first, last) in zip(spans, found.tolist(), strict=True):
        assert 0 <= first <= last <= len(tokens)
        touching = [n for n, (a, b) in enumerate(tokens) if a < end and start < b]
        assert set(touching) <= set(range(first, last))
        if start == end:
            assert first == last
        elif touching:
            inner = range(first, last)
            ends = [n for n in (first, last - 1) if n not in touching]
            # At the ends there are only tokens that stand for no character beside them.
            assert all(tokens[n][0] >= tokens[n][1] for n in ends), (inner, touching)


def parts(text: str, size: int) -> list[tuple[int, int]]:
    return [(at, min(len(text), at + size)) for at in range(0, len(text), size)]


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_of_wrapped_and_of_loaded_tokenizers(kind: str) -> None:
    kinds: list[Tokenizer] = [wrapped(kind)]
    try:
        kinds.append(cutline.Encoding.from_tokenizers(made(kind)))
    except ValueError:
        assert kind not in {"bert", "sentence_piece", "unigram_of_t5"}
    for encoding in kinds:
        for text in some_texts(kind):
            for size in (1, 3, 20):
                check(text, parts(text, size), encoding)


@given(ANY_KIND, ANY_TEXT, st.integers(1, 9))
@settings(max_examples=100)
def test_tokens_of_any_text(kind: str, text: str, size: int) -> None:
    check(text, [*parts(text, size), (0, len(text)), (0, 0)], wrapped(kind))


@pytest.mark.parametrize("name", cutline.list_encoding_names())
def test_spans_of_chunks_leave_out_no_token(name: str) -> None:
    encoding = cutline.get_encoding(name)
    for text in NAMED_TEXTS.values():
        text = text[:2000]
        chunks = cutline.TextChunker(encoding, 12)(text)
        check(text, [(one.start_index, one.end_index) for one in chunks], encoding)
        found = token_spans(text, chunks, name).tolist()
        n_tokens = encoding.count(text)
        assert {n for first, last in found for n in range(first, last)} == set(range(n_tokens))


def test_what_is_no_chunk_of_the_text_is_named() -> None:
    for wrong in (Chunk("abcd", 0, 4, 1, 0), (2, 1), (-1, 2)):
        with pytest.raises(cutline.OffsetError, match=r"chunk 1 lies at .* of 3 characters"):
            token_spans("abc", [(0, 3), wrong], "o200k_base")
    with pytest.raises(cutline.SurrogateError):
        token_spans("\ud800", [], "o200k_base")
    assert token_spans("", [], "o200k_base").tolist() == []
    assert token_spans("", [(0, 0)], "o200k_base").tolist() == [[0, 0]]


def test_chunks_of_other_libraries_have_their_spans() -> None:
    text = "One fish, two fish. Red fish, blue fish."
    chunks = cutline.TextChunker("o200k_base", 8)(text)
    expected = token_spans(text, chunks, "o200k_base").tolist()
    spans = [(chunk.start_index, chunk.end_index) for chunk in chunks]
    others: list[list[Any]] = [
        [asdict(chunk) for chunk in chunks],
        [SimpleNamespace(text=c.text, start_index=c.start_index) for c in chunks],
        [{"page_content": c.text, "metadata": {"start_index": c.start_index}} for c in chunks],
        [(chunk.start_index, chunk.text) for chunk in chunks],
        [*np.array(spans)],
        [[*span] for span in spans],
    ]
    for other in others:
        assert token_spans(text, other, "o200k_base").tolist() == expected


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        (["One"], "chunk 0, of type str, has no offset"),
        ([(0, 3), None], "chunk 1, of type NoneType, has no text"),
        ([(0.0, 3.0)], "chunk 0, of type tuple, has no text"),
        ("One", "chunks must be several, got one str: put it into a list"),
        (None, "chunks must be several, got NoneType"),
    ],
)
def test_what_has_no_place_is_named(chunks: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        token_spans("One fish", chunks, "o200k_base")
