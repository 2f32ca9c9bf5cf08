"""Exact cuts: every chunk re-encoded by tiktoken, every cut compared with its definition."""

import dataclasses
import gc
import json
import pickle
import random
import sys
import weakref
from array import array
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.counting.cutting import split_by_counting
from cutline.errors import BudgetError
from cutline.kernels.base.chunks import make_chunks
from tests.conftest import short_or_long
from tests.oracles import (
    DISTINCT,
    PACKAGED,
    Count,
    counter,
    greedy_spans,
    longest_token_bytes,
)
from tests.texts import (
    COUNTING_CASES,
    FAMILY,
    HANDSHAKE,
    NAMED_TEXTS,
    PEER_BREAKERS,
    base64_text,
    random_texts,
    run_length_text,
)
from tests.vocabularies import with_bytes

BUDGETS = (*range(1, 65), 256, 1024)
SHORT_TEXTS = [text for text in NAMED_TEXTS.values() if 0 < len(text) <= 120]
LOOK_AHEAD = 200


def assert_contract(
    count: Count, text: str, chunks: Sequence[cutline.Chunk], n: int, overlap: int = 0
) -> None:
    """Chunks are slices with true counts inside the budget, and together they are the text."""
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert chunk.text == text[chunk.start_index : chunk.end_index]
        assert (chunk.text, chunk.token_count) == (chunk.text, count(chunk.text))
        assert 0 < chunk.token_count <= n
    if not text:
        assert list(chunks) == []
        return
    assert chunks[0].start_index == 0
    assert chunks[-1].end_index == len(text)
    for left, right in pairwise(chunks):
        assert left.start_index < right.start_index <= left.end_index < right.end_index
        shared = text[right.start_index : left.end_index]
        assert (shared, count(shared) <= overlap) == (shared, True)


def spans_of(chunks: Sequence[cutline.Chunk]) -> list[tuple[int, int]]:
    """Half-open code-point spans."""
    return [(chunk.start_index, chunk.end_index) for chunk in chunks]


def assert_no_longer_cut(count: Count, text: str, chunk: cutline.Chunk, n: int) -> None:
    """No end up to a little beyond the chunk's fits the budget as well."""
    last = min(len(text), chunk.end_index + LOOK_AHEAD)
    for end in range(chunk.end_index + 1, last + 1):
        assert count(text[chunk.start_index : end]) > n, (text[chunk.start_index : end], n)


