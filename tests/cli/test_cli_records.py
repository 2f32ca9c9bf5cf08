"""--column: rows of JSON Lines and Parquet as documents."""

import datetime
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cutline
from cutline import MarkdownChunker, TextChunker
from cutline.cli import records
from cutline.training.file_reader import FileReader
from tests.cli.conftest import Invoke, rows_of

ROWS: list[dict[str, Any]] = [
    {"id": 7, "body": "# One\n\nTwo three, four five six seven eight.\n", "tags": ["a"]},
    {"id": 8, "body": None, "tags": []},
    {"id": 9, "body": "", "tags": None},
    {"id": 10, "body": "名前はまだ無い \u2028 👩‍👩‍👧‍👦" * 5, "tags": ["b", "c"]},
]


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture(params=["jsonl", "ndjson", "jsonl.gz", "parquet", "-"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, bytes]:
    """A file with the rows, by its name, and standard input."""
    path = tmp_path / f"a.{request.param}"
    if request.param == "-":
        return "-", jsonl(ROWS)
    if request.param == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        content = jsonl(ROWS)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path), b""


@pytest.mark.parametrize("by", ["auto", "markdown"])
@pytest.mark.parametrize("rows_at_once", [1, 512])
def test_each_row_is_a_document_with_its_columns(
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    source: tuple[str, bytes],
    by: str,
    rows_at_once: int,
) -> None:
    monkeypatch.setattr(records, "_ROWS_AT_ONCE", rows_at_once)
    name, stdin = source
    arguments = ["--column", "body", "--by", by, "--chunk-size", "8", name]
    result = invoke("chunk", *arguments, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    chunker = (MarkdownChunker if by == "markdown" else TextChunker)("o200k_base", 8)
    expected = [
        (name, chunk.index, chunk.text, [*chunk.headings], place, row["id"], row["tags"])
        for place, row in enumerate(ROWS, 1)
        for chunk in chunker.chunk(row["body"] or "")
    ]
    assert expected == [
        (
            *(row[key] for key in ("file", "index", "text", "headings")),
            row["metadata"]["row"],
            *(row["metadata"]["record"][key] for key in ("id", "tags")),
        )
        for row in rows_of(result.stdout_bytes)
    ]


SURROGATES = b"""{"text": "a", "by": {"name": "\\ud83d"}}
{"text": "b \\udcff"}
{"text": "c", "\\udcff": 1}
"""


@pytest.mark.parametrize("errors", ["strict", "replace"])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_lone_surrogates_fail_a_text_but_not_the_other_columns(
    invoke: Invoke, tmp_path: Path, errors: str, form: str
) -> None:
    path, target = tmp_path / "a.jsonl", tmp_path / "out.parquet"
    path.write_bytes(SURROGATES)
    result = (
        invoke(
            "chunk", "--column", "text", "--errors", errors, "--format", form, "-o", target, path
        )
        if form == "parquet"
        else invoke("chunk", "--column", "text", "--errors", errors, path)
    )
    rows = (
        [
            row | {"metadata": json.loads(row["metadata"])}
            for row in pq.read_table(target).to_pylist()
        ]
        if form == "parquet"
        else rows_of(result.stdout_bytes)
    )
    texts = ["a", "c"] if errors == "strict" else ["a", "b \ufffd", "c"]
    assert [row["text"] for row in rows] == texts
    assert rows[0]["metadata"]["record"] == {"by": {"name": "\ud83d"}}
    assert rows[-1]["metadata"]["record"] == {"\udcff": 1}
    assert result.exit_code == (1 if errors == "strict" else 0)
    assert ("line 2: the text has a lone surrogate" in result.stderr) == (errors == "strict")


def test_lone_surrogates_in_other_commands(invoke: Invoke) -> None:
    column = ["--column", "text"]
    packed = invoke("pack", "--max-tokens", "9", *column, stdin=SURROGATES)
    assert (packed.exit_code, packed.stdout) == (1, "a\n\nc")
    assert "-, line 2: the text has a lone surrogate" in packed.stderr
    packed = invoke("pack", "-n", "9", "--errors", "replace", *column, stdin=SURROGATES)
    assert (packed.exit_code, packed.stdout) == (0, "a\n\nb \ufffd\n\nc")
    texts = invoke("chunk", "--format", "text", *column, stdin=SURROGATES)
    assert (texts.exit_code, texts.stdout) == (1, "a\n\f\nc")
    counted = invoke("count", *column, stdin=SURROGATES)
    assert (counted.exit_code, counted.stdout) == (1, "2\n")
    assert "-, line 2: the text has a lone surrogate" in counted.stderr
    expected = cutline.get_encoding("o200k_base").count("b \ufffd") + 2
    counted = invoke("count", "--errors", "replace", *column, stdin=SURROGATES)
    assert (counted.exit_code, counted.stdout) == (0, f"{expected}\n")


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_counts_are_those_of_the_texts(
    invoke: Invoke, source: tuple[str, bytes], jobs: str
) -> None:
    name, stdin = source
    texts = [row["body"] or "" for row in ROWS]
    n_tokens = sum(cutline.get_encoding("o200k_base").count(text) for text in texts)
    options = ["--column", "body", "--jobs", jobs]
    result = invoke("count", *options, "--format", "jsonl", name, stdin=stdin)
    assert rows_of(result.stdout_bytes) == [{"file": name, "token_count": n_tokens}]
    table = invoke("count", *options, "--format", "table", name, stdin=stdin).stdout.split()
    assert str(sum(map(len, texts))) in table
    assert str(sum(len(text.encode()) for text in texts)) in table


def test_rows_that_fail_are_named_and_the_others_go_on(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"body": "one"}\n[]\n{"other": 1}\nno json\n{"body": 1}\n{"body": "\\ud800"}\n\n'
        b'{"body": "\xff"}\n{"body": ""}\n{"body": "two"}\n'
    )
    for jobs in ("1", "2"):
        result = invoke("chunk", "--column", "body", "--jobs", jobs, path)
        assert result.exit_code == 1
        rows = rows_of(result.stdout_bytes)
        assert [row["metadata"]["row"] for row in rows] == [1, 10]
        lines = result.stderr.splitlines()
        places = [line.removeprefix(f"cutline: {path}, line ")[:2] for line in lines[:-1]]
        assert sorted(places) == ["2:", "4:", "5:", "6:"]
        assert "line 8: invalid utf-8" in lines[-1]


