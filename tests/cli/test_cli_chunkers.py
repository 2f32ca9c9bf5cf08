"""`cutline chunk --by`: the chunker that is asked for, with the options that are given."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cutline.chunking import Chunker, TextChunker, TokenChunker
from tests.chunking.contract import json_row
from tests.chunking.hostile import SHAPES
from tests.cli.conftest import Command, Invoke, rows_of
from tests.conftest import needs_code

TEXT = (
    "The first paragraph has a sentence. And it has another one, which is longer.\n\n"
    "The second paragraph.\n  \n\nA third one ends the text, 名前はまだ無い。 👩‍👩‍👧‍👦 👍🏽\n"
) * 4


@pytest.mark.parametrize(
    ("options", "chunker"),
    [
        ("", TextChunker("o200k_base", 16)),
        ("--by token", TokenChunker("o200k_base", 16)),
        ("--by token --overlap 4", TokenChunker("o200k_base", 16, 4)),
        ("--by token --boundary grapheme", TokenChunker("o200k_base", 16, boundary="grapheme")),
        ("--by text", TextChunker("o200k_base", 16)),
        ("--by auto", TextChunker("o200k_base", 16)),
        ("--by text --strip", TextChunker("o200k_base", 16, strip=True)),
        ("--by text --min-fill 0.9", TextChunker("o200k_base", 16, min_fill=0.9)),
        ("--by text --balance", TextChunker("o200k_base", 16, balance=True)),
        ("--by text --lines keep", TextChunker("o200k_base", 16, lines="keep")),
        ("--by auto --lines join", TextChunker("o200k_base", 16, lines="join")),
        ("--by text --stable", TextChunker("o200k_base", 16, stable=True)),
        (
            "--by text --also-fits cl100k_base=14 --also-fits bytes=40 --also-fits bytes=60",
            TextChunker("o200k_base", 16, also_fits={"cl100k_base": 14, "bytes": 40}),
        ),
        (
            "--by token --overlap 4 --also-fits characters=30",
            TokenChunker("o200k_base", 16, 4, also_fits={"characters": 30}),
        ),
    ],
)
def test_rows_are_what_the_chunker_makes(invoke: Invoke, options: str, chunker: Chunker) -> None:
    result = invoke("chunk", "--chunk-size", "16", *options.split(), stdin=TEXT)
    assert (result.exit_code, result.stderr) == (0, "")
    assert rows_of(result.stdout_bytes) == [json_row(chunk, "-") for chunk in chunker.chunk(TEXT)]


@needs_code
def test_auto_goes_by_the_ending_of_the_name(invoke: Invoke, tmp_path: Path) -> None:
    source = "import a\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n"
    (tmp_path / "a.py").write_text(source)
    (tmp_path / "b.MD").write_text("# Title\n\nText.\n\n## Part\n\nMore.\n")
    (tmp_path / "c.txt").write_text("# Title\n\nText.\n")
    auto = invoke("chunk", "--by", "auto", "--chunk-size", "8", tmp_path)
    assert (auto.exit_code, auto.stderr) == (0, "")
    alone = [
        invoke("chunk", *options.split(), "--chunk-size", "8", tmp_path / name).stdout
        for name, options in (
            ("a.py", "--by code --language python"),
            ("b.MD", "--by markdown"),
            ("c.txt", "--by text"),
        )
    ]
    assert auto.stdout == "".join(alone)
    headings = {tuple(row["headings"]) for row in rows_of(auto.stdout_bytes)}
    assert ("Title", "Part") in headings


@needs_code
def test_language_is_that_of_the_name_and_must_be_known(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.unknown").write_text("x = 1\n")
    result = invoke("chunk", "--by", "code", tmp_path)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith(
        f"cutline: {tmp_path / 'b.unknown'}: its language is not known from its name, 'b.unknown'"
    )
    assert "--language" in line
    assert [row["text"] for row in rows_of(result.stdout_bytes)] == ["x = 1\n"]


@needs_code
def test_unknown_language_ends_the_run_at_once(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("chunk", "--by", "code", "--language", "nonsense", tmp_path / "missing")
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert "nonsense" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--language python", "--language needs --by code"),
        ("--overlap 512", "--overlap 512 must be smaller than --chunk-size 512"),
        ("--by token --lines keep", "--lines needs --by text, markdown, code or auto"),
        ("--by text --lines all", "--lines"),
        ("--min-fill 2", "--min-fill"),
        ("--by nonsense", "--by"),
        ("--boundary word", "--boundary"),
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(
    invoke: Invoke, options: str, message: str
) -> None:
    for command in ("chunk", "view"):
        result = invoke(command, *options.split(), stdin="a")
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr


@needs_code
def test_a_file_that_crashes_its_parser_is_cut_at_lines_and_the_others_go_on(
    command: Command, tmp_path: Path
) -> None:
    """In a real process, which would die of it too."""
    ladder = SHAPES["ladder"](126_000)
    (tmp_path / "a.yaml").write_text(ladder)
    (tmp_path / "b.py").write_text("def f():\n    pass\n")
    for name in (tmp_path, tmp_path / "a.yaml"):
        done = command("chunk", "--by", "code", "--language", "yaml", "--chunk-size", "200", name)
        assert done.returncode == 0
        rows = rows_of(done.stdout)
        yaml = [row for row in rows if row["file"].endswith("a.yaml")]
        assert "".join(row["text"] for row in yaml) == ladder
        assert all("its parser crashed" in row["metadata"]["unparsed"] for row in yaml)
        [line] = done.stderr.decode().splitlines()
        assert line.startswith(f"cutline: {tmp_path / 'a.yaml'}: cut at lines: its parser crashed")


@needs_code
@pytest.mark.parametrize("module", ["tree_sitter_language_pack", "pyromark"])
def test_without_an_extra_auto_cuts_text_with_a_note(
    invoke: Invoke, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    forget_parsers(monkeypatch)
    for name in ("a.py", "b.txt", "c.md", "d.py", "e.md"):
        (tmp_path / name).write_text("# One\n\nword two\n")
    result = invoke("chunk", "--by", "auto", tmp_path)
    assert result.exit_code == 0
    [line] = result.stderr.splitlines()
    what, ending, extra = (
        ("Markdown", ".md", "markdown") if module == "pyromark" else ("code", ".py", "code")
    )
    assert line.startswith(f"cutline: {what} is cut as text: ")
    assert f"pip install 'cutline[{extra}]'" in line
    rows = rows_of(result.stdout_bytes)
    assert len({row["file"] for row in rows}) == 5
    as_text = rows_of(invoke("chunk", "--by", "text", tmp_path).stdout_bytes)
    assert [row for row in rows if row["file"].endswith(ending)] == [
        row for row in as_text if row["file"].endswith(ending)
    ]


def test_web_pages_data_and_notebooks_are_cut_by_their_structure(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_text("<h1>Saws</h1><p>One two three.</p><p>Four five six.</p>")
    (tmp_path / "b.csv").write_text("id,name\n1,one\n2,two\n3,three\n4,four\n")
    cell = {"cell_type": "markdown", "source": ["# T\n", "Text."], "metadata": {}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (tmp_path / "c.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "d.ipynb").write_text("{}")
    (tmp_path / "e.json").write_text('{"a": [1, 2], "b": 3}')
    result = invoke("chunk", "--chunk-size", "16", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"cutline: {tmp_path / 'd.ipynb'}: not a notebook")
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(result.stdout_bytes):
        found.setdefault(Path(row["file"]).name, []).append(row)
    assert sorted(found) == ["a.html", "b.csv", "c.ipynb", "e.json"]
    assert found["a.html"][1]["text"] == "<p>Four five six.</p>"
    assert found["a.html"][1]["headings"] == ["Saws"]
    assert [row["text"] for row in found["b.csv"]] == [
        "id,name\n1,one\n2,two\n3,three\n",
        "4,four\n",
    ]
    assert "".join(row["text"] for row in found["c.ipynb"]) == "# T\nText.\n"
    assert invoke("view", tmp_path / "c.ipynb").exit_code == 0


def test_languages_needs_the_extra(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", None)
    forget_parsers(monkeypatch)
    result = invoke("languages")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install 'cutline[code]'" in result.stderr


def test_a_grammar_that_cannot_be_loaded_fails_its_file_or_makes_it_text(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with version 1 of the pack, which fetches each grammar from the network."""

    class DownloadError(Exception):
        pass

    def fetched(name: str) -> object:
        if name == "python":
            raise DownloadError("Name or service not known")
        return real(name)

    pack = pytest.importorskip("tree_sitter_language_pack")
    real = pack.get_language
    monkeypatch.setattr(pack, "get_language", fetched)
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.go").write_text("package a\n")
    (tmp_path / "c.txt").write_text("text")
    auto = invoke("chunk", "--by", "auto", tmp_path)
    assert auto.exit_code == 0
    assert len(rows_of(auto.stdout_bytes)) == 3
    [line] = auto.stderr.splitlines()
    assert "the grammar of 'python' cannot be loaded (DownloadError: Name or service" in line
    code = invoke("chunk", "--by", "code", tmp_path / "a.py", tmp_path / "b.go")
    assert code.exit_code == 1
    assert [row["file"] for row in rows_of(code.stdout_bytes)] == [str(tmp_path / "b.go")]
    [line] = code.stderr.splitlines()
    assert line.startswith(f"cutline: {tmp_path / 'a.py'}: the grammar of 'python' cannot be")