@pytest.mark.parametrize("name", PACKAGED)
def test_what_breaks_peers_is_cut_within_every_budget(name: str) -> None:
    ours, count = cutline.get_encoding(name), counter(name)
    for n in BUDGETS[3:]:
        for text in PEER_BREAKERS.values():
            chunks = ours.split(text, n)
            assert_contract(count, text, chunks, n)
            assert "".join(chunk.text for chunk in chunks) == text
            assert_contract(count, text, ours.split(text, n, n // 3), n, n // 3)


@pytest.mark.parametrize("name", DISTINCT)
def test_named_texts_are_cut_within_every_budget(name: str) -> None:
    ours, count = cutline.get_encoding(name), counter(name)
    for text in NAMED_TEXTS.values():
        for n in (4, 5, 7, 16, 63, 64, 256, 1024):
            assert_contract(count, text, ours.split(text, n), n)
            assert_contract(count, text, ours.split(text, n, n // 2), n, n // 2)


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 16, 40])
def test_cuts_are_the_greatest_that_fit(name: str, n: int) -> None:
    ours, count = cutline.get_encoding(name), counter(name)
    longest = longest_token_bytes(name)
    for text in SHORT_TEXTS:
        want = greedy_spans(count, text, n, 0, longest)
        if want is None:
            with pytest.raises(BudgetError):
                ours.split(text, n)
        else:
            assert (text, spans_of(ours.split(text, n))) == (text, want)


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize(("n", "overlap"), [(4, 1), (4, 3), (5, 1), (6, 2), (8, 4), (16, 5)])
def test_overlap_follows_its_definition(name: str, n: int, overlap: int) -> None:
    ours, count = cutline.get_encoding(name), counter(name)
    longest = longest_token_bytes(name)
    texts = [text for text in COUNTING_CASES.values() if len(text) <= 60]
    for text in [*texts, *random_texts(n * 100 + overlap, 25)]:
        text = text[:60]
        want = greedy_spans(count, text, n, overlap, longest)
        assert (text, spans_of(ours.split(text, n, overlap))) == (text, want)


@short_or_long("n_texts", 12, 150)
@pytest.mark.parametrize("name", DISTINCT)
def test_overlaps_of_long_texts_are_those_that_counting_finds(name: str, n_texts: int) -> None:
    ours, rng = cutline.get_encoding(name), random.Random(4)
    for number in range(n_texts):
        text = "".join(random_texts(number, 12)) if number % 3 else run_length_text(rng, 600)
        n = rng.choice((4, 9, 40, 90))
        # Nearly all of a chunk is shared, a half, some of it.
        for overlap in (n - 1, n // 2, rng.randrange(n)):
            want = split_by_counting(ours.intervals, text, n, overlap, None)
            assert (text, n, overlap, ours.split(text, n, overlap)) == (text, n, overlap, want)


def test_every_tail_of_a_text_is_counted() -> None:
    for name in DISTINCT:
        ours = cutline.get_encoding(name)
        for text in ("x" + text for text in (*NAMED_TEXTS.values(), *random_texts(5, 40))):
            counter_of_text = ours.intervals(text[:700])
            end = len(counter_of_text)
            want = counter_of_text.count_many([(at, end) for at in range(end - 1, 0, -1)])
            assert counter_of_text._count_tails(0, end).tolist() == want.tolist()


def test_an_overlap_that_could_add_nothing_is_given_up() -> None:
    chunks = cutline.get_encoding("r50k_base").split("a\n\n𓀀", 5, 1)
    assert_contract(counter("r50k_base"), "a\n\n𓀀", chunks, 5, 1)
    assert chunks[-1].end_index == 4


@short_or_long("every", 4, 1)
@pytest.mark.parametrize("name", DISTINCT)
def test_random_texts_are_cut_within_every_budget(name: str, every: int) -> None:
    ours, count = cutline.get_encoding(name), counter(name)
    for n in BUDGETS[3 + DISTINCT.index(name) % every :: every]:
        rng = random.Random(n)
        for text in [*random_texts(n, 12), "".join(random_texts(n + 1, 20))]:
            chunks = ours.split(text, n)
            assert_contract(count, text, chunks, n)
            assert_contract(count, text, ours.split(text, n, n - 1), n, n - 1)
            for chunk in rng.sample(chunks, min(1, len(chunks))):
                assert_no_longer_cut(count, text, chunk, n)


@pytest.mark.parametrize("name", DISTINCT)
def test_run_length_texts_are_cut_within_the_budget(name: str) -> None:
    ours, count, rng = cutline.get_encoding(name), counter(name), random.Random(2)
    for _ in range(12):
        text = run_length_text(rng, 3_000)
        n = rng.choice((4, 7, 31, 256))
        assert_contract(count, text, ours.split(text, n), n)
        assert_contract(count, text, ours.split(text, n, n // 4), n, n // 4)


@short_or_long("n_texts", 2, 60)
@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("n", [4, 40, 256, 5_000])
def test_cuts_of_a_long_text_are_those_found_one_by_one(name: str, n: int, n_texts: int) -> None:
    # Whole texts are scanned by lanes, which cuts come back for; a single cut is not.
    encoding = cutline.get_encoding(name)
    rng = random.Random(n)
    for _ in range(n_texts):
        kinds = [
            *random_texts(rng.randrange(10**6), 200),
            run_length_text(rng, 20_000),
            " \n" * rng.randint(0, 300) + "日本語の文、" * rng.randint(0, 3_000),
            base64_text(rng.randint(1, 5_000)),
        ]
        rng.shuffle(kinds)
        text = "".join(kinds)
        chunks = encoding.split(text, n)
        start = 0
        for chunk in chunks:
            end = encoding.split_at(text, n, start)
            assert (chunk.start_index, chunk.end_index) == (start, end)
            start = end
        assert start == len(text)
        assert_contract(counter(name), text, chunks, n)
        for overlap in (1, n // 2):
            overlapping = encoding.split(text, n, overlap)
            assert_contract(counter(name), text, overlapping, n, overlap)
            for chunk in overlapping:
                want = encoding.split_at(text, n, chunk.start_index)
                assert chunk.end_index == want


def test_a_cut_within_a_piece_after_which_all_pieces_are_others() -> None:
    # From the "a" on, the text is one piece of more bytes than are scanned to find that out.
    ranks = with_bytes((b"bb",))
    encoding = cutline.Encoding(
        "toy", pat_str="xa|ab+c|(?s:.)", mergeable_ranks=ranks, special_tokens={}
    )
    text = ("xa" + "b" * 701 + "c") * 3
    chunks = encoding.split(text, 705)
    assert_contract(encoding.count, text, chunks, 705)
    for n in (1, 2, 300, 703, 704, 705, 900):
        for chunk in encoding.split(text, n):
            assert chunk.end_index == encoding.split_at(text, n, chunk.start_index)


@pytest.mark.parametrize(
    ("pat_str", "text"),
    [
        ("a*b|a|(?s:.)", "a" * 200_000),
        ("[ab]+x|[ab]|(?s:.)", "ab" * 100_000),
        (r"\p{L}+|(?:\s*\n){2}|\s|[^\s\p{L}]+", " " * 100_000),
        (r"\S+", "ab" * 100_000),
    ],
)
def test_patterns_that_look_far_ahead_cost_no_more_than_windows(pat_str: str, text: str) -> None:
    # Reading to the end of the text for each piece would take minutes.
    ranks = with_bytes(())
    encoding = cutline.Encoding("toy", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={})
    chunks = encoding.split(text, 100)
    assert {len(chunk.text) for chunk in chunks} == {100}
    assert len(encoding.split(text[:2_000], 100, 99)) == 1_901


@settings(max_examples=150)
@given(st.text(max_size=40), st.integers(1, 12), st.integers(0, 11), st.sampled_from(DISTINCT))
def test_any_text_is_cut_as_defined_or_refused(text: str, n: int, overlap: int, name: str) -> None:
    ours, count = cutline.get_encoding(name), counter(name)
    overlap %= n
    want = greedy_spans(count, text, n, overlap, longest_token_bytes(name))
    if want is None:
        with pytest.raises(BudgetError):
            ours.split(text, n, overlap)
    else:
        chunks = ours.split(text, n, overlap)
        assert spans_of(chunks) == want
        assert_contract(count, text, chunks, n, overlap)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "n", "overlap"),
    [
        *((DISTINCT[n % len(DISTINCT)], n, 0) for n in BUDGETS),
        *product(DISTINCT[1:], (4, 64, 1024), (0,)),  # those of the first stand above
        *product(DISTINCT, (16,), (5,)),
        *product(DISTINCT, (256,), (32,)),
    ],
)
def test_corpora_are_cut_exactly(name: str, n: int, overlap: int, corpus: str) -> None:
    ours, count, rng = cutline.get_encoding(name), counter(name), random.Random(n)
    too_long = {character for character in set(corpus) if count(character) > n}
    text = corpus.translate(dict.fromkeys(map(ord, too_long)))
    chunks = ours.split(text, n, overlap)
    assert_contract(count, text, chunks, n, overlap)
    for chunk in rng.sample(chunks, 20):
        assert_no_longer_cut(count, text, chunk, n)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DISTINCT)
def test_slices_of_corpora_are_cut_as_defined(name: str, corpus: str) -> None:
    ours, count, rng = cutline.get_encoding(name), counter(name), random.Random(3)
    longest = longest_token_bytes(name)
    for _ in range(300):
        start = rng.randrange(len(corpus))
        text, n = corpus[start : start + 120], rng.choice((4, 5, 9, 17))
        overlap = rng.randrange(n)
        want = greedy_spans(count, text, n, overlap, longest)
        assert (text, n, overlap, spans_of(ours.split(text, n, overlap))) == (
            text,
            n,
            overlap,
            want,
        )


# Giant runs: no peer finishes all of these


UNSPACED = {
    "Japanese": "これは日本語の文章です東京都漢字カタカナ",
    "Chinese": "我们的一是不了人在有中国大发𠮷",
    "Thai": "ภาษาไทยที่ไม่มีช่องว่าง",
    "mixed": "日本語のテキストabcПриветé한국어",
}


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("letters", UNSPACED.values(), ids=UNSPACED.keys())
def test_long_pieces_of_scripts_without_blanks_are_cut_exactly(name: str, letters: str) -> None:
    ours, count, rng = cutline.get_encoding(name), counter(name), random.Random(7)
    for n in (5, 16, 40):
        for _ in range(12):
            text = "".join(rng.choices(letters, k=rng.randint(3 * n, 6 * n)))
            chunks = ours.split(text, n)
            assert_contract(count, text, chunks, n)
            assert_no_longer_cut(count, text, chunks[0], n)


GIANT_RUNS = {
    "a": "a" * 200_000,
    "base64": base64_text(200_000),
    "blanks": " " * 200_000,
    "newline and blanks": "\n" + " " * 200_000,
    "blanks and letter": " " * 100_000 + "x" + " " * 100_000 + "y",
    "newlines": "\n" * 200_000,
    "digits": "1" * 200_000,
    "contractions": "'s" * 100_000,
    "families": FAMILY * 20_000,
    "handshakes": HANDSHAKE * 15_000,
    "han and capitals": "日" + "A" * 200_000 + "b",
    "equals": "=" * 200_000,
    "wide blanks": " \u3000" * 100_000,
    "marks": "\u0301" * 200_000,
    "rare ideographs": "𠮷" * 50_000,
}


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize("text", GIANT_RUNS.values(), ids=GIANT_RUNS.keys())
def test_giant_runs_are_cut_exactly(name: str, text: str) -> None:
    for overlap in (0, 16):
        chunks = cutline.get_encoding(name).split(text, 64, overlap)
        assert_contract(counter(name), text, chunks, 64, overlap)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "r50k_base"])
@pytest.mark.parametrize("text", GIANT_RUNS.values(), ids=GIANT_RUNS.keys())
def test_a_giant_run_is_one_chunk_when_the_budget_allows(name: str, text: str) -> None:
    ours = cutline.get_encoding(name)
    n_tokens = ours.count(text)
    assert spans_of(ours.split(text, n_tokens)) == [(0, len(text))]
    assert len(ours.split(text, n_tokens - 1)) == 2
    assert ours.split_at(text, n_tokens) == len(text)


# Arguments and results


def test_a_long_piece_that_ends_with_the_first_window_is_counted() -> None:
    # split_at looks at 8 n + 64 bytes first: here the first piece ends just there.
    ranks = {bytes([byte]): byte for byte in range(256)}
    for length in (2, 4, 8, 16, 32, 64, 72):
        ranks[b"a" * length] = len(ranks)
    enc = cutline.Encoding("t", pat_str="a{72}|.", mergeable_ranks=ranks, special_tokens={})
    assert enc.split_at("a" * 144 + "b" * 50, 1) == 72


def test_blanks_alone_are_a_chunk() -> None:
    ours = cutline.get_encoding("o200k_base")
    assert [chunk.text for chunk in ours.split("   ", 10)] == ["   "]


def test_chunks_are_frozen_small_and_equal_by_value() -> None:
    ours = cutline.get_encoding("o200k_base")
    chunk = ours.split("hello world", 1)[0]
    assert chunk == cutline.Chunk("hello", 0, 5, 1, 0, (), {"boundary": "character"})
    with pytest.raises(dataclasses.FrozenInstanceError):
        chunk.text = "other"  # type: ignore[misc]
    assert not hasattr(chunk, "__dict__")
    assert pickle.loads(pickle.dumps(chunk)) == chunk
    assert hash(chunk) == hash(dataclasses.replace(chunk))


def test_chunks_come_back_from_json() -> None:
    chunk = cutline.Chunk("a", 0, 1, 1, 0, ("Fish", "Red"), {"boundary": "end"})
    row = json.loads(json.dumps(dataclasses.asdict(chunk)))
    assert cutline.Chunk(**row) == chunk


def test_metadata_of_a_chunk_are_one_dict_that_may_hold_the_chunk() -> None:
    class Held:
        pass

    chunk = cutline.get_encoding("o200k_base").split("hello world", 1)[0]
    assert not gc.is_tracked(chunk), "nothing that it holds could hold it"
    held = Held()
    vanished = weakref.ref(held)
    metadata: dict[str, Any] = chunk.metadata  # type: ignore[assignment]
    metadata["circle"] = (chunk, held)
    assert chunk.metadata is metadata
    del chunk, held, metadata
    gc.collect()
    assert vanished() is None


@pytest.mark.parametrize("other", [object, dict])
def test_chunks_are_made_of_a_type_of_chunks_only(other: Any) -> None:
    with pytest.raises(TypeError, match="no type of chunks"):
        make_chunks(other, "a", array("q", (0, 1, 1, 0)), ("end",), 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "ab",
        "aé",
        "aé日",
        "日본ÿ\ud800",
        "aé日😀",
        "é본\uffffÿ" * 3 + "😀",
        "😀𝕏\U0010ffffé\U000fffff",
    ],
)
def test_texts_of_chunks_are_slices_whatever_characters_are_around(text: str) -> None:
    padded = f"abc{text}abcdefghi{'x' * 70}{text * 9}"
    spans = [(at, end) for at in range(len(padded)) for end in range(at + 1, len(padded) + 1)]
    rows = array("q", (number for at, end in spans for number in (at, end, 1, 0)))
    chunks = make_chunks(cutline.Chunk, padded, rows, ("end",), 0, 0)
    for chunk, (at, end) in zip(chunks, spans, strict=True):
        assert chunk.text == padded[at:end], "also if it has characters of fewer bytes alone"
        assert sys.getsizeof(chunk.text) == sys.getsizeof(padded[at:end])


