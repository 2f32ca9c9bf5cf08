"""`ChunkRun`: chunks as numbers are the chunks."""

import random
from array import array
from itertools import accumulate
from typing import Any

import pytest

from cutline import Chunk, Template, TextChunker, TokenChunker, get_encoding
from cutline.chunking.chunk_run import ChunkRun, each_chunk
from cutline.chunks import text_hashes
from cutline.kernels.base.chunks import chunk_texts

O200K = get_encoding("o200k_base")
WORDS = ("One two. ", "three, ", "año ", "中文", "👩‍👧", "\n", "\n\n", "é\u0301", "a" * 30)


def parts_of(seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(WORDS, k=300)) for _ in range(3)]


def found_in(chunker: Any, parts: list[str]) -> list[Chunk | ChunkRun]:
    """What a chunker finds: a chunk that takes a longer search comes alone."""
    found = [*chunker._chunk_parts(parts)]
    assert any(isinstance(item, ChunkRun) for item in found)
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [TextChunker, TokenChunker])
@pytest.mark.parametrize("overlap", [0, 4])
def test_numbers_are_those_of_the_chunks(kind: Any, overlap: int, seed: int) -> None:
    parts = parts_of(seed)
    chunker = kind(O200K, 12, overlap)
    found = found_in(chunker, parts)
    chunks = [*each_chunk(found)]
    assert chunks == [*chunker._cut("".join(parts), chunker._rules)]
    index = 0
    for run in found:
        if isinstance(run, Chunk):
            index += 1
            continue
        few = [*run]
        assert [few[0].index, len(run)] == [index, len(few)]
        index += len(few)
        expected = [(one.index, one.start_index, one.end_index, one.token_count) for one in few]
        assert run.numbers.tolist() == [number for row in expected for number in row]
        assert [*run.lengths] == [len(one.text) for one in few]
        assert run.last == expected[-1][1:3]
        boundaries = [run.boundary_names[place] for place in run.boundaries]
        assert boundaries == [one.metadata["boundary"] for one in few]
        utf8, ends = run.utf8()
        assert utf8 == "".join(one.text for one in few).encode()
        assert ends[len(run) - 1] == len(utf8)
        assert text_hashes(utf8, ends).decode() == "".join(one.content_hash for one in few)


@pytest.mark.parametrize("template", [None, Template("passage: {text}")])
def test_parts_of_a_run_are_its_chunks(template: Template | None) -> None:
    found = found_in(TextChunker(O200K, 12, template=template), ["One two. " * 99])
    run = next(item for item in found if isinstance(item, ChunkRun))
    chunks = [*run]
    for first, until in ((0, 1), (0, len(run)), (3, 7), (len(run) - 1, len(run)), (2, 2)):
        assert [*run.part(first, until)] == chunks[first:until]


def test_what_comes_one_by_one_stays_so() -> None:
    chunker = TextChunker(O200K, 12, 4, strip=True)
    found = [*chunker._chunk_parts(parts_of(2))]
    assert all(isinstance(item, Chunk) for item in found)
    assert [*each_chunk(found)] == chunker("".join(parts_of(2)))


@pytest.mark.parametrize("alphabet", ["ab \n", "añ ", "añ中 ", "a👩中ñ"])
@pytest.mark.parametrize("n", [0, 1, 70, 9_000_000])
def test_texts_of_any_width_are_encoded(alphabet: str, n: int) -> None:
    text = alphabet * (n // len(alphabet)) + alphabet[: n % len(alphabet)]
    step = max(n // 7, 1)
    spans = [(start, min(start + step + 2, n)) for start in range(0, n, step)]
    rows = memoryview(array("q", [number for span in spans for number in (*span, 1, 0)]))
    utf8, ends = chunk_texts(text, rows)
    encoded = [text[start:end].encode() for start, end in spans]
    assert utf8 == b"".join(encoded)
    assert [*ends] == [*accumulate(map(len, encoded))]
