"""Records are cut at the ends of lines, wrapped prose at the ends of sentences."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.document_kinds import PROSE, RECORDS, prose, wrap
from benchmarks.line_ends import share_at
from cutline.chunking import CodeChunker, MarkdownChunker, TextChunker, chunk_stream
from tests.chunking.contract import check
from tests.oracles import counter

Make = Callable[[], str]
KINDS = RECORDS | PROSE
CHUNKERS = [TextChunker, MarkdownChunker]

# Percent of the cuts, with 128 and 256 tokens. Wrapped items of lists are indented.
LEAST = {"Markdown": (85, 95)}


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("make", CHUNKERS)
def test_records_are_cut_at_the_ends_of_lines(make: type[TextChunker], kind: str) -> None:
    text = RECORDS[kind]()
    assert share_at("line", text, make("o200k_base", 512).chunk(text)) >= 0.99
    assert share_at("line", text, make("o200k_base", 256).chunk(text)) >= 0.96


@pytest.mark.parametrize("kind", PROSE)
def test_wrapped_prose_is_cut_at_the_ends_of_sentences(kind: str) -> None:
    text = PROSE[kind]()
    for size, least in zip((128, 256), LEAST.get(kind, (99, 99)), strict=True):
        chunks = TextChunker("o200k_base", size).chunk(text)
        assert share_at("sentence", text, chunks) >= least / 100


@pytest.mark.parametrize("kind", RECORDS)
def test_lines_that_are_kept_are_never_torn_where_one_fits(kind: str) -> None:
    text = RECORDS[kind]()[:20_000]
    chunks = TextChunker("o200k_base", 512, lines="keep").chunk(text)
    assert share_at("line", text, chunks) == 1


def test_lines_that_are_joined_are_no_place_to_cut() -> None:
    text = "\n".join(["one two three four five. Six seven", "eight nine ten."] * 40)
    chunks = TextChunker("o200k_base", 30, lines="join").chunk(text)
    assert {chunk.metadata["boundary"] for chunk in chunks} == {"sentence", "end"}
    assert share_at("sentence", text, chunks) == 1


def test_a_narrow_text_is_wrapped_on_request_only() -> None:
    text = wrap(prose(n_characters=8_000), 40)
    shares = [
        share_at("sentence", text, TextChunker("o200k_base", 128, lines=lines).chunk(text))  # type: ignore[arg-type]
        for lines in ("auto", "join")
    ]
    assert shares[0] < shares[1] == 1


@pytest.mark.parametrize("lines", ["all", "", None, 1])
def test_other_lines_are_refused(lines: Any) -> None:
    for make in (TextChunker, MarkdownChunker, lambda *a, **k: CodeChunker("python", *a, **k)):
        with pytest.raises(ValueError, match="lines must be 'auto', 'keep' or 'join', got "):
            make("o200k_base", 8, lines=lines)


def test_a_chunker_tells_its_lines() -> None:
    assert TextChunker("o200k_base").lines == MarkdownChunker("o200k_base").lines == "auto"
    assert CodeChunker("python", "o200k_base").lines == "keep"
    assert TextChunker("o200k_base", lines="join").lines == "join"


@pytest.mark.parametrize("kind", KINDS)
def test_documents_in_parts_are_cut_like_the_whole(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_stream, "WINDOW_CHARACTERS", 1)
    text = KINDS[kind]()[:25_000]
    for options in ({}, {"stable": True}, {"chunk_overlap": 5}, {"lines": "join"}):
        chunker = TextChunker("o200k_base", 24, **options)  # type: ignore[arg-type]
        parts = (text[start : start + 997] for start in range(0, len(text), 997))
        assert [*chunker.iter_chunks(parts)] == chunker.chunk(text)


pieces = st.sampled_from(
    [text[at : at + 400] for make in KINDS.values() for text in [make()] for at in (0, 911, 2_003)]
)


@settings(max_examples=150)
@given(
    parts=st.lists(pieces, max_size=5),
    make=st.sampled_from(CHUNKERS),
    size=st.sampled_from([8, 30, 100, 256]),
    overlap=st.sampled_from([0, 0, 5]),
    lines=st.sampled_from(["auto", "keep", "join"]),
    options=st.sampled_from([{}, {"stable": True}, {"strip": True}, {"balance": True}]),
)
def test_mixed_documents_keep_the_contract(
    parts: list[str], make: type[TextChunker], size: int, overlap: int, lines: Any, options: Any
) -> None:
    text = "".join(parts)
    chunks = make("o200k_base", size, overlap, lines=lines, **options).chunk(text)
    check(
        text, chunks, counter("o200k_base"), chunk_size=size, chunk_overlap=overlap,
        strip="strip" in options,
    )  # fmt: skip


@pytest.mark.parametrize("lines", ["auto", "join"])
def test_the_kernel_cuts_where_the_levels_say(lines: Any) -> None:
    """With a constant `count_text` every chunk is searched in Python."""
    for make in KINDS.values():
        text = make()[:6_000]
        for options in ({}, {"stable": True}):
            chunker = TextChunker("o200k_base", 60, lines=lines, **options)  # type: ignore[arg-type]
            slow = chunker.with_count_text(lambda chunk: chunk.token_count)
            assert chunker.chunk(text) == slow.chunk(text)


def test_what_a_search_finds_is_between_runs() -> None:
    words = "word " * 300
    text = f"{words}\n\n{'a' * 3_000}\n\n# b\n{words}"
    chunker = MarkdownChunker("o200k_base", 64)
    rules = chunker._rules
    first = chunker._finder_once(text, rules).next_chunks(0, 0, len(text), 0)
    assert first is not None
    assert first.last[1] < len(text)
    searching = chunker._finder(text, rules)
    searching._plain = None
    searched = chunk_stream.ChunkStream(rules).chunks(searching, 0, len(text), final=True)
    assert chunker(text) == [*searched]
