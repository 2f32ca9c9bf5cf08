"""Chunkers, budgets and `verify` keep their promises with wrapped tokenizers."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.chunking import chunk_stream
from cutline.errors import BudgetError
from tests.chunking.contract import check
from tests.chunking.test_contract import CHUNKERS, OPTIONS, Make
from tests.wrapping.made import (
    ANY_KIND,
    ANY_TEXT,
    KINDS,
    STORY,
    counter,
    made,
    some_texts,
    wrapped,
)


def check_all(make: Make, kind: str, text: str, size: int, overlap: int, **options: Any) -> None:
    count = counter(kind)
    try:
        chunks = make(wrapped(kind), size, overlap, **options).chunk(text)
    except BudgetError as error:
        place = int(re.search(r"at offset (\d+) ", str(error))[1])  # type: ignore[index]
        assert count(text[place]) > size
        return
    strip = options.get("strip", False)
    check(text, chunks, count, chunk_size=size, chunk_overlap=overlap, strip=strip)


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_chunker_keeps_its_promises(kind: str, make: Make) -> None:
    place = list(CHUNKERS.values()).index(make)
    for number, text in enumerate(some_texts(kind)[place::4]):
        options = list(OPTIONS.values())[number % len(OPTIONS)]
        size = (1, 2, 4, 8, 30)[number % 5]
        check_all(make, kind, text, size, (0, size // 4, size - 1)[number % 3], **options)


@settings(max_examples=100)
@given(
    text=ANY_TEXT,
    kind=ANY_KIND,
    make=st.sampled_from(list(CHUNKERS.values())),
    options=st.sampled_from(list(OPTIONS.values())),
    size=st.integers(1, 12),
    overlap=st.integers(0, 5),
)
def test_any_text(
    text: str, kind: str, make: Make, options: dict[str, Any], size: int, overlap: int
) -> None:
    check_all(make, kind, text, size, min(overlap, size - 1), **options)


@pytest.mark.parametrize("kind", ["bert", "unigram_of_t5", "sentence_piece"])
def test_a_text_in_parts_is_cut_like_the_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_stream, "WINDOW_CHARACTERS", 1)
    text = (STORY + " " * 90 + "x" * 90) * 3
    for make in (cutline.TokenChunker, cutline.TextChunker):
        chunker = make(wrapped(kind), 8, 2)
        parts = [text[at : at + 400] for at in range(0, len(text), 400)]
        assert list(chunker.iter_chunks(parts)) == chunker.chunk(text)


def test_a_batch_is_cut_like_each_text() -> None:
    chunker = cutline.TextChunker(wrapped("bert"), 16)
    texts = [STORY[start:] for start in range(0, 200, 20)]
    assert chunker.chunk_batch(texts, num_threads=3) == [chunker.chunk(text) for text in texts]


def test_what_a_model_adds_can_be_left_room_for() -> None:
    bert = wrapped("bert_as_published")
    added = bert.num_special_tokens_to_add()
    chunks = cutline.TextChunker(bert, 20, count_text=lambda one: one.token_count + added)(STORY)
    lengths = [len(bert.tokenizer.encode(chunk.text).ids) for chunk in chunks]
    assert lengths == [chunk.token_count + 2 for chunk in chunks]
    assert max(lengths) <= 20


@pytest.mark.parametrize("kind", KINDS)
def test_verify_proves_chunks_and_finds_what_is_wrong(kind: str) -> None:
    tokenizer = wrapped(kind)
    chunks = cutline.TextChunker(tokenizer, 12).chunk(STORY)
    assert cutline.verify(STORY, chunks, encoding=tokenizer, chunk_size=12).ok
    report = cutline.verify(STORY, [STORY], encoding=tokenizer, chunk_size=12)
    assert [finding.kind for finding in report.findings] == ["over budget"]


def test_verify_counts_all_tokens_of_a_tokenizer_that_truncates_and_pads() -> None:
    chunks = cutline.TextChunker(wrapped("bert_as_published"), 12).chunk(STORY)
    fast = SimpleNamespace(backend_tokenizer=made("bert_as_published"))
    for tokenizer in (made("bert_as_published"), fast):
        assert cutline.verify(STORY, chunks, encoding=tokenizer, chunk_size=12).ok
        assert not cutline.verify(STORY, [STORY], encoding=tokenizer, chunk_size=12).ok


@pytest.mark.parametrize("keep", ["start", "end", "both"])
@pytest.mark.parametrize("kind", KINDS)
def test_truncated_texts_fit(kind: str, keep: Any) -> None:
    tokenizer, count = wrapped(kind), counter(kind)
    for boundary in ("character", "word"):
        for max_tokens in (6, 11):
            text = cutline.truncate(
                STORY, max_tokens, keep, " .. ", encoding=tokenizer, boundary=boundary
            )
            assert count(text) <= max_tokens
            assert text == tokenizer.truncate(STORY, max_tokens, keep, " .. ", boundary=boundary)
            assert max_tokens == 6 or len(text) > len(" .. ")
    assert tokenizer.truncate(STORY, 10_000) == STORY


@pytest.mark.parametrize("kind", KINDS)
def test_packed_texts_fit(kind: str) -> None:
    items = [cutline.Item(STORY, min_tokens=5), "Be brief.", cutline.Item("What?", priority=1)]
    packed = cutline.pack(items, 30, encoding=wrapped(kind), marker=" .. ")
    assert counter(kind)(packed.text) == packed.token_count <= 30
    assert packed.items[0].status == "truncated"
    assert packed.items[2].status == "whole"


def test_texts_that_grow_are_cut_back_within_their_length() -> None:
    end, start = wrapped("bert").appender("one two"), wrapped("bert").prepender("two")
    start.prepend("one ")
    assert end.count == start.count
    end.truncate(3)
    start.truncate(3)
    assert (end.text, start.text) == ("one", "two")
    for text in (end, start):
        with pytest.raises(cutline.OffsetError, match=r"from 0 to 3, the text's length, got 4"):
            text.truncate(4)