def test_an_old_output_is_kept_if_no_row_could_be_read(invoke: Invoke, tmp_path: Path) -> None:
    path, target = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    target.write_text("old")
    for content in ('[{"body": "one"}]\n', '{"body": ""}\n{"body": 1}\n', '{"text": "a"}\n'):
        path.write_text(content)
        result = invoke("chunk", "--column", "body", "-o", target, path)
        assert result.exit_code == 1
        assert result.stderr.endswith(f"cutline: {path}: no row has a chunk\n")
        assert target.read_text() == "old"
    (tmp_path / "b.jsonl").write_text('{"body": ""}\n')  # which is no failure
    assert invoke("chunk", "--column", "body", "-o", target, tmp_path / "b.jsonl").exit_code == 0
    assert target.read_text() == ""


def test_files_without_such_a_column_are_named(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b.jsonl").write_text('{"body": "one two"}')
    pq.write_table(pa.Table.from_pylist([{"x": 1}]), tmp_path / "c.parquet")
    (tmp_path / "d.parquet").write_bytes(b"none")
    result = invoke("count", "--column", "body", tmp_path)
    assert result.exit_code == 1
    assert result.stdout == f"2  {tmp_path / 'b.jsonl'}\n"
    *lines, skipped = result.stderr.splitlines()
    problems = dict(line.removeprefix(f"cutline: {tmp_path}/").split(": ", 1) for line in lines)
    assert sorted(problems) == ["c.parquet", "d.parquet"]
    assert skipped == (
        f"cutline: skipped 1 file that is neither JSON Lines nor Parquet: {tmp_path / 'a.md'}"
    )
    assert problems["c.parquet"] == "no column 'body'; there is 'x'"
    assert problems["d.parquet"].startswith("not a parquet file")


@pytest.mark.parametrize("at_once", [1, 3, 1 << 20])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "-"])
@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ("utf-16", []),
        ("utf-16", ["--input-encoding", "utf-16"]),
        ("utf-32", []),
        ("utf-16-be", ["--input-encoding", "utf-16-be"]),
        ("utf-8-sig", []),
        ("cp1252", ["--input-encoding", "cp1252"]),
        ("utf-8", ["--errors", "replace"]),
    ],
)
def test_rows_are_decoded_as_files_are(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    encoding: str, options: list[str], name: str, at_once: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(FileReader.__init__, "__defaults__", (at_once,))
    texts = ["café\none", "two €", "na\u00efve"]
    content = "".join(json.dumps({"body": text}, ensure_ascii=False) + "\n" for text in texts)
    stdin = content.encode(encoding)
    (tmp_path / "a.jsonl").write_bytes(stdin)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(stdin))
    path = "-" if name == "-" else tmp_path / name
    result = invoke("chunk", "--column", "body", *options, path, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [row["text"] for row in rows_of(result.stdout_bytes)] == texts
    counted = invoke("count", "--column", "body", *options, path, stdin=stdin)
    assert counted.stdout.split()[0] == str(
        sum(map(cutline.get_encoding("o200k_base").count, texts))
    )


@pytest.mark.parametrize("command", ["chunk", "count", "pack --max-tokens 9"])
def test_rows_in_another_encoding_name_the_option(
    command: str, invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"body": "one"}\n{"body": "caf\xe9"}\n')
    arguments = [*command.split(), "--column", "body", path]
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"cutline: {path}, line 2: invalid utf-8 at byte offset 13 ")
    assert "; convert it to utf-8, name its encoding, such as --input-enc" in result.stderr
    for options in (["--errors", "replace"], ["--input-encoding", "latin-1"]):
        assert invoke(*arguments, *options).exit_code == 0
    assert "iterator" not in result.stderr  # which is for Python
    path.write_bytes('{"body": "one"}\n'.encode("utf-16") + b"a")
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert f"cutline: {path}: invalid utf-16 at byte offset 34 (byte 0x61" in result.stderr


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (gzip.compress(b"{}", mtime=0), "is compressed by gzip: unpack it first"),
        (b"PAR1", "is Parquet, which is read from a file whose name ends in .parquet"),
    ],
)
def test_what_standard_input_is_instead_of_rows_is_named(
    invoke: Invoke, stdin: bytes, said: str
) -> None:
    result = invoke("chunk", "--column", "body", stdin=stdin)
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_only_the_columns_that_are_named_are_carried(
    invoke: Invoke, tmp_path: Path, form: str
) -> None:
    path = tmp_path / f"a.{form}"
    rows = [{"id": n, "body": "one two", "title": f"T{n}", "vector": [0.5] * n} for n in (1, 2)]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(jsonl(rows))
    arguments = ["chunk", "--column", "body", path, "--carry"]

    def records(*options: str) -> list[Any]:
        result = invoke(*arguments, *options)
        assert (result.exit_code, result.stderr) == (0, "")
        return [row["metadata"]["record"] for row in rows_of(result.stdout_bytes)]

    assert records("id") == [{"id": 1}, {"id": 2}]
    assert records("vector", "--carry", "id") == [{"id": n, "vector": [0.5] * n} for n in (1, 2)]
    assert records("id", "--template", "{file} {title}: {text}") == [
        {"id": n, "title": f"T{n}"} for n in (1, 2)
    ]
    wrong = invoke(*arguments, "ids")
    if form == "parquet":
        assert wrong.exit_code == 1
        assert wrong.stderr == (
            f"cutline: {path}: no column 'ids'; there is 'id', 'body', 'title', 'vector'\n"
            f"cutline: {path}: no row has a chunk\n"
        )
    else:  # lines may lack any
        assert [row["metadata"]["record"] for row in rows_of(wrong.stdout_bytes)] == [{}, {}]
        assert wrong.exit_code == 0
        assert wrong.stderr == "cutline: --carry ids: no row has this column\n"
    assert invoke("chunk", "--carry", "id", path).exit_code == 2
    assert "--carry body is the --column, which" in invoke(*arguments, "body").stderr


