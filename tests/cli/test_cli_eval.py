"""`cutline eval`: chunkers and sizes compared on files."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

import cutline
from cutline.evaluation import compare, read_questions, sample_documents, sample_questions
from tests.cli.conftest import Invoke
from tests.cli.test_cli_chunkers import forget_parsers

TEXTS = {
    "a.md": "# Saws\n\nA saw cuts wöod. Oil it 𓀀.\n\n- One.\n- Two.\n",
    "b.txt": "Glue sets in an hour. Clamp it.\n\nWait a day.\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for name, text in TEXTS.items():
        Path("docs", name).write_text(text, encoding="utf-8")
    rows = [
        {"question": "what cuts", "references": ["A saw cuts wöod."], "document": "docs/a.md"},
        {"question": "glue", "references": [[13, 20]], "document": "b.txt"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    Path("questions.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def test_the_table_is_that_of_compare(invoke: Invoke, folder: Path) -> None:
    pytest.importorskip("bm25s")
    options = ("--questions", "questions.jsonl", "-k", "2", "--plot", "sizes.svg")
    result = invoke(
        "eval", "--by", "text,token", "--chunk-size", "8, 16", "--overlap", "0,2", *options,
        "--format", "csv", "docs",
    )  # fmt: skip
    assert (result.exit_code, result.stderr) == (0, "")
    documents = {f"docs/{name}": text for name, text in TEXTS.items()}
    pairs = [
        (f"{by}{f', overlap {overlap}' * bool(overlap)}", kind("o200k_base", size, overlap))
        for by, kind in (("text", cutline.TextChunker), ("token", cutline.TokenChunker))
        for overlap in (0, 2)
        for size in (8, 16)
    ]
    questions = read_questions("questions.jsonl", documents)
    expected = compare(pairs, documents, questions, k=2)
    assert result.stdout == expected.table("csv")
    assert Path("sizes.svg").read_text(encoding="utf-8") == expected.chart()


def test_without_questions_there_is_the_structure(invoke: Invoke, folder: Path) -> None:
    result = invoke("eval", "--format", "json", "--chunk-size", "8", "--with-headings", "docs")
    [row] = json.loads(result.stdout)
    assert (row["chunker"], row["chunk_size"], row["questions"]) == ("auto", 8, 0)
    assert row["whole"]["list item"]["share"] == 1
    assert row["over_budget"] == 0
    assert row["embedded_tokens"] > row["document_tokens"]
    assert "recall" not in row
    result = invoke("eval", stdin=TEXTS["b.txt"])
    assert [line.split()[:2] for line in result.stdout.splitlines()[-3:]] == [
        ["auto", "128"],
        ["auto", "256"],
        ["auto", "512"],
    ]


def test_the_sample(invoke: Invoke) -> None:
    pytest.importorskip("bm25s")
    options = ("--by", "text", "--chunk-size", "256", "--max-tokens", "800", "-e", "cl100k_base")
    result = invoke("eval", "--sample", *options, "--format", "csv")
    [row] = csv.DictReader(io.StringIO(result.stdout))
    expected = compare(
        {"text": cutline.TextChunker("cl100k_base", 256)}, sample_documents(), sample_questions(),
        encoding="cl100k_base", max_tokens=800,
    )  # fmt: skip
    assert result.stdout == expected.table("csv")
    assert 0.5 < float(row["recall"]) < 1
    assert float(row["read"]) <= 800


def test_notebooks_are_markdown_for_every_chunker(invoke: Invoke, folder: Path) -> None:
    cell = {"cell_type": "markdown", "source": ["# A\n", "\n", "- One.\n"], "metadata": {}}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    result = invoke(
        "eval", "--by", "text,auto", "--chunk-size", "64", "--format", "json", "a.ipynb"
    )
    text, auto = json.loads(result.stdout)
    assert text["whole"] == auto["whole"]
    assert text["whole"]["list item"]["count"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--sample docs", 2, "--sample has its own documents and questions"),
        ("--sample --questions questions.jsonl", 2, "--sample has its own documents"),
        ("--by text,words docs", 2, "'words' is not one of 'auto', 'token', 'text'"),
        ("--chunk-size 128,0 docs", 2, "0 is not in the range x>=1"),
        ("--chunk-size 128,,256 docs", 2, "'' is neither a number of tokens nor `model`"),
        ("--overlap 8 --chunk-size 16,8 docs", 2, "--overlap 8 must be smaller than"),
        ("--questions gone.jsonl docs", 1, "cutline: gone.jsonl: no such file or directory"),
        ("--questions questions.jsonl docs/b.txt", 1, "there is no document 'docs/a.md'"),
        ("--questions docs/a.md docs", 1, "line 1 of docs/a.md is not JSON"),
        ("--by code docs", 1, "docs/a.md: its language is not known from its name"),
        ("--by text --chunk-size 1 docs", 1, "fits any character; in the document 'docs/a.md'"),
        ("gone.txt", 1, "gone.txt: no such file or directory"),
        ("--plot gone/sizes.svg docs/b.txt", 1, "gone/sizes.svg: no such file or directory"),
    ],
)
def test_what_is_wrong_is_said(
    invoke: Invoke, folder: Path, arguments: str, code: int, message: str
) -> None:
    result = invoke("eval", *arguments.split())
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""


def test_a_document_whose_parser_is_missing_is_named(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyromark", None)
    forget_parsers(monkeypatch)
    result = invoke("eval", "--by", "text", "--chunk-size", "16", "docs")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install 'cutline[markdown]'; that is what 'docs/a.md' is read with" in result.stderr
