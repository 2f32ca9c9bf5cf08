"""`cutline chunk --format parquet`: the columns of the JSON lines."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cutline import Chunk, TextChunker
from cutline.chunking.chunk_run import ChunkRun, each_chunk
from cutline.cli import parquet as parquet_module
from tests.cli.conftest import Command, Invoke

pq = pytest.importorskip("pyarrow.parquet")


def rows_of(content: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(content)).to_pylist()
    for row in rows:
        row["metadata"] = json.loads(row["metadata"])
    return rows


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_are_those_of_the_json_lines(
    invoke: Invoke, text: str, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_module, "_GROUP_ROWS", 3)
    options = ["--by", "text", "--chunk-size", "8", "--overlap", "2", "--jobs", n_jobs]
    lines = invoke("chunk", *options, stdin=text.encode()).stdout_bytes.decode()
    result = invoke("chunk", *options, "--format", "parquet", stdin=text.encode())
    assert (result.exit_code, result.stderr) == (0, "")
    assert rows_of(result.stdout_bytes) == [json.loads(line) for line in lines.split("\n") if line]


def test_headings_and_metadata_are_those_of_the_json_lines(invoke: Invoke) -> None:
    text = (
        "# Ä\n\n## 名前\n\n| a |\n|---|\n| b |\n\n# \n\n"
        + "one two three. " * 41
        + "\n\n### ñ\n\nx y z and so on"
    )
    options = ["--by", "markdown", "--chunk-size", "12"]
    lines = invoke("chunk", *options, stdin=text.encode()).stdout_bytes.decode()
    result = invoke("chunk", *options, "--format", "parquet", stdin=text.encode())
    rows = rows_of(result.stdout_bytes)
    assert rows == [json.loads(line) for line in lines.split("\n") if line]
    assert {len(row["headings"]) for row in rows} == {0, 1, 2}


def test_columns_are_the_same_for_all_texts(invoke: Invoke) -> None:
    written = [
        invoke("chunk", "--format", "parquet", "--by", by, stdin=text).stdout_bytes
        for by, text in (
            ("token", ""),
            ("text", "one"),
            ("markdown", "# A\n\n| a |\n|---|\n| b |\n"),
        )
    ]
    schemas = {str(pq.read_schema(io.BytesIO(content))) for content in written}
    assert schemas == {str(parquet_module.schema())}


def test_rows_are_written_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_module, "_GROUP_ROWS", 2)
    taken = 0

    def chunks() -> Iterator[Chunk]:
        nonlocal taken
        for _ in range(5):
            taken += 1
            yield Chunk("a", 0, 1, 1, 0)

    parts = parquet_module.parquet([("a", chunks())])
    first = next(parts)
    assert (taken, first[:4]) == (2, b"PAR1")
    assert len(rows_of(first + b"".join(parts))) == 5


@pytest.mark.parametrize("limit", ["_GROUP_ROWS", "_GROUP_CHARACTERS"])
@pytest.mark.parametrize("most", [1, 2, 7, 40])
def test_runs_of_chunks_are_grouped_like_chunks(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_module, limit, most)
    parts = ["One two. Three, año! " * 19, "\n\n中文 👩‍👧.", "x"]
    runs = [*TextChunker("o200k_base", 7)._chunk_parts(parts)]
    assert any(isinstance(run, ChunkRun) for run in runs)
    chunks = [*each_chunk(runs)]
    found = [("a", runs), ("b", runs[-2:]), ("b", []), ("c", chunks)]
    expected = [(name, [*each_chunk(items)]) for name, items in found]
    written = [b"".join(parquet_module.parquet(results)) for results in (found, expected)]
    assert written[0] == written[1]
    assert pq.ParquetFile(io.BytesIO(written[0])).num_row_groups > 1


def test_reader_that_leaves_early_leaves_no_thread_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet_module, "_GROUP_ROWS", 2)
    chunks = [Chunk("a", 0, 1, 1, 0)] * 100
    parts = parquet_module.parquet([("a", chunks)], n_jobs=2)
    assert next(parts)
    parts.close()


def test_more_text_than_a_column_holds_is_refused(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    monkeypatch.setattr(parquet_module, "_STRING_BYTES", 99)
    result = invoke("chunk", "--format", "parquet", stdin="a" * 100)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pass a smaller --chunk-size" in result.stderr


def test_pandas_is_not_imported() -> None:
    # pyarrow would for a list, and that takes longer than all the rest of a short run.
    program = (
        "import sys\n"
        "from cutline import Chunk\n"
        "from cutline.cli.parquet import parquet\n"
        "list(parquet([('a', [Chunk('a', 0, 1, 1, 0)])]))\n"
        "print('pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_output_file_is_whole(invoke: Invoke, tmp_path: Path) -> None:
    target = tmp_path / "chunks.parquet"
    options = ["--format", "parquet", "-o", target]
    assert invoke("chunk", *options, tmp_path / "missing").exit_code == 1
    assert not target.exists()
    assert invoke("chunk", *options, stdin="one two").exit_code == 0
    assert [row["text"] for row in rows_of(target.read_bytes())] == ["one two"]


def test_parquet_goes_into_a_pipe(command: Command) -> None:
    result = command("chunk", "--format", "parquet", input=b"one two")
    assert (result.returncode, result.stderr) == (0, b"")
    assert [row["text"] for row in rows_of(result.stdout)] == ["one two"]


def test_missing_package_is_named_before_anything_is_read(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = invoke("chunk", "--format", "parquet", "missing")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "cutline: --format parquet needs the package pyarrow: pip install 'cutline[arrow]'\n"
    )


def test_package_that_cannot_be_imported_is_named_and_nothing_is_written(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    target = tmp_path / "chunks.parquet"
    result = invoke("chunk", "--format", "parquet", "-o", target, stdin="one two")
    assert (result.exit_code, target.exists()) == (1, False)
    assert "--format parquet needs the package pyarrow" in result.stderr
