"""`cutline pack`: texts joined within a budget, as `pack` joins them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cutline import Item, pack
from tests.cli.conftest import Invoke

TEXTS = ["Be brief.", "A long note that may be cut to its start, or left out.", "What is new?"]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for place, text in enumerate(TEXTS):
        (tmp_path / f"{place}.txt").write_text(text)
    return [tmp_path / f"{place}.txt" for place in range(len(TEXTS))]


@pytest.mark.parametrize("budget", [0, 4, 9, 16, 100])
@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ([], {}),
        (["--min-tokens", "3", "--marker", " [...]", "--separator", "\n"],
         {"marker": " [...]", "separator": "\n"}),
        (["--min-tokens", "3", "--boundary", "word", "--also-fits", "bytes=40"],
         {"boundary": "word", "also_fits": {"bytes": 40}}),
    ],
)  # fmt: skip
def test_files_are_packed_in_their_order(
    invoke: Invoke, files: list[Path], budget: int, options: list[str], keywords: dict[str, Any]
) -> None:
    result = invoke("pack", "-n", str(budget), *options, *files)
    min_tokens = 3 if "--min-tokens" in options else None
    packed = pack([Item(text, min_tokens=min_tokens) for text in TEXTS], budget, **keywords)
    hint = "" if min_tokens else "; with --min-tokens they are truncated"
    note = "" if packed.text else f"cutline: no text fits --max-tokens {budget}{hint}\n"
    assert (result.exit_code, result.stderr) == (0, note)
    assert result.stdout == packed.text


def test_an_empty_file_that_fits_does_not_hide_that_nothing_else_does(
    invoke: Invoke, tmp_path: Path
) -> None:
    large, empty = tmp_path / "large.txt", tmp_path / "empty.txt"
    large.write_text("a b c d e f", encoding="utf-8")
    empty.touch()
    for files in ([large], [large, empty]):
        result = invoke("pack", "-n", "3", *files)
        assert "no text fits --max-tokens 3" in result.stderr
    assert invoke("pack", "-n", "3", empty).stderr == ""


def test_rows_have_priorities_of_their_own(invoke: Invoke) -> None:
    items = [Item(TEXTS[0]), Item(TEXTS[1], min_tokens=4), Item(TEXTS[2], 1, overhead_tokens=2)]
    rows = [
        {"text": TEXTS[0], "id": 1},
        {"text": TEXTS[1], "min_tokens": 4, "priority": None},
        {"text": TEXTS[2], "priority": 1, "overhead_tokens": 2},
    ]
    stdin = "".join(json.dumps(row) + "\n" for row in rows)
    for budget in (3, 8, 14, 40):
        result = invoke("pack", "-n", str(budget), "--column", "text", stdin=stdin)
        assert (result.exit_code, result.stdout) == (0, pack(items, budget).text)


def test_the_report_names_the_files(invoke: Invoke, files: list[Path]) -> None:
    result = invoke("pack", "-n", "9", "--report", *files)
    lines = result.stderr.splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["whole", "dropped", "whole"]
    assert [line.split()[-1] for line in lines[:3]] == list(map(str, files))
    assert lines[3].endswith("left")


def test_what_fails_is_named_and_the_others_are_packed(
    invoke: Invoke, files: list[Path], tmp_path: Path
) -> None:
    result = invoke("pack", "-n", "99", files[0], tmp_path / "missing", files[2])
    assert (result.exit_code, result.stdout) == (1, f"{TEXTS[0]}\n\n{TEXTS[2]}")
    stdin = '{"text": "a", "min_tokens": -1}\n{"text": "b"}\n{"text": "c", "min_tokens": "x"}\n'
    result = invoke("pack", "-n", "99", "--column", "text", stdin=stdin)
    assert (result.exit_code, result.stdout) == (1, "b")
    assert "row 1: min_tokens must be 0 or more" in result.stderr
    assert "row 3: " in result.stderr


@pytest.mark.parametrize("name", ["a.md", "no_column.parquet", "missing.jsonl"])
def test_files_without_the_column_are_named_and_the_others_are_packed(
    invoke: Invoke, tmp_path: Path, name: str
) -> None:
    (tmp_path / "a.md").write_text("a")
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "no_column.parquet")
    (tmp_path / "b.jsonl").write_text('{"text": "b"}')
    files = [tmp_path / name, tmp_path / "b.jsonl"]
    result = invoke("pack", "-n", "99", "--column", "text", *files)
    assert (result.exit_code, result.stdout) == (1, "b")
    assert result.stderr.startswith(f"cutline: {files[0]}: ")


def test_rows_say_what_must_be_there_and_which_part_is_kept(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"text": "one two three four five", "min_tokens": 1, "keep": "end"},
        {"text": "alpha beta", "required": True},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = invoke("pack", "-n", "7", "--column", "text", "--separator", " ", path)
    items = [Item(rows[0]["text"], min_tokens=1, keep="end"), Item("alpha beta", required=True)]  # type: ignore[arg-type]
    assert shown.stdout == pack(items, 7, separator=" ").text
    assert shown.stdout.endswith("five alpha beta")
    small = invoke("pack", "-n", "1", "--column", "text", path)
    assert (small.exit_code, small.stdout) == (1, "")
    assert "item 1 is required and does not fit max_tokens=1" in small.stderr
    path.write_text(json.dumps({"text": "a", "required": "no"}))
    wrong = invoke("pack", "-n", "9", "--column", "text", path)
    assert wrong.exit_code == 1
    assert "row 1: required must be true or false, got 'no'" in wrong.stderr
