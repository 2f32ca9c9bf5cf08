import hashlib
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given, settings

from cutline.errors import VocabularyError
from cutline.formats.tiktoken_file import read_tiktoken, write_tiktoken
from cutline.vocabulary import (
    RANK_FILE_SHA256,
    Vocabulary,
    packaged_encoding,
)
from tests.packaged import packaged_vocabulary
from tests.vocabulary.samples import SINGLE_BYTES, SPARSE_RANKS, rank_mappings


def rank_lines(ranks: dict[bytes, int]) -> list[bytes]:
    return [b64encode(token) + b" %d" % rank for token, rank in ranks.items()]


LINES = rank_lines(SINGLE_BYTES)


@settings(max_examples=25)
@given(ranks=rank_mappings())
def test_read_gives_the_ranks_that_were_written(
    tmp_path_factory: pytest.TempPathFactory, ranks: dict[bytes, int]
) -> None:
    path = tmp_path_factory.mktemp("ranks") / "x.tiktoken"
    path.write_bytes(b"\n".join(rank_lines(ranks)))
    assert read_tiktoken(path).to_ranks() == ranks


@settings(max_examples=25)
@given(ranks=rank_mappings())
def test_write_and_read_give_the_vocabulary_back(
    tmp_path_factory: pytest.TempPathFactory, ranks: dict[bytes, int]
) -> None:
    path = tmp_path_factory.mktemp("ranks") / "x.tiktoken"
    write_tiktoken(Vocabulary.from_ranks(ranks), path)
    assert read_tiktoken(path).to_ranks() == ranks
    assert path.read_bytes().splitlines() == rank_lines(dict(sorted(ranks.items(), key=by_rank)))


def by_rank(item: tuple[bytes, int]) -> int:
    return item[1]


@pytest.mark.parametrize("rank_file", sorted(RANK_FILE_SHA256))
def test_the_packaged_vocabularies_are_written_as_the_published_files(
    rank_file: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.tiktoken"
    write_tiktoken(packaged_vocabulary(packaged_encoding(rank_file)), path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == RANK_FILE_SHA256[rank_file]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_line_endings_and_empty_lines_do_not_matter(
    tmp_path: Path, newline: bytes, ending: bytes
) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(newline.join(rank_lines(SPARSE_RANKS)) + ending)
    expected = Vocabulary.from_ranks(SPARSE_RANKS)
    assert read_tiktoken(path) == expected
    assert read_tiktoken(str(path)) == expected


def test_a_token_of_no_bytes_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"\n".join([*LINES, b"= 256", b64encode(b"ab") + b" 257", b""]))
    assert read_tiktoken(path) == Vocabulary.from_ranks(SINGLE_BYTES | {b"ab": 257})


REFUSED_FILES: dict[str, tuple[list[bytes], str]] = {
    "bad base64": (
        [*LINES[:9], b"!!!! 9", *LINES[10:], b""],
        ", line 10: the token b'!!!!' is not base64: only base64 data is allowed",
    ),
    "base64 without its padding": (
        [*LINES[:9], b"CQ 9", *LINES[10:], b""],
        ", line 10: the token b'CQ' is not base64: incorrect padding",
    ),
    "rank missing": (
        [*LINES[:9], b"CQ==", *LINES[10:], b""],
        ", line 10: expected a base64 token, a space and its rank, got b'CQ=='",
    ),
    "third field": (
        [*LINES[:9], b"CQ== 9 9", *LINES[10:], b""],
        ", line 10: expected a base64 token, a space and its rank, got b'CQ== 9 9'",
    ),
    "line of blanks": (
        [*LINES[:9], b"  ", *LINES[10:], b""],
        ", line 10: expected a base64 token, a space and its rank, got b'  '",
    ),
    "long line": (
        [b"x" * 100, b""],
        f", line 1: expected a base64 token, a space and its rank, got b'{'x' * 60}'...",
    ),
    "rank is no integer": (
        [*LINES[:9], b"CQ== 9.5", *LINES[10:], b""],
        ", line 10: the rank b'9.5' is not an integer",
    ),
    "token twice": (
        [*LINES, b"CQ== 256", b""],
        r", line 257: token b'\t' appears twice, first in line 10; both must be unique",
    ),
    "token twice after empty lines": (
        [b"", b"", *LINES, b"", b"CQ== 256", b""],
        r", line 260: token b'\t' appears twice, first in line 12; both must be unique",
    ),
    "token of no bytes twice": (
        [*LINES, b"= 256", b"= 257", b""],
        ", line 258: token b'' appears twice, first in line 257; both must be unique",
    ),
    "rank twice": (
        [*LINES, b64encode(b"ab") + b" 9", b""],
        ", line 257: rank 9 appears twice, first in line 10; both must be unique",
    ),
    "nothing": ([], " contains no tokens; was it downloaded in full?"),
    "empty lines": ([b"", b"", b""], " contains no tokens; was it downloaded in full?"),
    "cut inside a token": (
        [*LINES[:9], b"CQ="],
        ", line 10: expected a base64 token, a space and its rank, got b'CQ='; the file ends "
        "within this line: was it cut off?",
    ),
    "cut between lines": (
        [*LINES[:255], b""],
        r": 1 single byte has no token: b'\xff'; any text can contain any byte, so each of the "
        "256 needs a token",
    ),
    "cut inside a rank": (
        [*LINES[:255], b"/w== 25"],
        ", line 256: rank 25 appears twice, first in line 26; both must be unique",
    ),
    "negative rank": (
        [*LINES, b64encode(b"ab") + b" -1", b""],
        ": token b'ab' has id -1; ids are from 0 to 4294967294",
    ),
    "a web page": (
        [b"<!DOCTYPE html>", b"<html>", b""],
        ", line 1: the token b'<!DOCTYPE' is not base64: only base64 data is allowed",
    ),
}


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_errors_name_the_path_and_the_line(name: str, tmp_path: Path) -> None:
    lines, message = REFUSED_FILES[name]
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(VocabularyError) as caught:
        read_tiktoken(path)
    assert str(caught.value) == f"{path}{message}"
