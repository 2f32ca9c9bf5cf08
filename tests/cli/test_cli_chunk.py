"""`cutline chunk`: rows that can be trusted, from any file."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import tiktoken

from cutline import TextChunker
from cutline.chunking.chunk_run import ChunkRun, each_chunk
from cutline.cli.rows import json_rows
from tests.cli.conftest import Invoke, rows_of

ROW_KEYS = [
    "file",
    "index",
    "start_index",
    "end_index",
    "token_count",
    "text",
    "headings",
    "metadata",
    "content_hash",
]


@pytest.mark.parametrize("chunk_size", [4, 7, 64, 512])
def test_chunks_tile_the_file(
    invoke: Invoke, oracle: tiktoken.Encoding, tmp_path: Path, text: str, chunk_size: int
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    result = invoke("chunk", "--chunk-size", str(chunk_size), path)
    assert (result.exit_code, result.stderr) == (0, "")
    rows = rows_of(result.stdout_bytes)
    assert "".join(row["text"] for row in rows) == text
    for index, row in enumerate(rows):
        assert list(row) == ROW_KEYS
        assert (row["file"], row["index"]) == (str(path), index)
        assert text[row["start_index"] : row["end_index"]] == row["text"]
        assert row["token_count"] == len(oracle.encode_ordinary(row["text"])) <= chunk_size


def test_overlapping_chunks_share_text_within_the_budget(
    invoke: Invoke, oracle: tiktoken.Encoding, text: str
) -> None:
    result = invoke("chunk", "--chunk-size", "12", "--overlap", "4", stdin=text.encode())
    assert (result.exit_code, result.stderr) == (0, "")
    rows = rows_of(result.stdout_bytes)
    assert (rows[0]["start_index"], rows[-1]["end_index"]) == (0, len(text))
    for row in rows:
        assert text[row["start_index"] : row["end_index"]] == row["text"]
        assert row["token_count"] == len(oracle.encode_ordinary(row["text"])) <= 12
    for left, right in pairwise(rows):
        assert left["start_index"] < right["start_index"] <= left["end_index"] < right["end_index"]
        shared = text[right["start_index"] : left["end_index"]]
        assert len(oracle.encode_ordinary(shared)) <= 4


def test_overlap_repeats_the_end_of_the_previous_chunk(invoke: Invoke) -> None:
    text = " one" * 10
    rows = rows_of(invoke("chunk", "--chunk-size", "4", "--overlap", "1", stdin=text).stdout_bytes)
    assert [row["text"] for row in rows] == [" one" * 4] * 3
    assert [row["start_index"] for row in rows] == [0, 12, 24]


def test_text_format_joins_chunks_with_a_form_feed_line(invoke: Invoke) -> None:
    text = "one two three four five\r\nsix seven\n" * 3
    rows = rows_of(invoke("chunk", "--chunk-size", "6", stdin=text).stdout_bytes)
    result = invoke("chunk", "--chunk-size", "6", "--format", "text", stdin=text)
    assert result.stdout_bytes.decode().split("\n\f\n") == [row["text"] for row in rows]


def test_text_format_separates_files_like_chunks(invoke: Invoke, tmp_path: Path) -> None:
    for name, content in (("a", "alpha"), ("empty", ""), ("b", "beta\n")):
        (tmp_path / name).write_text(content)
    paths = [tmp_path / name for name in ("a", "empty", "b")]
    result = invoke("chunk", "--format", "text", "--separator", "=====", *paths)
    assert result.stdout_bytes == b"alpha\n=====\nbeta\n"


def test_rows_of_several_files_name_their_file(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("alpha")
    (tmp_path / "b").write_text("beta")
    rows = rows_of(invoke("chunk", tmp_path / "a", "-", tmp_path / "b", stdin="in").stdout_bytes)
    assert [(row["file"], row["index"], row["text"]) for row in rows] == [
        (str(tmp_path / "a"), 0, "alpha"),
        ("-", 0, "in"),
        (str(tmp_path / "b"), 0, "beta"),
    ]


@pytest.mark.parametrize("form", ["jsonl", "text"])
def test_empty_file_has_no_chunks(invoke: Invoke, tmp_path: Path, form: str) -> None:
    (tmp_path / "empty").touch()
    result = invoke("chunk", "--format", form, tmp_path / "empty")
    assert (result.exit_code, result.stdout_bytes, result.stderr) == (0, b"", "")


def test_defaults_are_those_of_the_help(invoke: Invoke) -> None:
    text = "All defaults, spelled out. " * 200
    spelled_out = (
        "--chunk-size 512 --overlap 0 --format jsonl --errors strict --encoding o200k_base"
    )
    result = invoke("chunk", *spelled_out.split(), "-", stdin=text)
    assert invoke("chunk", stdin=text).stdout_bytes == result.stdout_bytes
    assert len(rows_of(result.stdout_bytes)) > 1


def test_text_is_written_unescaped(invoke: Invoke) -> None:
    assert "名前 👍🏽".encode() in invoke("chunk", stdin="名前 👍🏽").stdout_bytes


def test_budget_too_small_for_a_character_fails_that_file_only(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "wide").write_text("ab 𓀀 cd")
    (tmp_path / "narrow").write_text("ab")
    result = invoke("chunk", "--chunk-size", "1", tmp_path / "wide", tmp_path / "narrow")
    assert result.exit_code == 1
    assert [row["file"] for row in rows_of(result.stdout_bytes)] == [str(tmp_path / "narrow")]
    [line] = result.stderr.splitlines()
    assert line.startswith(f"cutline: {tmp_path / 'wide'}: ")
    assert "'𓀀'" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--chunk-size 0", "--chunk-size"),
        ("--chunk-size many", "--chunk-size"),
        ("--overlap -1", "--overlap"),
        ("--chunk-size 8 --overlap 8", "--overlap 8 must be smaller than --chunk-size 8"),
        ("--separator x", "--separator needs --format text"),
        ("--format xml", "--format"),
    ],
)
def test_wrong_options_exit_with_2(invoke: Invoke, options: str, message: str) -> None:
    result = invoke("chunk", *options.split(), stdin="a")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("options", [[], ["--strip", "--overlap", "4"], ["--by", "markdown"]])
def test_line_numbers_are_columns(invoke: Invoke, tmp_path: Path, options: list[str]) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    path, out = tmp_path / "a.md", tmp_path / "out.parquet"
    lines = [f"Line {n} of the text.\r\n" * (n % 3) + "\r\n" for n in range(40)]
    path.write_bytes("".join(lines).encode())
    arguments = ["chunk", "--chunk-size", "16", *options, path]
    plain = rows_of(invoke(*arguments).stdout_bytes)
    rows = rows_of(invoke(*arguments, "--line-numbers").stdout_bytes)
    text = path.read_bytes().decode()
    for row in rows:
        assert row["start_line"] == text.count("\n", 0, row["start_index"]) + 1
        assert row["end_line"] == text.count("\n", 0, row["end_index"] - 1) + 1
    assert [*rows[0]][2:6] == ["start_index", "end_index", "start_line", "end_line"]
    assert [{k: v for k, v in row.items() if not k.endswith("_line")} for row in rows] == plain
    invoke(*arguments, "--line-numbers", "--format", "parquet", "-o", out)
    table = pq.read_table(out)
    assert table.column_names == [*rows[0]]
    assert [row | {"metadata": json.loads(row["metadata"])} for row in table.to_pylist()] == rows
    invoke("chunk", "--line-numbers", "--format", "parquet", "-o", out, stdin="")
    assert pq.read_table(out).column_names == [*rows[0]]


def test_rows_of_runs_are_those_of_their_chunks() -> None:
    parts = ['One "two".\tThree, año! ' * 40, "\n\n中文 👩‍👧.\0", "x"]
    runs = [*TextChunker("o200k_base", 7)._chunk_parts(parts)]
    assert any(isinstance(run, ChunkRun) for run in runs)
    rows = b"".join(json_rows([('ñ"%d.txt', runs), ("b", runs)]))
    assert rows == b"".join(json_rows([('ñ"%d.txt', each_chunk(runs)), ("b", each_chunk(runs))]))
    rendered = [b"".join(json_rows([("a", runs)], lambda file, chunk: file + chunk.text))]
    assert rendered == [
        b"".join(json_rows([("a", each_chunk(runs))], lambda file, chunk: file + chunk.text))
    ]
