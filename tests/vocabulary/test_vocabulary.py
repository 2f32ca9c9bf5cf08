import copy
import hashlib
import pickle
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from cutline.errors import VocabularyError
from cutline.vocabulary import Vocabulary
from cutline.vocabulary import vocabulary as module
from tests.vocabulary.samples import SINGLE_BYTES, SPARSE_RANKS, rank_mappings

ALL_BYTES = bytes(range(256))
ONES = [1] * 256
IDS = list(range(256))


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary.from_ranks(SPARSE_RANKS)


@settings(max_examples=50)
@given(rank_mappings())
def test_to_ranks_gives_back_what_from_ranks_took(ranks: dict[bytes, int]) -> None:
    vocabulary = Vocabulary.from_ranks(ranks)
    assert vocabulary.to_ranks() == ranks
    assert list(vocabulary.to_ranks().values()) == sorted(ranks.values())


def test_order_of_the_mapping_does_not_matter(vocabulary: Vocabulary) -> None:
    items = list(SPARSE_RANKS.items())
    random.Random(1).shuffle(items)
    shuffled = Vocabulary.from_ranks(dict(items))
    assert shuffled == vocabulary
    assert shuffled.arena == vocabulary.arena


def test_arrays_have_the_promised_types_and_are_read_only(vocabulary: Vocabulary) -> None:
    filled = vocabulary.with_left_lengths(np.zeros(len(vocabulary), dtype=np.int64))
    assert filled.left_lengths is not None
    for array, dtype, size in (
        (filled.offsets, np.uint64, len(filled) + 1),
        (filled.ids, np.uint32, len(filled)),
        (filled.left_lengths, np.uint32, len(filled)),
    ):
        assert array.dtype == dtype
        assert array.shape == (size,)
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_arrays_of_the_caller_stay_the_callers() -> None:
    ids = np.arange(256, dtype=np.uint32)
    left_lengths = np.zeros(256, dtype=np.uint32)
    lengths = np.ones(256, dtype=np.uint64)
    vocabulary = Vocabulary(bytes(range(256)), lengths, ids, left_lengths)
    ids[:] = left_lengths[:] = lengths[:] = 7
    assert vocabulary.to_ranks() == SINGLE_BYTES
    assert vocabulary.left_lengths is not None
    assert not vocabulary.left_lengths.any()


def test_attributes_cannot_be_changed(vocabulary: Vocabulary) -> None:
    with pytest.raises(AttributeError, match="cannot set 'ids': a Vocabulary is immutable"):
        vocabulary.ids = np.zeros(1, dtype=np.uint32)
    with pytest.raises(AttributeError, match="cannot delete 'arena'"):
        del vocabulary.arena
    assert not hasattr(vocabulary, "__dict__")


def test_token_bytes_goes_by_index_not_by_id(vocabulary: Vocabulary) -> None:
    assert [vocabulary.token_bytes(index) for index in range(len(vocabulary))] == sorted(
        SPARSE_RANKS, key=SPARSE_RANKS.__getitem__
    )
    assert vocabulary.tokens() == sorted(SPARSE_RANKS, key=SPARSE_RANKS.__getitem__)


@pytest.mark.parametrize("index", [-1, 261])
def test_token_bytes_refuses_an_index_outside(vocabulary: Vocabulary, index: int) -> None:
    with pytest.raises(IndexError, match=rf"token index {index} is outside range\(261\)"):
        vocabulary.token_bytes(index)


def test_fingerprint_tells_bytes_lengths_and_ids_apart() -> None:
    variants = [
        SINGLE_BYTES | {b"ab": 256, b"cde": 257},
        SINGLE_BYTES | {b"abc": 256, b"de": 257},
        SINGLE_BYTES | {b"ab": 256, b"cde": 258},
        SINGLE_BYTES | {b"ab": 256, b"cdf": 257},
        SINGLE_BYTES,
    ]
    vocabularies = [Vocabulary.from_ranks(ranks) for ranks in variants]
    assert len({vocabulary.fingerprint for vocabulary in vocabularies}) == len(variants)
    assert len(set(vocabularies)) == len(variants)


def test_fingerprint_is_the_same_on_every_machine() -> None:
    digest = hashlib.sha256(
        (256).to_bytes(8, "little")
        + (1).to_bytes(8, "little") * 256
        + b"".join(byte.to_bytes(4, "little") for byte in range(256))
        + bytes(range(256))
    )
    assert Vocabulary.from_ranks(SINGLE_BYTES).fingerprint == digest.hexdigest()


def test_equality_ignores_left_lengths_and_other_types(vocabulary: Vocabulary) -> None:
    assert vocabulary == vocabulary.with_left_lengths([0] * len(vocabulary))
    assert vocabulary != SPARSE_RANKS
    assert repr(vocabulary) == f"<Vocabulary of 261 tokens, {vocabulary.fingerprint[:12]}>"


@pytest.mark.parametrize("left_lengths_known", [False, True])
def test_pickle_and_copy_keep_everything(vocabulary: Vocabulary, left_lengths_known: bool) -> None:
    if left_lengths_known:
        vocabulary = vocabulary.with_left_lengths([0] * 256 + [1, 2, 1, 0, 1])
    for restored in (pickle.loads(pickle.dumps(vocabulary)), copy.deepcopy(vocabulary)):
        assert restored == vocabulary
        assert restored.to_ranks() == SPARSE_RANKS
        assert np.array_equal(restored.left_lengths, vocabulary.left_lengths)
        assert not restored.ids.flags.writeable


