import random
import runpy
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutline.vocabulary import (
    RANK_FILE_SHA256,
    unpack,
)
from tests.packaged import source_vocabulary
from tests.vocabulary.samples import SINGLE_BYTES

SCRIPT = Path(__file__).parents[2] / "tools" / "build_vocabularies.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def left_length(script: dict[str, Any]) -> Callable[[bytes, dict[bytes, int]], int]:
    found: Callable[[bytes, dict[bytes, int]], int] = script["last_merge_left_length"]
    return found


def ranked(*longer: bytes) -> dict[bytes, int]:
    return SINGLE_BYTES | {token: 256 + place for place, token in enumerate(longer)}


@pytest.mark.parametrize(
    ("token", "ranks", "expected"),
    [
        (b"a", ranked(), 0),
        (b"ab", ranked(b"ab"), 1),
        (b"abc", ranked(b"bc", b"ab", b"abc"), 1),
        (b"abc", ranked(b"ab", b"bc", b"abc"), 2),
        (b"aaa", ranked(b"aa", b"aaa"), 2),
        (b"aaaa", ranked(b"aa", b"aaa", b"aaaa"), 2),
        (b"aaaaa", ranked(b"aa", b"aaaa", b"aaaaa"), 4),
        (b"abc", ranked(b"abc"), 0),
        (b"abcd", ranked(b"bc", b"ab", b"cd", b"abcd"), 0),
        (b"abcd", ranked(b"abcd", b"ab", b"cd"), 2),
    ],
)
def test_left_length_is_that_of_the_last_merge(
    left_length: Callable[[bytes, dict[bytes, int]], int],
    token: bytes,
    ranks: dict[bytes, int],
    expected: int,
) -> None:
    assert left_length(token, ranks) == expected


@pytest.mark.parametrize("rank_file", sorted(RANK_FILE_SHA256))
def test_packed_left_lengths_are_those_of_the_script(
    left_length: Callable[[bytes, dict[bytes, int]], int], rank_file: str
) -> None:
    vocabulary = source_vocabulary(rank_file)
    assert vocabulary.left_lengths is not None
    ranks = vocabulary.to_ranks()
    longest = vocabulary.lengths.argsort()[-100:].tolist()
    for index in longest + random.Random(4).sample(range(len(vocabulary)), 3000):
        expected = left_length(vocabulary.token_bytes(index), ranks)
        assert vocabulary.left_lengths[index] == expected


def test_script_rebuilds_what_is_packaged(script: dict[str, Any], tmp_path: Path) -> None:
    vocabulary = source_vocabulary("r50k_base")
    rank_path, packed_path = tmp_path / "r50k_base.tiktoken", tmp_path / "r50k_base.bin"
    rank_path.write_bytes(
        b"".join(
            b64encode(token) + b" %d\n" % rank for token, rank in vocabulary.to_ranks().items()
        )
    )
    script["build"](rank_path, packed_path)
    rebuilt = unpack(packed_path.read_bytes())
    assert rebuilt == vocabulary
    assert np.array_equal(rebuilt.left_lengths, vocabulary.left_lengths)


def test_script_refuses_a_file_that_is_not_the_published_one(
    script: dict[str, Any], tmp_path: Path
) -> None:
    rank_path = tmp_path / "r50k_base.tiktoken"
    rank_path.write_bytes(b"IQ== 0\n")
    with pytest.raises(SystemExit, match=r"r50k_base\.tiktoken has sha256 .* download it again"):
        script["build"](rank_path, tmp_path / "r50k_base.bin")
    assert not (tmp_path / "r50k_base.bin").exists()
