"""Which files are read: patterns, .gitignore against git itself, names from a file."""

import errno
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Invoke, rows_of

GIT = shutil.which("git")
PARTS = ["a", "b", "build", "x.log", "y.md", "z", "keep.log", "docs", "A"]
LINES = [
    *("*.log", "!keep.log", "build/", "/a", "a/b", "docs/*.md", "**/z", "z/**", "a/**/y.md", "A"),
    *("# a", "", " ", "!", "!/docs/", "*", "!*/", "[xy].*", "?", "\\!a", "b\\ ", "***", "x.log "),
]


def made(folder: Path, names: list[str]) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("a")
    return folder


def files_of(invoke: Invoke, *arguments: str | Path, stdin: bytes = b"") -> list[str]:
    result = invoke("count", "--format", "jsonl", *arguments, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    return [row["file"] for row in rows_of(result.stdout_bytes)]


def names_of(invoke: Invoke, folder: Path, *options: str) -> list[str]:
    return [
        Path(name).relative_to(folder).as_posix() for name in files_of(invoke, *options, folder)
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--include *.md", "a.md d/a.md d/e/b.md"),
        ("--include /*.md", "a.md"),
        ("--include d/", "d/a.md d/e/b.md d/e/c.txt"),
        ("--include *.md --include c.txt", "a.md d/a.md d/e/b.md d/e/c.txt"),
        ("--exclude *.md", "d/e/c.txt z"),
        ("--exclude e/", "a.md d/a.md z"),
        ("--exclude e --include *.md", "a.md d/a.md"),
        ("--include d/** --exclude **/b.*", "d/a.md d/e/c.txt"),
    ],
)
def test_patterns(invoke: Invoke, tmp_path: Path, options: str, expected: str) -> None:
    made(tmp_path, ["a.md", "d/a.md", "d/e/b.md", "d/e/c.txt", "z"])
    assert names_of(invoke, tmp_path, *options.split()) == sorted(
        expected.split(), key=lambda name: name.split("/")
    )


def test_patterns_do_not_hide_a_file_that_is_named(invoke: Invoke, tmp_path: Path) -> None:
    made(tmp_path, ["a.log", "b.md", ".gitignore"])
    (tmp_path / ".gitignore").write_text("*.log\n")
    for options in (["--exclude", "*.log"], ["--include", "*.md"], []):
        assert files_of(invoke, *options, tmp_path / "a.log") == [str(tmp_path / "a.log")]
    found = files_of(invoke, "--exclude", "*.log", str(tmp_path / "*"))
    assert found == [str(tmp_path / "b.md")]


@pytest.mark.parametrize("pattern", ["", "!", "!a", "# a", "\\"])
def test_what_is_no_pattern_is_wrong_usage(invoke: Invoke, pattern: str) -> None:
    result = invoke("count", "--include", pattern, ".")
    assert result.exit_code == 2
    assert "is no pattern as in .gitignore" in result.stderr