@pytest.mark.parametrize(
    "wrong",
    [
        (None, 0, 1, 1, 0),
        (b"a", 0, 1, 1, 0),
        ("a", 0.0, 1, 1, 0),
        ("a", 0, None, 1, 0),
        ("a", 0, 1, 1, 0, "Fish"),
    ],
)
def test_fields_of_a_chunk_have_their_types(wrong: Any) -> None:
    with pytest.raises(TypeError):
        cutline.Chunk(*wrong)


@pytest.mark.parametrize(
    ("n", "text", "character", "position"),
    [
        (2, "ab 你𠮷", "𠮷", 4),
        (2, "𓀀", "𓀀", 0),
        (3, "word 𓀀 word", "𓀀", 5),
        (1, "x\u0378", "\u0378", 1),
    ],
)
def test_a_character_beyond_the_budget_is_named(
    n: int, text: str, character: str, position: int
) -> None:
    ours = cutline.get_encoding("r50k_base")
    assert counter("r50k_base")(character) > n
    with pytest.raises(BudgetError) as caught:
        ours.split(text, n)
    message = str(caught.value)
    assert repr(character) in message or f"U+{ord(character):04X}" in message
    assert str(position) in message
    assert str(n) in message


@pytest.mark.parametrize("size", ["10", 2.5, None])
def test_a_size_that_is_no_integer_is_named(size: Any) -> None:
    for named, sizes in (("chunk_size", (size, 0)), ("chunk_overlap", (8, size))):
        with pytest.raises(TypeError, match=f"{named} must be an integer, got {size!r}"):
            cutline.get_encoding("gpt2").split("text", *sizes)
        with pytest.raises(TypeError, match=f"{named} must be an integer, got {size!r}"):
            cutline.TextChunker("gpt2", *sizes)
