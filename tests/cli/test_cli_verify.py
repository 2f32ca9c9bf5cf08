"""`cutline verify`: chunks of files against these files."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Invoke, rows_of

TEXTS = {"a.txt": "One two three. Four five, six. " * 9, "b.md": "# A\n\nÄ b 👩‍👩‍👧‍👦.\n" * 5}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for name, text in TEXTS.items():
        Path("docs", name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("options", ["", "--strip", "--overlap 4"])
def test_what_chunk_writes_is_right(invoke: Invoke, folder: Path, form: str, options: str) -> None:
    out = folder / f"chunks.{form}"
    made = invoke(
        "chunk", "--chunk-size", "16", *options.split(), "--format", form, "-o", out, "docs"
    )
    assert made.exit_code == 0
    result = invoke("verify", "--chunk-size", "16", *options.split(), out)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines if line.startswith("docs")] == [
        "docs/a.txt",
        "docs/b.md",
    ]
    smaller = invoke("verify", "--chunk-size", "12", *options.split(), out)
    assert smaller.exit_code == 1
    assert "over budget" in smaller.stdout
    assert smaller.stderr == "cutline: findings in 2 of 2 texts\n"


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("by", ["auto", "text", "markdown"])
def test_notebooks_are_read_as_they_were_cut(
    invoke: Invoke, folder: Path, form: str, by: str
) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Ä title\n", "\n", "Some text. " * 9]},
        {"cell_type": "code", "source": ["x = 1\n", "print(x)"], "outputs": []},
    ]
    notebook = {"nbformat": 4, "metadata": {}, "cells": cells}
    Path("docs/c.ipynb").write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    out = folder / f"chunks.{form}"
    made = invoke("chunk", "--chunk-size", "16", "--by", by, "--format", form, "-o", out, "docs")
    assert made.exit_code == 0
    result = invoke("verify", "--chunk-size", "16", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "docs/c.ipynb: " in result.stdout
    rows = invoke("chunk", "--chunk-size", "16", "--by", by, "docs/c.ipynb").stdout.splitlines()
    fewer = "".join(row + "\n" for row in rows[:-1])
    result = invoke("verify", "--chunk-size", "16", stdin=fewer)
    assert result.exit_code == 1
    assert "text lost: end of the text" in result.stdout
    result = invoke("verify", "--chunk-size", "16", "--source", "docs/c.ipynb", stdin=fewer)
    assert "text lost: end of the text" in result.stdout


def test_what_is_wrong_is_shown(invoke: Invoke, folder: Path) -> None:
    rows = invoke("chunk", "--chunk-size", "16", "docs/a.txt").stdout.splitlines()
    kept = [json.loads(row) for row in rows[:1] + rows[2:]]
    del kept[1]["file"]
    for row in kept:
        row["file"] = "docs/a.txt"
    stdin = "".join(json.dumps(row) + "\n" for row in kept)
    result = invoke("verify", "--chunk-size", "16", stdin=stdin)
    assert result.exit_code == 1
    assert "text lost: chunk 1: " in result.stdout
    bare = "".join(json.dumps({"text": json.loads(row)["text"]}) + "\n" for row in rows)
    result = invoke("verify", "--chunk-size", "16", "--source", "docs/a.txt", stdin=bare)
    assert result.exit_code == 0
    result = invoke("verify", "--chunk-size", "16", stdin=bare)
    assert result.exit_code == 2
    assert "pass --source" in result.stderr


def test_a_file_that_is_gone_is_named_and_the_others_are_checked(
    invoke: Invoke, folder: Path
) -> None:
    rows = invoke("chunk", "--chunk-size", "16", "docs").stdout
    Path("docs/a.txt").unlink()
    result = invoke("verify", "--chunk-size", "16", stdin=rows)
    assert result.exit_code == 1
    said = result.stderr.splitlines()
    assert said[0] == "cutline: docs/a.txt: no such file or directory"
    assert result.stdout.partition(":")[0] == "docs/b.md"
    Path("docs/b.md").unlink()
    result = invoke("verify", "--chunk-size", "16", stdin=rows)
    assert [line.partition(" ")[2][:9] for line in result.stderr.splitlines()] == [
        "docs/a.tx", "files are", "docs/b.md",
    ]  # fmt: skip
    assert said[1] in result.stderr
    assert "in the folder in which `cutline chunk` ran, or pass --source" in said[1]


def test_a_file_without_rows_is_named(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Saws\n")
    result = invoke("verify", "--chunk-size", "9", tmp_path / "a.md")
    assert (result.exit_code, result.stdout) == (1, "")
    said = f"cutline: {tmp_path / 'a.md'}: its name is that of no file with rows: JSON Lines end"
    assert result.stderr.startswith(said)
    result = invoke("verify", "--chunk-size", "9", tmp_path / "b.md")
    assert result.stderr == f"cutline: {tmp_path / 'b.md'}: no such file or directory\n"


ROWS: list[dict[str, object]] = [
    {"id": 7, "body": "One two three. Four five six, seven. " * 5, "title": "Ä"},
    {"id": 8, "body": None, "title": "none"},
    {"id": 9, "body": "", "title": ""},
    {"id": 10, "body": "名前はまだ無い 👩‍👩‍👧‍👦 " * 5, "title": None},
    {"id": 11, "body": "short", "title": "long"},
]


@pytest.fixture(params=["rows.jsonl", "rows.parquet"])
def rows_file(request: pytest.FixtureRequest, folder: Path) -> Path:
    path = Path(str(request.param))
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    "options",
    [
        ["--chunk-size", "16"],
        ["--chunk-size", "16", "--overlap", "4", "--carry", "id"],
        ["--chunk-size", "16", "--strip"],
        ["--chunk-size", "24", "--template", r"{file} {title}: {index}\n{text}"],
        ["--sizes", "30,16,8", "--prefix", "in: "],
    ],
)
def test_chunks_of_rows_are_checked_row_by_row(
    invoke: Invoke, folder: Path, rows_file: Path, form: str, options: list[str]
) -> None:
    out = folder / f"chunks.{form}"
    made = invoke("chunk", "--column", "body", *options, "--format", form, "-o", out, rows_file)
    assert (made.exit_code, made.stderr) == (0, "")
    n_chunks = len(pq.read_table(out) if form == "parquet" else out.read_text("utf-8").splitlines())
    if "--carry" in options:
        options = options[:-2]
    result = invoke("verify", "--column", "body", *options, out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{rows_file}: {n_chunks} chunks of 4 rows: all exact\n"
    smaller = ["8" if one in ("16", "24") else one.replace("16,8", "16,7") for one in options]
    wrong = invoke("verify", "--column", "body", *smaller, out)
    assert wrong.exit_code == 1
    assert "over budget" in wrong.stdout


def test_what_is_wrong_with_chunks_of_rows_is_found_in_their_row(
    invoke: Invoke, folder: Path, rows_file: Path
) -> None:
    made = invoke("chunk", "--column", "body", "--chunk-size", "16", rows_file)
    rows = rows_of(made.stdout_bytes)
    first = [row for row in rows if row["metadata"]["row"] == 1]
    options = ["--column", "body", "--chunk-size", "16"]
    unit = "row" if rows_file.suffix == ".parquet" else "line"

    def verified(changed: list[dict[str, object]]) -> tuple[str, str]:
        stdin = "".join(json.dumps(row) + "\n" for row in changed)
        result = invoke("verify", *options, stdin=stdin)
        assert result.exit_code == 1
        return result.stdout, result.stderr

    out, _ = verified(rows[1:])
    assert out.startswith(f"{rows_file}, {unit} 1: {len(first) - 1} chunks of ")
    assert "text lost" in out
    assert out.endswith(f"{len(rows) - 1} chunks of 4 rows: findings in 1 of them\n")
    out, _ = verified(rows[:-1])  # a row without any chunk
    assert f"{rows_file}, {unit} 5: 0 chunks of 5 characters: 1 finding\n" in out
    for order in ([*rows[1:], rows[0]], [*rows, rows[0]]):
        assert "chunks are of row 1, which has no text, or" in verified(order)[1]
    elsewhere = [row | {"metadata": {"row": 2}} for row in rows[:1]]
    assert "chunks are of row 2, which has no text, or" in verified(elsewhere)[1]


def test_chunks_of_rows_need_their_column_and_others_have_none(
    invoke: Invoke, folder: Path, rows_file: Path
) -> None:
    of_rows = invoke("chunk", "--column", "body", rows_file).stdout
    refused = invoke("verify", "--chunk-size", "512", stdin=of_rows)
    assert refused.exit_code == 2
    assert "of the rows of a file: pass their --column" in refused.stderr
    plain = invoke("chunk", rows_file).stdout if rows_file.suffix == ".jsonl" else '{"text": "a"}'
    options = ["--chunk-size", "512", "--source", rows_file]
    refused = invoke("verify", "--column", "body", *options, stdin=plain)
    assert refused.exit_code == 2
    assert "--column is for chunks of rows" in refused.stderr
    for column, said in (("body", ""), ("text", "no column 'text'")):
        result = invoke("verify", "--column", column, *options, stdin=of_rows)
        assert result.exit_code == bool(said)
        assert said in result.stderr
        if said and rows_file.suffix == ".jsonl":  # where it is found in the rows
            said = "chunks are not checked from those of row 1 on"
        assert said in result.stderr


def test_rows_that_fail_are_named_by_verify_too(invoke: Invoke, folder: Path) -> None:
    path = folder / "rows.jsonl"
    path.write_bytes(b'{"body": "one"}\nno json\n{"body": "\\ud800"}\n{"body": "two"}\n')
    for errors, failed in (("strict", ["2", "3"]), ("replace", ["2"])):
        options = ["--column", "body", "--chunk-size", "9", "--errors", errors]
        made = invoke("chunk", *options, path)
        result = invoke("verify", *options, stdin=made.stdout)
        assert made.exit_code == result.exit_code == 1
        assert made.stderr == result.stderr
        assert [line.split(", line ")[1][0] for line in made.stderr.splitlines()] == failed
        assert result.stdout.endswith(f"{4 - len(failed)} rows: all exact\n")


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    "options",
    [
        ["--template", r"{file} {index}: {headings}\n{text}"],
        ["--prefix", "passage: "],
        ["--with-headings"],
    ],
)
def test_what_is_sent_counts_against_the_budget(
    invoke: Invoke, folder: Path, form: str, options: list[str]
) -> None:
    out = folder / f"chunks.{form}"
    made = invoke("chunk", "--chunk-size", "24", *options, "--format", form, "-o", out, "docs")
    assert made.exit_code == 0
    result = invoke("verify", "--chunk-size", "24", *options, out)
    assert (result.exit_code, result.stderr) == (0, "")
    more = invoke("verify", "--chunk-size", "24", "--prefix", "one two three " * 8, out)
    assert more.exit_code == 1
    assert "over budget" in more.stdout
    assert "wrong token count" in more.stdout  # not what the rows say is sent


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("options", [[], ["--prefix", "in: "]], ids=["text", "prefix"])
def test_families_are_checked_level_by_level(
    invoke: Invoke, folder: Path, form: str, options: list[str]
) -> None:
    out = folder / f"chunks.{form}"
    sizes = ["--sizes", "40,20,12", *options]
    assert invoke("chunk", *sizes, "--format", form, "-o", out, "docs").exit_code == 0
    result = invoke("verify", *sizes, out)
    assert (result.exit_code, result.stderr) == (0, "")
    heads = [line.partition(": ")[0] for line in result.stdout.splitlines() if ": " in line]
    assert heads == [f"docs/{name}, level {k}" for name in TEXTS for k in range(3)]
    smaller = invoke("verify", "--sizes", "40,20,8", *options, out)
    assert smaller.exit_code == 1
    assert "over budget" in smaller.stdout
    for wrong, said in (
        (["--chunk-size", "40"], "these rows have levels: pass their --sizes"),
        (["--sizes", "40,20"], "a row has level 2: it must be from 0 to 1"),
        ([], "pass either --chunk-size or --sizes"),
        (["--sizes", "40", "--chunk-size", "40"], "pass either --chunk-size or --sizes"),
        (["--sizes", "40", "--strip"], "--sizes is for chunks without --overlap and --strip"),
    ):
        refused = invoke("verify", *wrong, out)
        assert refused.exit_code == 2
        assert said in refused.stderr


def test_children_that_do_not_make_up_their_parent_are_found(invoke: Invoke, folder: Path) -> None:
    rows = rows_of(invoke("chunk", "--sizes", "40,20", "docs/a.txt").stdout_bytes)
    parents = [row["id"] for row in rows if row["level"] == 0]
    assert len(parents) > 1

    def found(changed: list[dict[str, object]]) -> str:
        path = folder / "changed.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in changed), "utf-8")
        result = invoke("verify", "--sizes", "40,20", path)
        assert result.exit_code == 1
        return result.stdout

    last = [dict(row) for row in rows]
    last[-1]["parent_id"] = parents[0]
    assert "do not make it up" in found(last)
    lost = [dict(row) for row in rows]
    lost[-1]["parent_id"] = "nowhere"
    assert "its parent_id is 'nowhere', but that of its parent is None" in found(lost)
    assert "text lost" in found(rows[:-1])


def test_templates_of_other_fields_are_refused(invoke: Invoke, folder: Path) -> None:
    result = invoke("verify", "--chunk-size", "9", "--template", "{titel} {text}", "x.jsonl")
    assert result.exit_code == 2
    assert "there is no {titel}" in result.stderr
