"""`cutline chunk --by`: the chunker that is asked for, with the options that are given."""

import json
from pathlib import Path
from typing import Any

import pytest

from cutline.chunking import Chunker, TextChunker, TokenChunker
from tests.cli.conftest import Invoke

TEXT = (
    "The first paragraph has a sentence. And it has another one, which is longer.\n\n"
    "The second paragraph.\n  \n\nA third one ends the text, 名前はまだ無い。 👩‍👩‍👧‍👦 👍🏽\n"
) * 4


def rows_of(output: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.decode().splitlines()]


@pytest.mark.parametrize(
    ("options", "chunker"),
    [
        ("", TokenChunker("o200k_base", 16)),
        ("--by token --overlap 4", TokenChunker("o200k_base", 16, 4)),
        ("--by token --boundary grapheme", TokenChunker("o200k_base", 16, boundary="grapheme")),
        ("--by text", TextChunker("o200k_base", 16)),
        ("--by auto", TextChunker("o200k_base", 16)),
        ("--by text --strip", TextChunker("o200k_base", 16, strip=True)),
        ("--by text --min-fill 0.9", TextChunker("o200k_base", 16, min_fill=0.9)),
        ("--by text --balance", TextChunker("o200k_base", 16, balance=True)),
        ("--by text --stable", TextChunker("o200k_base", 16, stable=True)),
    ],
)
def test_rows_are_what_the_chunker_makes(invoke: Invoke, options: str, chunker: Chunker) -> None:
    result = invoke("chunk", "--chunk-size", "16", *options.split(), stdin=TEXT)
    assert (result.exit_code, result.stderr) == (0, "")
    assert rows_of(result.stdout_bytes) == [
        {
            "file": "-",
            "index": chunk.index,
            "start_index": chunk.start_index,
            "end_index": chunk.end_index,
            "token_count": chunk.token_count,
            "text": chunk.text,
            "headings": list(chunk.headings),
            "metadata": dict(chunk.metadata),
            "content_hash": chunk.content_hash,
        }
        for chunk in chunker.chunk(TEXT)
    ]


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


def test_language_is_that_of_the_name_and_must_be_known(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.unknown").write_text("x = 1\n")
    result = invoke("chunk", "--by", "code", tmp_path)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith(f"cutline: {tmp_path / 'b.unknown'}: which language is it? ")
    assert "--language" in line
    assert [row["text"] for row in rows_of(result.stdout_bytes)] == ["x = 1\n"]


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
