"""What goes wrong is one line on stderr, and the other files are still processed."""

import gzip
import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import cutline
from cutline.cli.inputs import LARGE_BYTES
from cutline.errors import CorruptDataError
from tests.cli.conftest import Invoke

COMMANDS = ["chunk", "count", "encode", "decode"]


@pytest.mark.parametrize("name", COMMANDS)
def test_missing_file_is_reported_and_the_others_are_processed(
    invoke: Invoke, tmp_path: Path, name: str
) -> None:
    (tmp_path / "good").write_text("1")
    missing = tmp_path / "missing"
    alone = invoke(name, tmp_path / "good")
    assert (alone.exit_code, alone.stderr) == (0, "")
    both = invoke(name, missing, tmp_path / "good")
    assert both.exit_code == 1
    assert both.stderr == f"cutline: {missing}: no such file or directory\n"
    assert both.stdout.startswith(alone.stdout)


@pytest.mark.parametrize("name", ["encode", "decode", "view"])
def test_directory_is_reported(invoke: Invoke, tmp_path: Path, name: str) -> None:
    result = invoke(name, tmp_path)
    assert (result.exit_code, result.stderr) == (1, f"cutline: {tmp_path}: is a directory\n")


@pytest.mark.parametrize(
    "args",
    [
        *((name,) for name in COMMANDS),
        ("view",),
        ("train", "--vocab-size=300", "--out=x"),
        ("count", "--output"),
        ("verify", "--chunk-size=5", "--source"),
        ("eval", "--questions"),
    ],
)
def test_an_empty_name_is_not_that_of_the_working_folder(
    invoke: Invoke, args: tuple[str, ...]
) -> None:
    result = invoke(*args, "")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "a name is empty: has a variable of the shell no value?" in result.stderr


@pytest.mark.parametrize("name", ["chunk", "count", "encode"])
def test_invalid_utf8_names_the_file_the_offset_and_the_way_out(
    invoke: Invoke, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes("ä ".encode() + b"caf\xe9!")
    result = invoke(name, path)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith(f"cutline: {path}: invalid utf-8 at byte offset 6 (byte 0xe9: ")
    assert "--errors replace" in line


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"text", mtime=0), "the file is compressed by gzip: unpack it first"),
        (b"\x28\xb5\x2f\xfd\x04", "the file is compressed by zstd: unpack it first"),
        (b"PK\x03\x04\x14\xff", "the file is a zip archive, as documents of Office"),
        (b"%PDF-1.7\n%\xe2\xe3", "the file is a PDF document: extract its text first"),
        (b"PAR1\xff", "the file is Parquet, not text"),
        (b"abc\0\xff", "the file is binary, not text: there is a NUL in its first bytes, and 0xff"),
    ],
)
@pytest.mark.parametrize("is_large", [False, True])
def test_binary_file_is_told_what_it_is(
    invoke: Invoke, tmp_path: Path, content: bytes, said: str, is_large: bool
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(content + b"\xff" * (LARGE_BYTES if is_large else 1))
    result = invoke("chunk", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"cutline: {path}: {said}")
    assert invoke("count", "--errors", "replace", path).exit_code == 0 or is_large


def test_errors_replace_reads_invalid_utf8(invoke: Invoke) -> None:
    ids = invoke("encode", "--errors", "replace", stdin=b"caf\xe9!").stdout
    assert invoke("decode", stdin=ids).stdout == "caf\N{REPLACEMENT CHARACTER}!"


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--encoding o200k", "o200k_base"),
        ("--model gpt-4p", "gpt-4"),
        ("--encoding gpt-4o", "'gpt-4o' is a model, whose encoding is found by --model gpt-4o"),
        ("--encoding nothing-near", "take a name that `cutline encodings` lists, a tokenizer's"),
        ("--model nothing-near", "take a name that `cutline encodings` lists, a tokenizer's"),
        ("--model o200k_base", "pass --encoding o200k_base"),
        ("--model BAAI/bge-m3", "pass --encoding BAAI/bge-m3"),
        ("--encoding gpt2 --model gpt-4", "--encoding and --model exclude each other"),
        ("--no-such-option", "--no-such-option"),
    ],
)
def test_wrong_usage_exits_with_2_and_suggests(
    invoke: Invoke, name: str, options: str, message: str
) -> None:
    result = invoke(name, *options.split(), stdin="1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_error_that_belongs_to_no_file_is_one_line(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise CorruptDataError(f"{name}.bin is damaged: reinstall cutline")

    monkeypatch.setattr(cutline, "get_encoding", fail)
    result = invoke("count", stdin="hello")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "cutline: o200k_base.bin is damaged: reinstall cutline\n"


@pytest.mark.skipif(os.name == "nt", reason="file names are text on Windows")
def test_file_name_that_is_not_utf8_is_shown_with_replacements_and_found_again(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    try:
        path.write_text("hello")
    except OSError:
        pytest.skip("the file system takes no such names")
    shown = f"{tmp_path}/caf\N{REPLACEMENT CHARACTER}"
    assert invoke("count", path).stdout == f"1  {shown}\n"
    chunks = invoke("chunk", "--prefix", "x", path).stdout_bytes
    assert chunks.startswith(f'{{"file": "{tmp_path}/caf\\udce9", '.encode())
    (tmp_path / "chunks.jsonl").write_bytes(chunks)
    verified = invoke("verify", "--chunk-size", "9", "--prefix", "x", tmp_path / "chunks.jsonl")
    assert verified.stdout.startswith(f"{shown}: 1 chunk of 5 characters: all exact")
    for options in (["--chunk-size", "9"], ["--sizes", "9,4"]):
        target = tmp_path / "chunks.parquet"
        invoke("chunk", *options, "--format", "parquet", "-o", target, path)
        assert pq.read_table(target)["file"][0].as_py() == shown
    assert f"<title>{shown}" in invoke("view", "--format", "html", path).stdout


@pytest.mark.parametrize(
    "name",
    [
        *COMMANDS,
        "encodings",
        "languages",
        "messages",
        "pack",
        "verify",
        "train",
        "shorten",
        "truncate",
        "view",
    ],
)
def test_every_command_has_help_with_examples(invoke: Invoke, name: str) -> None:
    for flag in ("-h", "--help"):
        result = invoke(name, flag)
        assert (result.exit_code, result.stderr) == (0, "")
        assert f"cutline {name}" in result.stdout.partition("Examples:")[2]


@pytest.mark.parametrize("name", [*COMMANDS, "eval", "pack", "train", "truncate", "verify", "view"])
def test_help_names_no_option_that_the_command_lacks(invoke: Invoke, name: str) -> None:
    text = re.sub(r"-\n +", "-", invoke(name, "--help").stdout)
    option = re.compile(r"--[a-z][a-z\d-]*")
    own = option.findall(" ".join(re.findall(r"^  (-.*?)(?:  |$)", text, re.MULTILINE)))
    assert "--help" in own
    assert {*option.findall(text)} <= {*own}
