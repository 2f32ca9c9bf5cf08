"""Large files: cut as they are read, with the same rows."""

import json
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest

from cutline.cli import decoding, inputs
from tests.cli.conftest import Invoke

TEXT = "\ufeffOne sentence.\r\n\r\nAnother, 名前はまだ無い 👩‍👩‍👧‍👦.\n" * 200


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture
def reads_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly every file is large, and is read in many parts."""
    monkeypatch.setattr(inputs, "LARGE_BYTES", 10)
    monkeypatch.setattr(decoding, "_READ_BYTES", 7)


@pytest.mark.parametrize("by", ["token", "text", "markdown"])
@pytest.mark.parametrize(
    "options", [["--chunk-size", "16", "--overlap", "4"], ["--chunk-size", "3"], ["--strip"]]
)
@pytest.mark.parametrize("form", ["jsonl", "text"])
def test_large_file_has_the_same_rows(
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    file: Path,
    by: str,
    options: list[str],
    form: str,
) -> None:
    arguments = ["chunk", "--by", by, "--format", form, *options, file, file]
    small = invoke(*arguments)
    request.getfixturevalue("reads_little")
    if by != "markdown" and options[1:] != ["3"]:
        monkeypatch.setattr(Path, "read_bytes", None)  # it is not read whole
    large = invoke(*arguments)
    assert (large.exit_code, large.stderr) == (small.exit_code, small.stderr)
    assert large.stdout_bytes == small.stdout_bytes


@pytest.mark.parametrize("place", [0, 6, 7, 1000, len(TEXT.encode())])
@pytest.mark.parametrize("bad", [b"\xff", b"\xe5\x90", b"\xf0\x9f\x91!"])
def test_large_file_that_is_not_utf8_has_no_rows_and_the_same_error(
    invoke: Invoke, request: pytest.FixtureRequest, file: Path, place: int, bad: bytes
) -> None:
    content = TEXT.encode()
    file.write_bytes(content[:place] + bad + content[place:])
    small = invoke("chunk", file)
    request.getfixturevalue("reads_little")
    large = invoke("chunk", file)
    assert small.exit_code == large.exit_code == 1
    assert large.stderr == small.stderr
    assert large.stdout == ""


@pytest.mark.usefixtures("reads_little")
def test_bytes_that_are_replaced_are_read_whole(invoke: Invoke, file: Path) -> None:
    file.write_bytes(b"one \xff two" * 9)
    result = invoke("chunk", "--errors", "replace", file)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["text"] == "one \ufffd two" * 9


@pytest.mark.usefixtures("reads_little")
def test_rows_are_numbered_file_by_file(invoke: Invoke, file: Path) -> None:
    rows = list(map(json.loads, invoke("chunk", file, file).stdout.splitlines()))
    again = [a["index"] for a, b in pairwise(rows) if b["index"] == 0]
    assert again == [rows[-1]["index"]]


@pytest.mark.parametrize("n_kept", [1, 40])
def test_large_file_that_becomes_shorter_while_it_is_read_fails(
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    reads_little: None,
    file: Path,
    tmp_path: Path,
    n_kept: int,
) -> None:
    """Its rows would look like those of a whole file."""
    read = decoding.TextReader.utf8_blocks
    passes: list[Path] = []

    def changing(reader: decoding.TextReader, path: Path) -> Iterator[bytes]:
        passes.append(path)
        return islice(read(reader, path), n_kept if len(passes) == 2 else None)

    monkeypatch.setattr(decoding.TextReader, "utf8_blocks", changing)
    result = invoke("chunk", "--chunk-size", "8", "-o", tmp_path / "out", file)
    assert result.exit_code == 1
    assert result.stderr == f"cutline: {file}: the file became shorter while it was read\n"
    assert not (tmp_path / "out").exists()


def test_large_file_that_grows_while_it_is_read_is_cut_to_its_end(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, reads_little: None, file: Path
) -> None:
    read = decoding.TextReader.utf8_blocks
    passes: list[Path] = []

    def growing(reader: decoding.TextReader, path: Path) -> Iterator[bytes]:
        passes.append(path)
        yield from read(reader, path)
        if len(passes) == 2:
            yield b"One more line.\n"

    monkeypatch.setattr(decoding.TextReader, "utf8_blocks", growing)
    result = invoke("chunk", "--chunk-size", "64", file)
    assert result.exit_code == 0
    texts = [json.loads(line)["text"] for line in result.stdout.splitlines()]
    assert "".join(texts) == TEXT + "One more line.\n"
