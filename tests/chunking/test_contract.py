"""C6 to C8 for all chunkers, options and sizes, counted with tiktoken."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline import threads
from cutline.chunking import (
    Chunker,
    CodeChunker,
    MarkdownChunker,
    TextChunker,
    TokenChunker,
)
from cutline.errors import BudgetError
from tests.chunking.contract import check
from tests.conftest import short_or_long
from tests.oracles import DISTINCT, counter
from tests.texts import NAMED_TEXTS, random_texts

SIZES = (1, 2, 3, 4, 8, 64, 256, 1024)
Make = Callable[..., Chunker]

NASTY = st.sampled_from("aé日 \n\r.,;#(🇩👩\u200d\u0301\t「。")

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strip": {"strip": True},
    "balance": {"balance": True},
    "stable": {"stable": True},
    "grapheme": {"boundary": "grapheme"},
    "character": {"boundary": "character"},
    "no fill": {"min_fill": 0.0, "balance": True},
    "full": {"min_fill": 1.0, "balance": True, "strip": True},
    "stable, stripped": {"strip": True, "stable": True, "balance": True, "min_fill": 0.25},
}


def semicolons(text: str) -> list[int]:
    return [place for place, character in enumerate(text) if character == ";"]


def by_own_levels(*arguments: Any, **options: Any) -> TextChunker:
    levels = [re.compile(r"(?=#)"), "paragraph", semicolons, "word"]
    return TextChunker(*arguments, levels=levels, **options)


def of_python(*arguments: Any, **options: Any) -> CodeChunker:
    return CodeChunker("python", *arguments, **options)


CHUNKERS: dict[str, Make] = {
    "token": TokenChunker,
    "text": TextChunker,
    "own levels": by_own_levels,
    "markdown": MarkdownChunker,
    "code": of_python,
}


def check_all(
    make: Make, encoding: str, text: str, size: int, overlap: int, **options: Any
) -> None:
    chunker = make(encoding, size, overlap, **options)
    try:
        chunks = chunker.chunk(text)
    except BudgetError as error:
        # Only where a character alone is too large.
        place = int(re.search(r"at offset (\d+) ", str(error))[1])  # type: ignore[index]
        assert size < 4
        assert counter(encoding)(text[place]) > size
        return
    strip = options.get("strip", False)
    check(text, chunks, counter(encoding), chunk_size=size, chunk_overlap=overlap, strip=strip)
    if not strip and cutline.get_encoding(encoding).fits(text, size):
        assert len(chunks) == (1 if text else 0)


@short_or_long("every", 3, 1)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_named_texts(make: Make, options: dict[str, Any], every: int) -> None:
    for place, size in enumerate(SIZES):
        for number, text in list(enumerate(NAMED_TEXTS.values()))[place % every :: every]:
            overlaps = {0, size // 4, size - 1} if number % 5 == size % 5 else {0, size // 4}
            for overlap in overlaps:
                check_all(make, DISTINCT[number % 4], text[:3000], size, overlap, **options)


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_random_texts(make: Make) -> None:
    cases = product(OPTIONS.values(), (4, 8, 30), (0, 1, 3))
    for text, (options, size, overlap) in zip(random_texts(3, 600), list(cases) * 9, strict=False):
        check_all(make, "o200k_base", text, size, overlap, **options)


@settings(max_examples=150)
@given(
    text=st.text(
        NASTY | st.characters(exclude_categories=["Cs"]),
        max_size=80,
    ),
    make=st.sampled_from(list(CHUNKERS.values())),
    options=st.sampled_from(list(OPTIONS.values())),
    size=st.sampled_from(SIZES),
    overlap=st.integers(0, 6),
    encoding=st.sampled_from(DISTINCT),
)
def test_any_text(
    text: str, make: Make, options: dict[str, Any], size: int, overlap: int, encoding: str
) -> None:
    check_all(make, encoding, text, size, min(overlap, size - 1), **options)


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
@pytest.mark.parametrize("strip", [False, True])
def test_an_empty_text_has_no_chunks(make: Make, strip: bool) -> None:
    assert make("o200k_base", 8, strip=strip).chunk("") == []


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
@pytest.mark.parametrize("text", ["   ", "\n\n\n", " \t\n " * 50])
def test_white_space_alone_is_kept_unless_it_is_stripped(make: Make, text: str) -> None:
    assert "".join(chunk.text for chunk in make("o200k_base", 2).chunk(text)) == text
    assert make("o200k_base", 2, strip=True).chunk(text) == []


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_what_is_sent_fits_too(make: Make) -> None:
    count = counter("o200k_base")

    def sent(chunk: cutline.Chunk) -> int:
        return count(f"passage: {chunk.text}\n</s>") + 2

    for text in NAMED_TEXTS.values():
        for overlap in (0, 3):
            chunks = make("o200k_base", 16, overlap, count_text=sent).chunk(text[:500])
            check(text[:500], chunks, count, chunk_size=16, chunk_overlap=overlap)
            assert all(sent(chunk) <= 16 for chunk in chunks)


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_a_template_that_fills_the_budget_is_a_clear_error(make: Make) -> None:
    chunker = make("o200k_base", 16, count_text=lambda chunk: chunk.token_count + 16)
    with pytest.raises(BudgetError, match=r"count_text leaves no room at offset 0"):
        chunker.chunk("some text")


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_corpora(corpus: str, make: Make, size: int) -> None:
    longest = min(1_500_000, 20_000 * size)
    for number, options in enumerate(OPTIONS.values()):
        start = number * len(corpus) // len(OPTIONS)
        part = corpus[start : start + (longest // 20 if number else longest)]
        for overlap in {0, size // 4}:
            check_all(make, DISTINCT[number % 4], part, size, overlap, **options)


@pytest.mark.parametrize("kind", ["token", "text", "markdown"])
@pytest.mark.parametrize("block", [1, 500, threads.BLOCK_CHARACTERS])
def test_a_batch_in_threads_is_cut_like_its_texts(
    kind: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutline.chunking.chunker.block_size", lambda _: block)
    texts = [*NAMED_TEXTS.values(), *random_texts(107, 100), "", "word " * 20_000]
    chunker = CHUNKERS[kind]("o200k_base", 16)
    want = [chunker.chunk(text) for text in texts]
    assert chunker.chunk_batch(texts, num_threads=3) == want
    assert chunker.chunk_batch([], num_threads=3) == []
    with pytest.raises(cutline.SurrogateError) as caught:
        chunker.chunk_batch([*texts, "\ud800", *texts], num_threads=3)
    assert f"in the text at place {len(texts)} of the batch" in caught.value.__notes__
    with pytest.raises(TypeError, match=f"texts must be str, got int at place {len(texts)}$"):
        chunker.chunk_batch([*texts, 7, *texts], num_threads=3)