def test_pickle_is_compact() -> None:
    ranks = SINGLE_BYTES | {b"%05d" % number: 1000 + number for number in range(10_000)}
    vocabulary = Vocabulary.from_ranks(ranks)
    assert len(pickle.dumps(vocabulary)) < len(vocabulary.arena) + 5 * len(vocabulary) + 1000


REFUSED_RANKS: dict[str, tuple[Mapping[Any, Any], str]] = {
    "empty token": (
        SINGLE_BYTES | {b"": 256},
        "the empty token b'' has id 256; every token needs a byte",
    ),
    "text for bytes": (SINGLE_BYTES | {"ab": 256}, "token 'ab' is str; tokens are bytes"),
    "id twice": (
        {b"xy": 7} | SINGLE_BYTES,
        r"id 7 is given to two tokens, b'xy' and b'\x07'; ids must be unique",
    ),
    "id is a float": (
        SINGLE_BYTES | {b"ab": 256.0},
        "token b'ab' has id 256.0, which is float; ids are int",
    ),
    "id is a bool": (
        SINGLE_BYTES | {b"ab": True},
        "token b'ab' has id True, which is bool; ids are int",
    ),
    "id is negative": (
        SINGLE_BYTES | {b"ab": -1},
        "token b'ab' has id -1; ids are from 0 to 4294967294",
    ),
    "id means none": (
        SINGLE_BYTES | {b"ab": 2**32 - 1},
        "token b'ab' has id 4294967295; ids are from 0 to 4294967294",
    ),
    "id beyond int64": (
        SINGLE_BYTES | {b"ab": 2**70},
        f"token b'ab' has id {2**70}; ids are from 0 to 4294967294",
    ),
    "one byte missing": (
        {token: byte for token, byte in SINGLE_BYTES.items() if byte != 0xC0},
        r"1 single byte has no token: b'\xc0'; any text can contain any byte, "
        "so each of the 256 needs a token",
    ),
    "many bytes missing": (
        {token: byte for token, byte in SINGLE_BYTES.items() if byte < 250},
        r"6 single bytes have no token: b'\xfa', b'\xfb', b'\xfc', b'\xfd' and 2 more; any text "
        "can contain any byte, so each of the 256 needs a token",
    ),
    "nothing": ({}, "256 single bytes have no token"),
}


@pytest.mark.parametrize("name", REFUSED_RANKS)
def test_from_ranks_names_what_it_refuses(name: str) -> None:
    ranks, message = REFUSED_RANKS[name]
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_ranks(ranks)
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, ValueError)


def test_the_number_of_tokens_is_limited() -> None:
    longer = 2**21 - 1 - 256
    lengths = np.repeat([1, 2], [256, longer])
    most = Vocabulary(ALL_BYTES + bytes(2 * longer), lengths, np.arange(256 + longer))
    assert len(most) == 2**21 - 1
    with pytest.raises(VocabularyError, match="2097152 tokens; at most 2097151 are supported"):
        Vocabulary(ALL_BYTES + bytes(2 * longer + 2), [*lengths, 2], np.arange(257 + longer))


def test_too_many_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ARENA_BYTES", 257)
    with pytest.raises(VocabularyError, match="the tokens have 258 bytes; at most 257"):
        Vocabulary.from_ranks(SINGLE_BYTES | {b"ab": 256})


REFUSED_ARRAYS: dict[str, tuple[tuple[Any, ...], str]] = {
    "shapes differ": ((ALL_BYTES, ONES, IDS[:-1]), r"lengths have shape \(256,\) and ids \(255,\)"),
    "matrix": ((ALL_BYTES, [ONES], [IDS]), r"lengths have shape \(1, 256\)"),
    "floats": ((ALL_BYTES, [1.0] * 256, IDS), "lengths are float64 and ids int64; both must be"),
    "sum too small": ((ALL_BYTES + b"a", ONES, IDS), "do not divide the 257 bytes among 256"),
    "empty token": (
        (ALL_BYTES, [0, 2, *ONES[2:]], IDS),
        "the token lengths do not divide the 256 bytes among 256 tokens",
    ),
    "negative length": ((ALL_BYTES, [-1, 3, *ONES[2:]], IDS), "do not divide"),
    "sum wraps": (
        (ALL_BYTES, np.array([2**63, 2**63, *ONES[2:], 1, 1], dtype=np.uint64), range(258)),
        "do not divide",
    ),
    "ids repeat": ((ALL_BYTES, ONES, [*IDS[1:], 1]), "id 1 is given to two tokens"),
    "negative id": ((ALL_BYTES, ONES, [-1, *IDS[1:]]), "the ids run from -1 to 255"),
    "id too high": ((ALL_BYTES, ONES, [*IDS[:-1], 2**32 - 1]), "ids run from 0 to 4294967295"),
    "byte twice": ((ALL_BYTES[:-1] + b"a", ONES, IDS), "token b'a' appears twice"),
    "byte missing": (
        (ALL_BYTES[:-1], ONES[:-1], IDS[:-1]),
        r"1 single byte has no token: b'\\xff",
    ),
    "left too long": ((ALL_BYTES, ONES, IDS, ONES), "left part of token 0 has 1 bytes and the tok"),
    "left negative": ((ALL_BYTES, ONES, IDS, [0] * 255 + [-1]), "part of token 255 has -1 bytes"),
    "left of other shape": ((ALL_BYTES, ONES, IDS, [0]), r"left_lengths are int64 of shape \(1,\)"),
}


@pytest.mark.parametrize("name", REFUSED_ARRAYS)
def test_contradicting_arrays_are_refused(name: str) -> None:
    arguments, message = REFUSED_ARRAYS[name]
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(*arguments)