def test_a_column_to_carry_that_some_row_of_some_file_has_is_no_mistake(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": "one"}\n')
    (tmp_path / "b.jsonl").write_text('{"body": "one"}\n{"body": "", "id": null}\n')
    arguments = ["chunk", "--column", "body", "--carry", "id", "--carry", "x\ny"]
    noted = "cutline: --carry x\\ny: no row has this column\n"
    assert invoke(*arguments, tmp_path).stderr == noted
    assert invoke(*arguments, stdin="").stderr == ""  # no row at all


def test_the_language_of_rows_must_be_said(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": "def f(): pass"}')
    arguments = ["chunk", "--column", "body", "--by", "code", tmp_path / "a.jsonl"]
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "--column with --by code needs --language" in result.stderr
    assert invoke(*arguments, "--language", "python").exit_code == 0


def test_other_files_of_a_dataset_are_skipped_unless_they_are_named(
    invoke: Invoke, tmp_path: Path
) -> None:
    """Engines write such files beside the parts."""
    for name in ("part-0.parquet", "part-1.parquet"):
        pq.write_table(pa.table({"body": ["one two"]}), tmp_path / name)
    for name in ("_SUCCESS", "_metadata"):
        (tmp_path / name).write_bytes(b"")
    for name in (tmp_path, tmp_path / "*"):
        result = invoke("count", "--column", "body", name)
        assert result.exit_code == 0
        assert result.stdout.endswith("4  total\n")
        assert result.stderr == (
            "cutline: skipped 2 files that are neither JSON Lines nor Parquet: "
            f"{tmp_path / '_SUCCESS'}, {tmp_path / '_metadata'}\n"
        )
    result = invoke("count", "--column", "body", tmp_path / "_SUCCESS")
    assert result.exit_code == 1
    assert "its name is that of no file with rows" in result.stderr


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl.zst"])
@pytest.mark.parametrize(
    "command", ["chunk", "count", "pack --max-tokens 9", "verify --chunk-size 9 --source"]
)
def test_a_missing_package_fails_its_file_alone(
    command: str, name: str, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(b"")
    (tmp_path / "b.jsonl").write_text('{"text": "one two"}')
    (tmp_path / "text").write_text("one two")
    for package in ("pyarrow.parquet", "zstandard"):
        monkeypatch.setitem(sys.modules, package, None)
    end = tmp_path / "text" if command.startswith("verify") else "--column=text"
    result = invoke(*command.split(), end, tmp_path / name, tmp_path / "b.jsonl")
    assert result.exit_code == 1
    extra = "arrow" if name == "a.parquet" else "zstd"
    [line] = result.stderr.splitlines()
    assert line.startswith(f"cutline: {tmp_path / name}: ")
    assert line.endswith(f"pip install 'cutline[{extra}]'")
    assert "one two" in result.stdout or "2" in result.stdout


@pytest.mark.parametrize("command", ["chunk", "count"])
def test_a_column_of_nulls_has_no_texts(command: str, invoke: Invoke, tmp_path: Path) -> None:
    """Its type is that of nulls if no part of a data set says otherwise."""
    pq.write_table(pa.table({"body": pa.nulls(3)}), tmp_path / "a.parquet")
    result = invoke(command, "--column", "body", tmp_path / "a.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == ("" if command == "chunk" else f"0  {tmp_path / 'a.parquet'}\n")


@pytest.mark.parametrize("command", ["chunk", "count"])
def test_parquet_without_a_column_is_told_from_text(
    command: str, invoke: Invoke, tmp_path: Path
) -> None:
    small, large = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table({"body": ["one"], "x": [b"\xff"]}), small)
    large.write_bytes(small.read_bytes() + b"\xff" * (17 << 20))
    for path in (small, large):
        result = invoke(command, path)
        assert result.exit_code == 1
        assert "the file is Parquet, not text: `cutline chunk` and `cutline" in result.stderr
        assert result.stderr.endswith("one of its columns with --column NAME\n")


def test_values_without_a_form_in_json(invoke: Invoke, tmp_path: Path) -> None:
    when = datetime.datetime(2026, 1, 2, 3, 4)
    row = {"body": "one", "when": when, "x": float("nan"), "y": [float("inf"), 1.5], "z": b"a"}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    for form in ("jsonl", "parquet"):
        result = invoke(
            "chunk",
            "--column",
            "body",
            "--format",
            form,
            "-o",
            tmp_path / form,
            tmp_path / "a.parquet",
        )
        assert (result.exit_code, result.stderr) == (0, "")
    [made] = rows_of((tmp_path / "jsonl").read_bytes())
    [same] = pq.read_table(tmp_path / "parquet").to_pylist()
    assert json.loads(same["metadata"]) == made["metadata"]
    assert made["metadata"]["record"] == {
        **{"when": "2026-01-02 03:04:00", "x": None, "y": [None, 1.5], "z": "b'a'"}
    }
