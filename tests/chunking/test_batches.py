"""Texts that a kernel cuts in blocks: the chunks and errors of each are those that it has alone."""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline import Chunk, TextChunker, TokenChunker
from cutline.chunking import Chunker
from tests.chunking.contract import check
from tests.oracles import counter
from tests.texts import NAMED_TEXTS, random_texts
from tests.vocabularies import encoding_of, random_ranks, with_bytes

# Chunkers that have a kernel for blocks, and some that have none.
CHUNKERS: dict[str, Chunker] = {
    "tokens": TokenChunker("o200k_base", 8),
    "tokens, overlap": TokenChunker("o200k_base", 8, 3),
    "tokens, nearly all shared": TokenChunker("r50k_base", 7, 6),
    "tokens, whole texts": TokenChunker("o200k_base", 10**30, 10**29),
    "tokens, graphemes": TokenChunker("o200k_base", 8, boundary="grapheme"),
    "tokens, stable": TokenChunker("o200k_base", 8, stable=True),
    "tokens, further limits": TokenChunker("o200k_base", 8, also_fits={"gpt2": 7, "bytes": 29}),
    "tokens, further limits, overlap": TokenChunker("o200k_base", 8, 2, also_fits={"gpt2": 9}),
    "tokens, lines": TokenChunker("o200k_base", 8, line_numbers=True),
    "text": TextChunker("o200k_base", 16),
    "text, small": TextChunker("r50k_base", 4),
    "text, stable": TextChunker("o200k_base", 16, stable=True),
    "text, further limits": TextChunker(
        "cl100k_base", 16, also_fits={"gpt2": 14, "characters": 41}
    ),
    "text, lines": TextChunker("o200k_base", 16, lines="keep", line_numbers=True),
    "text, full": TextChunker("o200k_base", 16, lines="join", min_fill=1.0, boundary="character"),
    "text, overlap": TextChunker("o200k_base", 16, 4),
    "text, overlap, stable": TextChunker("o200k_base", 16, 9, stable=True, also_fits={"bytes": 50}),
    "text, own level": TextChunker("o200k_base", 16, levels=[re.compile(r";"), "word"]),
    "text, stripped": TextChunker("o200k_base", 16, strip=True, balance=True),
    "text, apart": TextChunker("o200k_base", 16, never_across="paragraph"),
    "text, sent": TextChunker("o200k_base", 16, template=cutline.Template("passage: {text}")),
}
TEXTS = [
    *NAMED_TEXTS.values(),
    *random_texts(19, 120),
    "",
    "word " * 900,
    "",
    "a" * 700,
    "日本" * 200,
]
PARTS = st.sampled_from(
    ["one ", "two. ", "\n", "\n\n", "日本", "é", "👩\u200d👧", "=" * 70, "1234", " "]
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The blocks that went to kernels."""
    blocks: list[list[str]] = []

    def recording(self: Chunker) -> Any:
        cut = of_kind[type(self)](self)
        return cut and (lambda texts: blocks.append(texts) or cut(texts))

    of_kind = {kind: kind._block_cutter for kind in (TextChunker, TokenChunker)}
    for kind in of_kind:
        monkeypatch.setattr(kind, "_block_cutter", recording)
    return blocks


@pytest.mark.parametrize("block", [1, 200, 1 << 30])
@pytest.mark.parametrize("name", CHUNKERS)
def test_a_block_is_cut_like_its_texts(
    name: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutline.chunking.chunker.block_size", lambda _: block)
    chunker = CHUNKERS[name]
    want = [chunker.chunk(text) for text in TEXTS]
    assert chunker.chunk_batch(TEXTS, num_threads=1) == want
    assert chunker.chunk_batch(iter(TEXTS[::-1]), num_threads=2) == want[::-1]


@pytest.mark.parametrize("name", CHUNKERS)
def test_a_kernel_cuts_blocks_by_plain_rules(name: str, calls: list[list[str]]) -> None:
    assert CHUNKERS[name].chunk_batch(["one two", "", "three"]) == [
        CHUNKERS[name].chunk(text) for text in ("one two", "", "three")
    ]
    has_kernel = list(CHUNKERS).index(name) < list(CHUNKERS).index("text, own level")
    assert calls == [["one two", "", "three"]] * has_kernel


@settings(max_examples=80, deadline=None)
@given(
    texts=st.lists(st.lists(PARTS, max_size=12).map("".join), max_size=9),
    size=st.integers(4, 9),
    overlap=st.integers(0, 3),
)
def test_what_was_cut_before_does_not_matter(texts: list[str], size: int, overlap: int) -> None:
    count = counter("o200k_base")
    for chunker in (TokenChunker("o200k_base", size, overlap), TextChunker("o200k_base", size)):
        for text, chunks in zip(texts, chunker.chunk_batch(texts), strict=True):
            check(text, chunks, count, chunk_size=size, chunk_overlap=chunker.chunk_overlap)
            assert chunks == chunker.chunk(text)


@pytest.mark.parametrize("size", [4, 16])
def test_a_block_of_texts_that_need_a_longer_search(size: int) -> None:
    odd = ["-" * 3_000 + str(number) for number in range(30)]
    chunker = TextChunker("o200k_base", size)
    texts = [*odd, "one two three", *odd, "four five six"]
    assert chunker.chunk_batch(texts, num_threads=1) == [chunker.chunk(text) for text in texts]


@pytest.mark.parametrize("pat_str", [r"\S+|\s+", r"[ab]+"], ids=["whole", "with gaps"])
def test_random_vocabularies(pat_str: str) -> None:
    rng = random.Random(23)
    for _ in range(8):
        encoding = encoding_of(random_ranks(rng, b"ab "), pat_str)
        texts = ["".join(rng.choices("ab é", k=rng.randrange(200))) for _ in range(12)]
        for chunker in (
            TokenChunker(encoding, 5, 2),
            TextChunker(encoding, 6),
            TextChunker(encoding, 9, also_fits={"gpt2": 9}),
        ):
            assert chunker.chunk_batch(texts) == [chunker.chunk(text) for text in texts]


def test_a_split_pattern_without_an_automaton() -> None:
    with pytest.warns(cutline.PatternFallbackWarning):
        encoding = encoding_of(with_bytes((b"ab",)), r"(?<=a)b|\w+?|.")
    with pytest.raises(cutline.UnsupportedPatternError) as caught:
        TextChunker(encoding, 6).chunk_batch(["one", "two"], num_threads=1)
    assert caught.value.__notes__ == ["in the text at place 0 of the batch"]


@pytest.mark.parametrize("name", ["tokens, overlap", "text", "text, further limits"])
@pytest.mark.parametrize("place", [0, 3, 7])
def test_an_error_in_a_block_names_the_text(name: str, place: int) -> None:
    texts: list[Any] = ["some words here"] * 7
    texts.insert(place, bad := "one \ud800")
    with pytest.raises(cutline.SurrogateError) as alone:
        CHUNKERS[name].chunk(bad)
    with pytest.raises(cutline.SurrogateError) as caught:
        CHUNKERS[name].chunk_batch(texts)
    assert str(caught.value) == str(alone.value)
    assert caught.value.__notes__ == [f"in the text at place {place} of the batch"]


@pytest.mark.parametrize(
    ("bad", "got"),
    [
        (7, "int at place 3$"),
        (b"x", "bytes at place 3$"),
        (None, "NoneType at place 3: fill or drop"),
    ],
)
@pytest.mark.parametrize("name", ["tokens, overlap", "text", "text, further limits"])
def test_what_is_no_text_is_named_before_others_are_cut(name: str, bad: Any, got: str) -> None:
    texts: list[Any] = ["some words here", "one \ud800", "", bad]
    with pytest.raises(TypeError, match=f"texts must be str, got {got}"):
        CHUNKERS[name].chunk_batch(texts)


@pytest.mark.parametrize("kind", [TokenChunker, TextChunker])
def test_of_two_texts_that_do_not_fit_the_first_is_named(kind: type[Chunker]) -> None:
    chunker = kind("o200k_base", 1)  # type: ignore[arg-type,call-arg]
    with pytest.raises(cutline.BudgetError, match="at offset 2 has 4 tokens") as caught:
        chunker.chunk_batch(["a", "", "b 𓀀", "𓀀"], num_threads=1)
    assert caught.value.__notes__ == ["in the text at place 2 of the batch"]


class Loud(str):
    """A str that says something else of itself."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> str:
        return "?"


@pytest.mark.parametrize("name", ["tokens", "text"])
def test_a_subclass_of_str_is_cut_as_the_text_that_it_holds(name: str) -> None:
    texts = ["one " * 30, Loud("two " * 30), "three " * 30]
    want = [CHUNKERS[name].chunk(str.__str__(text)) for text in ("one " * 30, "two " * 30)]
    assert CHUNKERS[name].chunk_batch(texts)[:2] == want


@pytest.mark.parametrize("kind", [TokenChunker, TextChunker])
def test_a_subclass_that_cuts_differently_cuts_each_text(kind: Any) -> None:
    class Halves(kind):  # type: ignore[misc]
        def chunk(self, text: str) -> list[Chunk]:
            return [*super().chunk(text[: len(text) // 2])]

    found = Halves("o200k_base", 16).chunk_batch(["one two", "three four"])
    assert ["".join(chunk.text for chunk in chunks) for chunks in found] == ["one", "three"]


def test_an_iterator_that_raises_is_not_caught() -> None:
    def texts() -> Iterator[str]:
        yield "one"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more") as caught:
        TokenChunker("o200k_base", 8).chunk_batch(texts())  # type: ignore[arg-type]
    assert not hasattr(caught.value, "__notes__")


def test_chunks_of_a_block_are_chunks_of_their_own() -> None:
    text = "one two three four five"
    first, second = TokenChunker("o200k_base", 2).chunk_batch([text, text])
    first[0].metadata["seen"] = True  # type: ignore[index]
    assert second[0].metadata == {"boundary": "character"}
    assert [chunk.index for chunk in second] == [0, 1, 2]
