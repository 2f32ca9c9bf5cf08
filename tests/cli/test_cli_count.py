"""`cutline count` and `cutline encodings`: numbers for people and for scripts."""

import json
from pathlib import Path

import pytest
import tiktoken

import cutline
from tests.cli.conftest import Invoke
from tests.conftest import needs_code


def test_count_is_the_number_of_tokens(
    invoke: Invoke, oracle: tiktoken.Encoding, text: str
) -> None:
    result = invoke("count", stdin=text.encode())
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{len(oracle.encode_ordinary(text))}\n"


def test_one_file_is_named_without_a_total(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello world")
    assert invoke("count", tmp_path / "a").stdout == f"2  {tmp_path / 'a'}\n"


def test_several_files_get_an_aligned_total(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello" + " hello" * 11)
    (tmp_path / "empty").touch()
    result = invoke("count", tmp_path / "a", tmp_path / "empty", "-", stdin="hello")
    assert result.stdout == (f"12  {tmp_path / 'a'}\n 0  {tmp_path / 'empty'}\n 1  -\n13  total\n")


def test_count_rows_as_json_lines(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "日本").write_text("hello world")
    result = invoke("count", "--format", "jsonl", tmp_path / "日本", "-", stdin="")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"file": str(tmp_path / "日本"), "token_count": 2},
        {"file": "-", "token_count": 0},
    ]


@pytest.mark.parametrize(
    "options",
    ["--encoding cl100k_base", "-e cl100k_base", "--model gpt-4", "-m gpt-4-0314"],
)
def test_encoding_and_model_choose_the_encoding(invoke: Invoke, options: str) -> None:
    text = "நன்றி, 名前はまだ無い"
    expected = cutline.get_encoding("cl100k_base").count(text)
    assert expected != cutline.get_encoding("o200k_base").count(text)
    assert invoke("count", *options.split(), stdin=text).stdout == f"{expected}\n"


@needs_code
def test_languages_lists_every_language_with_its_names(invoke: Invoke) -> None:
    rows = [line.split() for line in invoke("languages").stdout.splitlines()]
    assert rows[0][:2] == ["text", "*.log"]
    assert rows[1][:2] == ["markdown", "*.markdown"]
    assert ["kconfig", "Kconfig"] in rows
    assert {"python", "sql", "html"} <= {row[0] for row in rows}


def test_encodings_lists_every_encoding_and_marks_the_default(invoke: Invoke) -> None:
    result = invoke("encodings")
    assert (result.exit_code, result.stderr) == (0, "")
    header, *rows = result.stdout.splitlines()
    assert header.split() == ["NAME", "TOKENS", "MODELS"]
    assert [row[2:].split()[0] for row in rows] == cutline.list_encoding_names()
    assert [row for row in rows if row.startswith("*")] == [
        row for row in rows if row[2:].startswith("o200k_base ")
    ]
    for row in rows:
        name, size, model = row[2:].split()[:3]
        assert int(size) == cutline.get_encoding(name).n_vocab
        assert cutline.encoding_for_model(model.strip("*,")).name == name


def test_table_tells_characters_bytes_and_tokens(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello world", encoding="utf-8")
    (tmp_path / "b").write_text("名前はまだ無い" * 200, encoding="utf-8")
    (tmp_path / "empty").touch()
    result = invoke("count", "--format", "table", tmp_path)
    header, *rows = [line.split() for line in result.stdout.splitlines()]
    assert header == ["tokens", "characters", "bytes", "bytes/token", "file"]
    enc = cutline.get_encoding("o200k_base")
    tokens = enc.count("名前はまだ無い" * 200)
    assert rows == [
        ["2", "11", "11", "5.50", str(tmp_path / "a")],
        [f"{tokens:,}", "1,400", "4,200", f"{4200 / tokens:.2f}", str(tmp_path / "b")],
        ["0", "0", "0", "0.00", str(tmp_path / "empty")],
        f"{tokens + 2:,} 1,411 4,211 {4211 / (tokens + 2):.2f} total of 3 files".split(),
    ]


@pytest.mark.parametrize(("order", "names"), [("name", "abc"), ("tokens", "bca")])
def test_rows_can_be_sorted(invoke: Invoke, tmp_path: Path, order: str, names: str) -> None:
    for name, count in (("c", 2), ("a", 1), ("b", 3)):
        (tmp_path / name).write_text(" one" * count)
    paths = [tmp_path / name for name in "cab"]
    for form in ("text", "table", "jsonl"):
        shown = invoke("count", "--sort", order, "--format", form, *paths).stdout
        places = [shown.index(str(tmp_path / name)) for name in names]
        assert places == sorted(places)


def test_folder_gets_a_total(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    assert invoke("count", tmp_path).stdout == f"1  {tmp_path / 'a'}\n"
    (tmp_path / "b").write_text("hello")
    assert invoke("count", tmp_path).stdout.endswith("2  total\n")


def test_a_trained_encoding_counts_on_the_command_line(invoke: Invoke, tmp_path: Path) -> None:
    trained = cutline.train(iter(["to be or not to be, that is the question " * 50]), 300)
    (tmp_path / "a.txt").write_text("to be or not")
    for name in ("mine.cutline", "tokenizer.json"):
        trained.save(tmp_path / name)
        result = invoke("count", "--encoding", tmp_path / name, tmp_path / "a.txt")
        assert result.output.split()[0] == str(trained.count("to be or not"))
    result = invoke("count", "--encoding", tmp_path, tmp_path / "a.txt")
    assert result.output.split()[0] == str(trained.count("to be or not"))


def test_an_encoding_that_cannot_be_loaded_is_one_line(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("to be or not")
    (tmp_path / "bert.json").write_text('{"model": {"type": "WordPiece", "vocab": {}}}')
    (tmp_path / "empty").mkdir()
    cutline.get_encoding("gpt2").save(tmp_path / "x.tiktoken")
    for name, message in (
        ("none.cutline", "no such file or directory"),
        ("none.model", "no such file or directory"),
        ("none.gguf", "no such file or directory"),
        ("empty", "a folder without tokenizer.json, tekken.json, vocab.json"),
        ("x.tiktoken", "does not contain the split pattern: load it in Python, and save it as"),
        ("a.txt", "is no tokenizer's file, by its name or by what it begins with"),
        ("bert.json", 'model: unk_token is "[UNK]", which is not supported'),
    ):
        result = invoke("count", "--encoding", tmp_path / name, tmp_path / "a.txt")
        assert (result.exit_code, result.stdout) == (2, "")
        line = result.stderr.splitlines()[-1]
        assert f"{tmp_path / name}" in line
        assert message in line
