"""The hashes of many texts at once are those of the standard library, one by one."""

import random
from array import array
from hashlib import blake2b
from itertools import accumulate

import pytest

from cutline import Chunk
from cutline.kernels.base.hashes import hash_texts

LEVELS = pytest.mark.parametrize("level", [0, 1, 2])
"""Of instructions: where the processor lacks some, a level is that below it."""


def hashes_of(texts: list[bytes], level: int) -> list[str]:
    found = hash_texts(b"".join(texts), array("q", accumulate(map(len, texts))), level).decode()
    assert len(found) == 32 * len(texts)
    return [found[at : at + 32] for at in range(0, len(found), 32)]


def expected(text: bytes) -> str:
    return blake2b(len(text).to_bytes(8, "little") + text, digest_size=16).hexdigest()


@LEVELS
def test_every_length_up_to_some_blocks(level: int) -> None:
    rng = random.Random(level)
    texts = [rng.randbytes(n) for n in range(600)]
    assert hashes_of(texts, level) == [*map(expected, texts)]
    texts.reverse()
    assert hashes_of(texts, level) == [*map(expected, texts)]


@LEVELS
@pytest.mark.parametrize("n", range(10))
def test_as_many_texts_as_lanes_and_others(n: int, level: int) -> None:
    rng = random.Random(n)
    for _ in range(100):
        sizes = rng.choices([0, 1, 119, 120, 121, 128, 247, 248, 249, 1000, 5000], k=n)
        texts = [*map(rng.randbytes, sizes)]
        assert hashes_of(texts, level) == [*map(expected, texts)]


@LEVELS
def test_many_texts_of_any_size(level: int) -> None:
    rng = random.Random(level)
    texts = [rng.randbytes(rng.randrange(rng.choice([2, 300, 4000]))) for _ in range(2000)]
    assert hashes_of(texts, level) == [*map(expected, texts)]


@LEVELS
def test_hashes_are_those_of_chunks(level: int) -> None:
    texts = ["", "one", "año", "中文 " * 99]
    chunks = [Chunk(text, 0, len(text), 1, 0) for text in texts]
    assert hashes_of([text.encode() for text in texts], level) == [
        chunk.content_hash for chunk in chunks
    ]
