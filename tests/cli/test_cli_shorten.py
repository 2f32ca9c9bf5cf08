"""`cutline shorten`: what fits, with its structure."""

import csv
import json
import sys
from pathlib import Path

import pytest
import tiktoken

from cutline import shorten
from cutline.chunking import code_structure
from tests.cli.conftest import Invoke
from tests.conftest import needs_code

LOG = "".join(f"2026-11-23 10:00:{n % 60:02} INFO step {n}\n" for n in range(300))
PROGRAM = "".join(f"def f{n}(a):\n    b = a\n    return b\n\n\n" for n in range(30))
TEXTS = {
    "a.json": json.dumps([{"id": n, "name": "x" * 50} for n in range(99)]),
    "b.jsonl": "".join(f'{{"id": {n}}}\n' for n in range(400)),
    "c.csv": "id,name\n" + "".join(f'{n},"a, b"\n' for n in range(400)),
    "d.md": "# A\n\n" + "text here\n" * 99 + "\n## B\n\n" + "more text\n" * 99,
    "e.txt": LOG + "2026-11-23 11:00:00 ERROR disk full\n" + LOG,
    "f.ipynb": json.dumps({"nbformat": 4, "cells": [{"source": "x\n" * 900}], "metadata": {}}),
    "g.py": PROGRAM,
    "h.html": "<p>some words</p>\n" * 99,
    "short.json": "[1]",
}
KINDS = ["json", "jsonl", "csv", "markdown", "log", "json", "python", "html", "json"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("name", "kind"), [*zip(TEXTS, KINDS, strict=True)])
def test_output_is_that_of_the_library_for_the_kind_of_the_name(
    invoke: Invoke, oracle: tiktoken.Encoding, folder: Path, name: str, kind: str
) -> None:
    pytest.importorskip("tree_sitter_language_pack")
    result = invoke("shorten", "-n", "120", "--report", folder / name)
    assert result.exit_code == 0, result.stderr
    wanted = shorten(TEXTS[name], 120, kind=kind)
    assert result.stdout == wanted.text
    assert len(oracle.encode_ordinary(result.stdout)) <= 120
    left = sum(end - start for start, end in wanted.kept)
    assert result.stderr == (
        f"{folder / name}: {wanted.kind}, {wanted.token_count} tokens, "
        f"{left} of {len(TEXTS[name])} characters\n"
    )


def test_structure_stays(invoke: Invoke, folder: Path) -> None:
    short = invoke("shorten", "--max-tokens", "90", folder / "a.json").stdout
    assert json.loads(short)[0]["id"] == 0
    rows = [*csv.reader(invoke("shorten", "-n", "60", folder / "c.csv").stdout.splitlines())]
    assert {len(row) for row in rows} == {2}
    assert "ERROR disk full" in invoke("shorten", "-n", "99", folder / "e.txt").stdout


def test_standard_input_and_a_kind(invoke: Invoke) -> None:
    for kind in ("auto", "log", "text"):
        shown = invoke("shorten", "-n", "50", "--kind", kind, "--marker", "~", stdin=LOG).stdout
        assert shown == shorten(LOG, 50, kind=kind, marker="~").text


@needs_code
def test_what_cannot_be_done_is_said(invoke: Invoke, folder: Path) -> None:
    wrong = invoke("shorten", "-n", "50", "--kind", "jsno", stdin=LOG)
    assert wrong.exit_code == 2
    assert "kind must be one of" in wrong.stderr
    small = invoke("shorten", "-n", "1", "--marker", "long marker", folder / "e.txt")
    assert small.exit_code == 1
    assert "the marker 'long marker' alone has 2 tokens" in small.stderr
    several = invoke("shorten", "-n", "50", folder / "none.txt", folder / "short.json")
    assert (several.exit_code, several.stdout) == (1, "[1]")


@needs_code
def test_without_a_parser_code_is_shortened_as_text_with_a_note(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", None)
    monkeypatch.setattr(code_structure, "_languages", code_structure._languages.__wrapped__)
    text = "def f():\n    return 1\n\n\n" * 20
    for name in ("a.py", "b.py", "c.txt"):
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in ("a.py", "b.py", "c.txt")]
    result = invoke("shorten", "-n", "50", *files)
    assert result.exit_code == 0
    assert result.stdout == 3 * shorten(text, 50, kind="text").text
    [line] = result.stderr.splitlines()
    assert line.startswith("cutline: code is shortened as text: ")
    assert "pip install 'cutline[code]'" in line
    asked = invoke("shorten", "-n", "50", "--kind", "python", files[0])
    assert (asked.exit_code, asked.stdout) == (1, "")
    assert asked.stderr.startswith("cutline: --kind python: code is shortened as text: ")
