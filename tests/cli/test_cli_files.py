"""Folders and patterns as FILE: which files they stand for, and in which order."""

import glob
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command, Invoke


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files, some of them in folders of it, and some hidden."""
    contents = {
        "docs/b.md": "b",
        "docs/a.txt": "a",
        "docs/a/deep/c.md": "c",
        "docs/z.md": "z",
        "docs/.hidden": "h",
        "docs/.git/config": "g",
    }
    for name, content in contents.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "docs"


def files_of(invoke: Invoke, *names: str | Path) -> list[str]:
    result = invoke("count", "--format", "jsonl", *names)
    assert result.stderr == ""
    return [json.loads(line)["file"] for line in result.stdout.splitlines()]


def test_folder_stands_for_its_files_by_name_but_for_hidden_ones(
    invoke: Invoke, folder: Path
) -> None:
    found = [str(folder / name) for name in ("a/deep/c.md", "a.txt", "b.md", "z.md")]
    assert files_of(invoke, folder) == found


def test_pattern_stands_for_files_that_fit(invoke: Invoke, folder: Path) -> None:
    assert files_of(invoke, folder / "*.md") == [str(folder / "b.md"), str(folder / "z.md")]
    found = [str(folder / name) for name in ("a/deep/c.md", "b.md", "z.md")]
    assert files_of(invoke, folder / "**" / "*.md") == found


def test_pattern_of_any_depth_enters_no_linked_folder(invoke: Invoke, folder: Path) -> None:
    """Two links to the folder that they are in would be entered forever."""
    try:
        for name in ("loop", "again"):
            (folder / "a" / name).symlink_to(folder / "a", target_is_directory=True)
    except OSError:
        pytest.skip("links cannot be made here")
    found = [str(folder / "a/deep/c.md")]
    assert files_of(invoke, folder / "a" / "**" / "*.md") == found
    linked = [str(folder / "a/loop/deep/c.md")]  # named, so entered
    assert files_of(invoke, folder / "a" / "l*" / "**" / "*.md") == linked


@pytest.mark.parametrize(
    "pattern",
    [
        "**",
        "**/*",
        "**/*.md",
        "a/**",
        "**/deep/**/*.md",
        "*/**/c.md",
        "**/**/c.md",
        "**.md",
        "*/**/?*",
    ],
)
def test_patterns_match_what_glob_matches(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.chdir(folder)
    matches = sorted({*glob.glob(pattern, recursive=True)})  # noqa: PTH207
    assert files_of(invoke, pattern) == [name for name in matches if Path(name).is_file()]


def test_file_whose_name_looks_like_a_pattern_is_a_file(invoke: Invoke, folder: Path) -> None:
    (folder / "[z].md").write_text("1")
    assert files_of(invoke, folder / "[z].md") == [str(folder / "[z].md")]


def test_names_keep_their_order(invoke: Invoke, folder: Path) -> None:
    names = [folder / "z.md", folder / "a", folder / "a.txt"]
    found = [folder / "z.md", folder / "a/deep/c.md", folder / "a.txt"]
    assert files_of(invoke, *names) == list(map(str, found))


@pytest.mark.parametrize(
    ("name", "problem"),
    [("empty", "no file in this folder"), ("*.rst", "no file matches this pattern")],
)
def test_nothing_found_is_reported_and_the_others_are_read(
    invoke: Invoke, folder: Path, name: str, problem: str
) -> None:
    (folder / "empty").mkdir()
    result = invoke("count", folder / name, folder / "a.txt")
    assert (result.exit_code, result.stderr) == (1, f"cutline: {folder / name}: {problem}\n")
    assert result.stdout.startswith("1  ")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads every folder")
def test_folder_that_cannot_be_read_is_named(invoke: Invoke, folder: Path) -> None:
    (folder / "a").chmod(0)
    result = invoke("count", folder)
    (folder / "a").chmod(0o700)
    assert result.exit_code == 1
    assert result.stderr == f"cutline: {folder / 'a'}: permission denied\n"
    assert "z.md" in result.stdout


def test_file_that_is_not_utf8_is_named_and_the_rest_goes_on(invoke: Invoke, folder: Path) -> None:
    (folder / "c.png").write_bytes(b"\x89PNG\r\n")
    result = invoke("chunk", folder)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith(f"cutline: {folder / 'c.png'}: invalid utf-8 at byte offset 0")
    assert [json.loads(row)["text"] for row in result.stdout.splitlines()] == list("cabz")


def test_binary_file_that_is_found_is_skipped_with_a_note(invoke: Invoke, folder: Path) -> None:
    for number in range(4):
        (folder / f"c{number}.png").write_bytes(b"\x89PNG\r\n\0")
    for name in (folder, folder / "*.*"):
        result = invoke("chunk", name)
        assert result.exit_code == 0
        names = ", ".join(str(folder / f"c{number}.png") for number in range(3))
        assert result.stderr == f"cutline: skipped 4 binary files: {names}, ...\n"
        texts = [json.loads(row)["text"] for row in result.stdout.splitlines()]
        assert texts == (list("cabz") if name == folder else list("abz"))


def test_binary_file_that_is_named_is_an_error(invoke: Invoke, folder: Path) -> None:
    file = folder / "c.png"
    file.write_bytes(b"\x89PNG\r\n\0")
    result = invoke("count", folder, file)
    assert result.exit_code == 1
    assert f"cutline: {file}: the file is binary, not text: there is a NUL" in result.stderr
    assert "skipped" not in result.stderr


def test_folder_of_binary_files_alone_fails(invoke: Invoke, folder: Path, tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.mkdir()
    (binary / "a.png").write_bytes(b"\0")
    result = invoke("chunk", "-o", tmp_path / "chunks.jsonl", binary)
    assert result.exit_code == 1
    assert result.stderr == f"cutline: skipped 1 binary file: {binary / 'a.png'}\n"
    assert not (tmp_path / "chunks.jsonl").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
def test_named_pipe_is_not_found_by_a_pattern(invoke: Invoke, folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    found = [folder / "b.md", folder / "z.md"]
    assert files_of(invoke, folder / "*.md") == list(map(str, found))


@pytest.mark.skipif(os.name == "nt", reason="names there hold no line feed")
@pytest.mark.parametrize("form", ["text", "table"])
def test_name_takes_one_line(invoke: Invoke, folder: Path, form: str) -> None:
    (folder / "a").rename(folder / "1\n2\\")
    (folder / "1\n2\\" / "b").write_bytes(b"\xff")
    result = invoke("count", "--format", form, folder)
    shown = str(folder / "1\\n2\\\\")
    assert [line for line in result.stdout.splitlines() if shown in line]
    assert "\n2" not in result.stdout.replace("\\n2", "")
    assert result.stderr.startswith(f"cutline: {shown}/b: invalid utf-8")


def test_output_in_the_folder_is_not_read(invoke: Invoke, folder: Path) -> None:
    for _ in range(2):
        result = invoke("chunk", "-o", folder / "chunks.jsonl", folder)
        assert (result.exit_code, result.stderr) == (0, "")
    rows = (folder / "chunks.jsonl").read_text().splitlines()
    assert [json.loads(row)["text"] for row in rows] == list("cabz")


def test_named_file_is_not_replaced_by_its_chunks(invoke: Invoke, folder: Path) -> None:
    path = folder / "z.md"
    for others in ([], [folder / "b" / "a.md"], [folder]):
        result = invoke("chunk", "-o", path, *others, path)
        assert (result.exit_code, path.read_text()) == (1, "z")
        expected = f"cutline: {path}: is the file of --output, too, and would be lost\n"
        assert result.stderr == expected


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_document_that_is_found_is_not_replaced_by_chunks(
    invoke: Invoke, folder: Path, form: str
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = folder / "z.md"
    for found in (folder, folder / "*.md"):
        result = invoke("chunk", "--format", form, "-o", path, found)
        assert (result.exit_code, path.read_text()) == (1, "z")
        assert result.stderr.endswith(": is the file of --output, too, and would be lost\n")
    path.write_text("")
    for _ in range(2):  # an empty file, and chunks of an earlier run
        assert invoke("chunk", "--format", form, "-o", path, folder).exit_code == 0


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
@pytest.mark.parametrize(
    ("arguments", "stderr"),
    [
        ("a.md >> a.md", "a.md: it is standard output, too"),
        ("a.md b.md >> a.md", "a.md: it is standard output, too"),
        ("- < a.md >> a.md", "-: it is standard output, too"),
        ("- -o a.md < a.md", "standard input: is the file of --output, too, and would be lost"),
        ("-o a.md < a.md", "standard input: is the file of --output, too, and would be lost"),
    ],
)
def test_chunks_do_not_go_to_the_file_they_are_of(
    command: Command, tmp_path: Path, arguments: str, stderr: str
) -> None:
    text = "One. Two.\n"
    path, other = tmp_path / "a.md", tmp_path / "b.md"
    path.write_text(text)
    other.write_text("Three.")
    shell = f'"$0" -m cutline chunk --by token {arguments}'
    result = subprocess.run(
        ["sh", "-c", shell, sys.executable], cwd=tmp_path, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (1, f"cutline: {stderr}\n")
    rows = path.read_text().removeprefix(text).splitlines()
    assert [json.loads(row)["text"] for row in rows] == ["Three."] * ("b.md" in arguments)


def test_file_that_standard_output_goes_to_is_not_read(command: Command, folder: Path) -> None:
    with (folder / "zz.jsonl").open("wb") as chunks:
        chunks.write(b"{}\n")
        chunks.flush()
        command("chunk", folder, stdout=chunks, capture_output=False)
    _, *rows = (folder / "zz.jsonl").read_text().splitlines()
    assert [json.loads(row)["text"] for row in rows] == list("cabz")


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_folders_behind_links_are_left_out(invoke: Invoke, folder: Path) -> None:
    (folder / "loop").symlink_to(folder)
    (folder / "y.md").symlink_to(folder / "z.md")
    names = [Path(name).name for name in files_of(invoke, folder)]
    assert names == ["c.md", "a.txt", "b.md", "y.md", "z.md"]
