import hashlib
import random
import struct
import zlib
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.errors import CorruptDataError
from cutline.vocabulary import Vocabulary, pack, unpack
from tests.vocabulary.samples import SINGLE_BYTES, SPARSE_RANKS, rank_mappings

HEADER_SIZE = 8 + 32 + 15
BODY_START = 8 + 32


@pytest.fixture(scope="module")
def packed() -> bytes:
    vocabulary = Vocabulary.from_ranks(SPARSE_RANKS)
    return pack(vocabulary.with_left_lengths([0] * 256 + [1, 2, 1, 0, 1]))


def resealed(data: bytes) -> bytes:
    """The same file with a digest that fits, as somebody would forge it."""
    return data[:8] + hashlib.sha256(data[BODY_START:]).digest() + data[BODY_START:]


@settings(max_examples=50)
@given(ranks=rank_mappings(), seed=st.none() | st.integers(0, 2**32))
def test_unpack_gives_back_what_pack_took(ranks: dict[bytes, int], seed: int | None) -> None:
    vocabulary = Vocabulary.from_ranks(ranks)
    if seed is not None:
        numbers = np.random.default_rng(seed)
        vocabulary = vocabulary.with_left_lengths(numbers.integers(0, vocabulary.lengths))
    restored = unpack(pack(vocabulary))
    assert restored == vocabulary
    assert restored.to_ranks() == ranks
    if vocabulary.left_lengths is None:
        assert restored.left_lengths is None
    else:
        assert np.array_equal(restored.left_lengths, vocabulary.left_lengths)


def test_pack_is_deterministic(packed: bytes) -> None:
    assert pack(unpack(packed)) == packed


def test_dense_ids_take_next_to_no_room() -> None:
    dense = SINGLE_BYTES | {b"%05d" % number: 256 + number for number in range(10_000)}
    sparse = SINGLE_BYTES | {
        b"%05d" % number: rank
        for number, rank in enumerate(sorted(random.Random(2).sample(range(256, 2**31), 10_000)))
    }
    sizes = [len(pack(Vocabulary.from_ranks(ranks))) for ranks in (dense, sparse)]
    assert sizes[0] < sizes[1] - 10_000


def test_damage_to_any_header_byte_is_found(packed: bytes) -> None:
    for place, bit in product(range(HEADER_SIZE), range(8)):
        damaged = bytearray(packed)
        damaged[place] ^= 1 << bit
        with pytest.raises(CorruptDataError):
            unpack(bytes(damaged))


def test_damage_to_the_payload_is_found(packed: bytes) -> None:
    numbers = random.Random(3)
    for _ in range(300):
        damaged = bytearray(packed)
        damaged[numbers.randrange(HEADER_SIZE, len(packed))] ^= numbers.randrange(1, 256)
        with pytest.raises(CorruptDataError, match="does not match its own sha256"):
            unpack(bytes(damaged))


def test_truncation_at_any_place_is_found(packed: bytes) -> None:
    for size in range(len(packed)):
        with pytest.raises(CorruptDataError):
            unpack(packed[:size])


@settings(max_examples=300)
@given(data=st.binary(max_size=400))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptDataError):
        unpack(data)


@settings(max_examples=500)
@given(data=st.data())
def test_a_forged_file_gives_a_vocabulary_or_corrupt_data_error(
    packed: bytes, data: st.DataObject
) -> None:
    forged = bytearray(packed)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(BODY_START, len(packed) - 1))
        forged[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(BODY_START, len(packed)))
    try:
        vocabulary = unpack(resealed(bytes(forged[:cut])))
    except CorruptDataError:
        return
    assert Vocabulary.from_ranks(vocabulary.to_ranks()) == vocabulary


def forged_file(counts: tuple[int, ...], arrays: bytes, arena: bytes) -> bytes:
    stream = zlib.compress(arrays)
    body = struct.pack("<III3B", *counts[:2], len(stream), *counts[2:])
    return resealed(b"cutvoc\x01\x00" + bytes(32) + body + stream + zlib.compress(arena))