@pytest.mark.skipif(GIT is None, reason="needs git")
@pytest.mark.parametrize("seed", range(60))
def test_ignored_files_are_those_that_git_ignores(
    invoke: Invoke, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    subprocess.run([GIT or "", "init", "-q", tmp_path], check=True)
    names = {"/".join(rng.choices(PARTS, k=rng.randint(1, 4))) for _ in range(30)}
    folders = {name.rpartition("/")[0] for name in names}
    folders |= {"/".join(folder.split("/")[:k]) for folder in folders for k in range(1, 4)}
    made(tmp_path, sorted(names - folders) or ["a"])
    for folder in sorted(folders):
        if folder == "" or rng.random() < 0.3:
            lines = rng.choices(LINES, k=rng.randint(0, 5))
            (tmp_path / folder / ".gitignore").write_text("\n".join(lines))
    if rng.random() < 0.3:
        (tmp_path / ".git" / "info" / "exclude").write_text(rng.choice(LINES))
    listed = subprocess.run(
        [GIT or "", "-C", tmp_path, "ls-files", "-z", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
    ).stdout.decode()
    kept = {name for name in listed.split("\0") if name and not name.endswith(".gitignore")}
    for folder in sorted(folders & {*PARTS, ""}):
        below = folder and f"{folder}/"
        expected = sorted(name[len(below) :] for name in kept if name.startswith(below))
        if not expected:
            continue  # an ignored folder that is named is read, with what is in it
        assert sorted(names_of(invoke, tmp_path / folder)) == expected


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_an_ignored_folder_that_is_named_is_read(invoke: Invoke, tmp_path: Path) -> None:
    subprocess.run([GIT or "", "init", "-q", tmp_path], check=True)
    made(tmp_path, ["build/a", "build/b.log", "c"])
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    assert names_of(invoke, tmp_path) == ["c"]
    assert names_of(invoke, tmp_path / "build") == ["a", "b.log"]
    assert names_of(invoke, tmp_path, "--no-ignore") == ["build/a", "build/b.log", "c"]


def test_gitignore_counts_without_a_repository_too(invoke: Invoke, tmp_path: Path) -> None:
    made(tmp_path, ["d/a.log", "d/b", "e/a.log"])
    (tmp_path / "d" / ".gitignore").write_bytes(b"*.log\n\xff\n")
    assert names_of(invoke, tmp_path) == ["d/b", "e/a.log"]


@pytest.mark.parametrize("pattern", ["", "*"])
def test_links_to_nothing_are_no_files(invoke: Invoke, tmp_path: Path, pattern: str) -> None:
    made(tmp_path, ["a.md"])
    for name, target in {"loop": "loop", "gone": "nothing", "inside": "a.md/b"}.items():
        (tmp_path / name).symlink_to(target)
    assert files_of(invoke, str(tmp_path / pattern)) == [str(tmp_path / "a.md")]


@pytest.mark.parametrize("name", ["", "*", "link.md", "locked/b.md"])
def test_what_may_not_be_followed_is_named(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    made(tmp_path, ["a.md", "c.md", "locked/b.md"])
    (tmp_path / "link.md").symlink_to("locked/b.md")

    def refusing(call: Callable[..., Any]) -> Callable[..., Any]:
        def refused(path: Any = ".", *others: Any, **options: Any) -> Any:
            if "locked" in os.path.realpath(path if isinstance(path, (str, Path)) else ""):
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return call(path, *others, **options)

        return refused

    for call in ("stat", "scandir"):  # tests may run as root, who may enter all folders
        monkeypatch.setattr(os, call, refusing(getattr(os, call)))
    monkeypatch.setattr(Path, "open", refusing(Path.open))
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # which click asks
    result = invoke("count", str(tmp_path / name))
    assert "permission denied" in result.stderr
    assert result.exit_code == 1
    read = [Path(line.split()[-1]).name for line in result.stdout.splitlines()]
    assert read == (["a.md", "c.md", "total"] if name in ("", "*") else [])


@pytest.mark.parametrize("name", ["a" * 300, "a*" * 200, "a" * 5_000])
def test_a_name_that_is_too_long_is_missing(invoke: Invoke, name: str) -> None:
    result = invoke("count", name)
    assert result.exit_code == 1
    assert result.stderr.startswith("cutline: a")
    result = invoke("count", "--encoding", name, stdin=b"a")
    assert (result.exit_code, "no encoding is named" in result.stderr) == (2, True)


def test_names_from_a_file(invoke: Invoke, tmp_path: Path) -> None:
    made(tmp_path, ["a", "b c", "d/e"])
    (tmp_path / "f").write_bytes(b"\0binary")
    names = [str(tmp_path / name) for name in ("b c", "d", "a")]
    listed = "".join(f"{name}\0" for name in names).encode()
    expected = [names[0], str(tmp_path / "d" / "e"), names[2]]
    assert files_of(invoke, "--files0-from", "-", stdin=listed) == expected
    (tmp_path / "list").write_bytes(listed[:-1])  # the last NUL may be missing
    assert files_of(invoke, "--files0-from", tmp_path / "list") == expected
    both = files_of(invoke, "--files0-from", tmp_path / "list", tmp_path / "a")
    assert both == [str(tmp_path / "a"), *expected]
    lines = invoke("count", "--files0-from", tmp_path / "list").stdout.splitlines()
    assert [line.split(None, 1)[1] for line in lines] == [*expected, "total"]
    result = invoke("count", "--files0-from", "-", stdin=f"{tmp_path / 'f'}\0{names[0]}\0")
    assert result.exit_code == 0  # as found in a folder: git lists binary files, too
    assert "skipped 1 binary file" in result.stderr


def test_no_names_from_a_file_are_no_inputs(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("count", "--files0-from", "-", stdin=b"")
    assert (result.exit_code, result.stderr) == (0, "")
    result = invoke("count", "--files0-from", "-", stdin=b"a\nb\n")
    assert result.exit_code == 2
    assert "names must end with NUL" in result.stderr
    result = invoke("count", "--files0-from", tmp_path / "missing")
    assert result.exit_code == 2
    assert "no such file" in result.stderr


def test_a_folder_with_nothing_left_is_named(invoke: Invoke, tmp_path: Path) -> None:
    made(tmp_path, ["a.log"])
    result = invoke("count", "--include", "*.md", tmp_path)
    assert (result.exit_code, result.stderr) == (
        1,
        f"cutline: {tmp_path}: no file in this folder\n",
    )


def test_rows_are_json(invoke: Invoke, tmp_path: Path) -> None:
    made(tmp_path, ["a"])
    assert json.loads(invoke("count", "--format", "jsonl", tmp_path).stdout)["token_count"] == 1


@pytest.mark.skipif(os.name == "nt", reason="a working folder cannot be removed there")
def test_a_working_folder_that_was_removed_is_a_folder_without_files(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = invoke("count", ".")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "cutline: .: no file in this folder\n"
