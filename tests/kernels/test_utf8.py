"""How far bytes are valid UTF-8 is what Python's decoder says."""

import codecs
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.kernels.utf8 import valid_bytes

# A byte of each range that the rules of UTF-8 tell apart.
EDGES = bytes.fromhex("00 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")


def expected(data: bytes) -> int:
    """What the decoder takes before it meets an error or the end."""
    try:
        return codecs.utf_8_decode(data, "strict", False)[1]
    except UnicodeDecodeError as error:
        return error.start


def test_every_character_is_valid() -> None:
    text = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000)))).encode()
    assert valid_bytes(text) == len(text)


@pytest.mark.parametrize("code_point", range(0xD800, 0xE000, 0xFF))
def test_surrogates_are_not_valid(code_point: int) -> None:
    assert valid_bytes(b"x" + chr(code_point).encode("utf-8", "surrogatepass") + b"y") == 1


@pytest.mark.parametrize("n_bytes", range(5))
def test_every_sequence_of_edges_is_as_the_decoder_says(n_bytes: int) -> None:
    if n_bytes < 4:
        cases = map(bytes, itertools.product(EDGES, repeat=n_bytes))
    else:
        cases = (bytes((lead, *rest)) for lead in EDGES[18:] for rest in product3())
    for data in cases:
        assert valid_bytes(data) == expected(data), data


def product3() -> "itertools.product[tuple[int, ...]]":
    return itertools.product(EDGES, repeat=3)


@pytest.mark.parametrize("seed", range(20))
def test_text_that_is_cut_and_damaged_anywhere(seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choice(["a", "word ", "ñ", "日", "👩🏽", "\0"]) for _ in range(40)).encode()
    for end in range(len(text) + 1):
        assert valid_bytes(text[:end]) == expected(text[:end])
        damaged = bytearray(text)
        damaged[end : end + 1] = bytes([rng.randrange(256)])
        assert valid_bytes(bytes(damaged)) == expected(bytes(damaged))


@given(st.binary(max_size=50))
def test_any_bytes(data: bytes) -> None:
    assert valid_bytes(data) == expected(data)