ALL_BYTES = bytes(range(256))
ONES = b"\1" * 256
STEPS = b"\0" + b"\1" * 255
FORGERIES: dict[str, tuple[bytes, str]] = {
    "huge claim": (
        forged_file((2**32 - 1, 256, 4, 4, 4), ONES + STEPS, ALL_BYTES),
        "claims 4294967295 tokens of 256 bytes",
    ),
    "huge arena claim": (
        forged_file((256, 2**32 - 1, 1, 0, 1), ONES + STEPS, ALL_BYTES),
        "claims 256 tokens of 4294967295 bytes",
    ),
    "claim of much": (
        forged_file((2**21 - 1, 256, 4, 4, 4), ONES + STEPS, ALL_BYTES),
        "claims 25165812 bytes in a stream of ",
    ),
    "more than it claims": (
        forged_file((256, 255, 1, 0, 1), ONES + STEPS, ALL_BYTES),
        "has a stream of another size than 255 bytes",
    ),
    "nothing claimed": (
        forged_file((0, 0, 1, 0, 1), b"", b""),
        "contains no vocabulary: 256 single bytes have no token",
    ),
    "odd width": (
        forged_file((256, 256, 3, 0, 1), ONES + STEPS, ALL_BYTES),
        "has array entries of [3, 0, 1] bytes",
    ),
    "no lengths": (
        forged_file((256, 256, 0, 0, 1), STEPS, ALL_BYTES),
        "has array entries of [0, 0, 1] bytes",
    ),
    "lengths that do not fit": (
        forged_file((256, 256, 1, 0, 1), b"\2" * 256 + STEPS, ALL_BYTES),
        "contains no vocabulary: the token lengths do not divide",
    ),
    "ids that repeat": (
        forged_file((256, 256, 1, 0, 1), ONES + bytes(256), ALL_BYTES),
        "contains no vocabulary: id 0 is given to two tokens",
    ),
    "ids out of range": (
        forged_file(
            (256, 256, 1, 0, 4), ONES + struct.pack("<256I", *[2**32 - 1] * 256), ALL_BYTES
        ),
        "contains no vocabulary: the ids run from 4294967040 to",
    ),
    "left parts that do not fit": (
        forged_file((256, 256, 1, 1, 1), ONES + ONES + STEPS, ALL_BYTES),
        "contains no vocabulary: the left part of token 0",
    ),
    "bytes missing": (
        forged_file((256, 256, 1, 0, 1), ONES + STEPS, bytes(256)),
        r"contains no vocabulary: token b'\x00' appears twice",
    ),
}


def test_the_forged_file_of_correct_parts_is_accepted() -> None:
    vocabulary = unpack(forged_file((256, 256, 1, 0, 1), ONES + STEPS, ALL_BYTES))
    assert vocabulary.to_ranks() == SINGLE_BYTES


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused_by_name(name: str) -> None:
    data, message = FORGERIES[name]
    with pytest.raises(CorruptDataError) as caught:
        unpack(data, "vocabularies/x.bin")
    assert str(caught.value).startswith(f"vocabularies/x.bin {message}")
    assert "reinstall cutline" in str(caught.value)


def test_errors_name_the_file_and_the_way_out(packed: bytes) -> None:
    advice = "; the file is damaged: reinstall cutline (pip install --force-reinstall cutline)"
    for data, what in (
        (b"", r"begins with b'' instead of b'cutvoc\x01\x00'"),
        (b"PK\3\4 something else", r"begins with b'PK\x03\x04 som' instead of b'cutvoc\x01\x00'"),
        (packed[:30], "ends after 30 bytes, inside its header"),
        (packed[:-1], "does not match its own sha256"),
    ):
        with pytest.raises(CorruptDataError) as caught:
            unpack(data, "data/x.bin")
        assert str(caught.value) == f"data/x.bin {what}{advice}"
