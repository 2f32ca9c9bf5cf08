"""`cutline encode` and `cutline decode`: ids out, the exact bytes back."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutline import get_encoding
from cutline.cli.ids import decode_ids
from tests.cli.conftest import Invoke


def test_encode_writes_ordinary_ids(invoke: Invoke, oracle: tiktoken.Encoding, text: str) -> None:
    result = invoke("encode", stdin=text.encode())
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == " ".join(map(str, oracle.encode_ordinary(text))) + "\n"


def test_decode_gives_back_the_exact_bytes(invoke: Invoke, text: str) -> None:
    ids = invoke("encode", stdin=text.encode()).stdout_bytes
    result = invoke("decode", stdin=ids)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes == text.encode()


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.sampled_from(["gpt2", "p50k_edit", "cl100k_base", "o200k_harmony"]))
def test_round_trip_of_any_text(invoke: Invoke, text: str, name: str) -> None:
    ids = invoke("encode", "--encoding", name, stdin=text.encode()).stdout_bytes
    assert invoke("decode", "--encoding", name, stdin=ids).stdout_bytes == text.encode()


def test_encode_writes_one_line_per_file(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello\n\nworld\n")
    (tmp_path / "empty").touch()
    result = invoke("encode", tmp_path / "a", tmp_path / "empty", tmp_path / "a")
    first, second, third = result.stdout.splitlines()
    assert (first, second) == (third, "")
    assert invoke("decode", stdin=result.stdout).stdout == "hello\n\nworld\n" * 2


def test_encode_rows_as_json_lines(invoke: Invoke, oracle: tiktoken.Encoding) -> None:
    [line] = invoke("encode", "--format", "jsonl", stdin="hello, world").stdout.splitlines()
    tokens = oracle.encode_ordinary("hello, world")
    assert json.loads(line) == {"file": "-", "token_count": len(tokens), "tokens": tokens}


def test_special_tokens_need_allow_special(invoke: Invoke, oracle: tiktoken.Encoding) -> None:
    text = "a<|endoftext|>b"
    special = invoke("encode", "--allow-special", stdin=text).stdout
    assert list(map(int, special.split())) == oracle.encode(text, allowed_special="all")
    assert str(oracle.eot_token) in special.split()
    assert str(oracle.eot_token) not in invoke("encode", stdin=text).stdout.split()
    assert invoke("decode", stdin=special).stdout == text


@pytest.mark.parametrize(
    "written",
    ["24912 2375", "24912\n2375\n", "\t24912\r\n\r\n  2375", "[24912, 2375]", "[24912]\n[2375]"],
)
def test_decode_reads_white_space_and_json_arrays(invoke: Invoke, written: str) -> None:
    assert get_encoding("o200k_base").encode_ordinary("hello world") == [24912, 2375]
    assert invoke("decode", stdin=written).stdout_bytes == b"hello world"


def test_decode_reads_an_indented_json_array(invoke: Invoke) -> None:
    assert invoke("decode", stdin=json.dumps([24912, 2375], indent=2)).stdout == "hello world"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("[61859, 54312", "line 1: a JSON array begins, and does not end"),
        ("[1]\n[[2, 3],\n4\n", "line 2: a JSON array begins, and does not end"),
        ("[1,\n2 3]", "line 2: a comma is missing in a JSON array"),
        ("[1 [2]]", "line 1: a comma is missing in a JSON array"),
        ("[[1] 2]", "line 1: a comma is missing in a JSON array"),
        ("[1,\n\n2]]", "line 3: ']' ends no array"),
        ("1]", "line 1: ']' ends no array"),
        ("[1,,2]", "line 1: an id is missing in a JSON array"),
        ("[,1]", "line 1: an id is missing in a JSON array"),
        ("[1,]", "line 1: an id is missing in a JSON array"),
    ],
)
def test_decode_refuses_arrays_that_are_incomplete(
    invoke: Invoke, written: str, problem: str
) -> None:
    result = invoke("decode", stdin=written)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"cutline: -: {problem}")


def taken(read: Callable[[str], object], written: str) -> bool | None:
    """Whether an array is read; None: it is, and more follows."""
    try:
        read(written)
    except ValueError as error:
        return None if str(error).startswith("Extra data") else False
    return True


def test_decode_takes_the_arrays_that_json_takes() -> None:
    """All short texts that begin with a bracket; after the first array, more may follow."""
    encoding = get_encoding("o200k_base")
    for length in range(7):
        for rest in product("[],1 ", repeat=length):
            written = "[" + "".join(rest)
            expected = taken(json.loads, written)
            found = taken(lambda ids: decode_ids(encoding, ids.encode()), written)
            assert expected in (None, found), written


def test_decode_writes_tokens_that_are_not_utf8(invoke: Invoke) -> None:
    token = get_encoding("o200k_base").encode_single_token(b"\xff")
    assert invoke("decode", stdin=str(token)).stdout_bytes == b"\xff"


def test_decode_of_nothing_is_nothing(invoke: Invoke) -> None:
    result = invoke("decode", stdin="\n[]\n")
    assert (result.exit_code, result.stdout_bytes) == (0, b"")


@pytest.mark.parametrize("word", ["x4", "1.5", "-1", "1_000", "٣", "0x10", "1" * 11, "9" * 5000])
def test_decode_names_the_line_and_the_word_that_is_no_id(invoke: Invoke, word: str) -> None:
    result = invoke("decode", stdin=f"1 2\n\n3 {word} 4\n")
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"cutline: -: line 3: {word[:40]!r} is not a token id")


@pytest.mark.parametrize("token", [200_019, 4_294_967_295, 9_999_999_999])
def test_decode_names_the_line_and_the_id_that_is_unknown(invoke: Invoke, token: int) -> None:
    result = invoke("decode", stdin=f"1 2\n{token}\n")
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    [line] = result.stderr.splitlines()
    assert line.startswith("cutline: -: line 2: ")
    assert str(token) in line


def test_a_file_that_fails_to_decode_writes_no_part_of_itself(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "bad").write_text("24912 bad")
    (tmp_path / "good").write_text("24912")
    result = invoke("decode", tmp_path / "bad", tmp_path / "good")
    assert (result.exit_code, result.stdout) == (1, "hello")
