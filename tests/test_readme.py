"""The README: short, its examples and commands run, and its table and links are true.

So do the commands of docs/command-line.md of which the output is shown.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPARISON = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
COMMAND_LINE = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
MAX_WORDS = 600
COMMAND_SECONDS = 60

Table = dict[str, dict[str, str]]


def blocks(language: str, page: str = README) -> list[str]:
    """The contents of the fenced blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[tuple[str, str]]:
    """Each `$ command` of a page's console blocks with the output shown below it, if any."""
    return [
        (command, output)
        for block in blocks("console", page)
        for command, output in re.findall(r"^\$ (.*)\n((?:[^$\n].*\n)*)", block, re.MULTILINE)
    ]


def table_under(heading: str, page: str) -> Table:
    """The first table after a heading: rows by their first cell, cells by their column."""
    lines = page[page.index(f"\n## {heading}\n") :].splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("|"))
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines[first : lines.index("", first)]
    ]
    return {name: dict(zip(header[1:], cells, strict=True)) for name, *cells in rows}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder with what the commands read, and with a `cutline` on its path: that of the tests."""
    for name in ("README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    program = tmp_path / "bin" / "cutline"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cutline "$@"\n')
    program.chmod(0o755)
    return tmp_path


def output_of(command: str, folder: Path) -> str:
    """What a command prints; it must not fail."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        encoding="utf-8",
        timeout=COMMAND_SECONDS,
        check=True,
    )
    return done.stdout


posix_only = pytest.mark.skipif(os.name == "nt", reason="the commands are for a POSIX shell")


def test_readme_takes_a_minute_to_read() -> None:
    assert len(README.split()) <= MAX_WORDS


def test_python_blocks_print_what_is_shown() -> None:
    source = "\n".join(blocks("python"))
    parsed = doctest.DocTestParser().get_doctest(source, {}, "README.md", "README.md", 0)
    results = doctest.DocTestRunner().run(parsed)
    assert results.attempted == 4
    assert results.failed == 0


@posix_only
@pytest.mark.parametrize(
    ("command", "output"), [shown for shown in commands(COMMAND_LINE) if shown[1]]
)
def test_commands_print_what_is_shown(command: str, output: str, run: Path) -> None:
    assert output_of(command, run) == output


@posix_only
def test_commands_of_the_readme_count_and_cut(run: Path) -> None:
    (count, _), (chunk, _) = commands(README)
    assert "docs/guide.md" in output_of(count, run)
    assert output_of(chunk, run) == ""
    assert '"token_count"' in (run / "chunks.jsonl").read_text(encoding="utf-8")


def test_set_up_is_two_commands_the_main_job_and_the_tests() -> None:
    main_job, tests = blocks("sh")[0].splitlines()
    assert re.search(r"pip install '\.\[markdown\]' && \S*cutline chunk .*README\.md$", main_job)
    assert re.search(r"pip install '\.\[test\]' && \S*pytest -n auto$", tests)
    assert README.index("```sh") < README.index("\n## ")


def test_table_of_hard_texts_is_an_extract_of_the_comparison() -> None:
    extract = table_under("The problem", README)
    whole = table_under("Hard texts", COMPARISON)
    assert {"Cutline Text", "slices of tokens"} < extract.keys()
    for name, cells in extract.items():
        assert (name, cells) == (name, {column: whole[name][column] for column in cells})


def test_budgets_of_hard_texts_are_those_of_the_comparison() -> None:
    texts = re.findall(r"^\| (\w+) \| .* \| (\d+) \|$", COMPARISON, re.MULTILINE)
    budgets = {name: int(budget) for name, budget in texts}
    emoji, others = map(int, re.findall(r"budget of (\d+)\s+tokens for emoji and (\d+)", README)[0])
    columns = table_under("The problem", README)["Cutline Text"]
    assert {name: budgets[name] for name in columns} == dict.fromkeys(columns, others) | {
        "emoji": emoji
    }


def test_every_link_leads_to_a_file() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", README)
    assert len(targets) > 10
    assert [target for target in targets if not (ROOT / target).exists()] == []