def forget_parsers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have parsers loaded anew, now and after the test."""
    from cutline.chunking import code_structure, markdown_blocks

    for cached in (code_structure._languages, markdown_blocks._parser):
        monkeypatch.setattr(cached.__module__ + "." + cached.__name__, cached.__wrapped__)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("gpt3=4", "no encoding is named 'gpt3'; did you mean 'gpt2'?"),
        ("gpt-4o=4", "'gpt-4o' is a model, whose encoding is found by --also-fits o200k_base"),
        ("gpt2", "'gpt2' must be NAME=N with an N of 1 or more, such as cl100k_base=500"),
        ("bytes=0", "'bytes=0' must be NAME=N"),
        ("=4", "'=4' must be NAME=N"),
        ("gpt2=many", "'gpt2=many' must be NAME=N"),
    ],
)
def test_what_is_no_further_limit_is_refused(invoke: Invoke, value: str, message: str) -> None:
    result = invoke("chunk", "--also-fits", value, stdin=TEXT)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "--also-fits" in result.stderr


def test_a_further_limit_may_be_a_file_with_any_name(invoke: Invoke, tmp_path: Path) -> None:
    import cutline

    path = tmp_path / "a=b.cutline"
    cutline.get_encoding("gpt2").save(path)
    result = invoke("chunk", "--also-fits", f"{path}=9", stdin=TEXT)
    same = invoke("chunk", "--also-fits", "gpt2=9", stdin=TEXT)
    assert (result.exit_code, result.stdout_bytes) == (0, same.stdout_bytes)
    chunks = TextChunker("o200k_base", 512, also_fits={"gpt2": 9}).chunk(TEXT)
    assert rows_of(result.stdout_bytes) == [json_row(chunk, "-") for chunk in chunks]


def test_a_character_over_a_further_limit_fails_with_no_rows(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "large.txt"
    path.write_text("word " * 600_000 + "\U0001f9d1", encoding="utf-8")
    result = invoke("chunk", "--also-fits", "bytes=3", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "has 4 bytes on its own, more than the 3 of also_fits" in result.stderr
