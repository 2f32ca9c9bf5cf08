"""The README: its examples run, its commands print what is shown, its tables and links are true."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cutline

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_SECONDS = 60


def blocks(language: str) -> list[str]:
    """The contents of the fenced blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def shown_commands() -> list[tuple[str, str]]:
    """Each `$ command` of the console blocks with the output shown below it."""
    return [
        (command, output)
        for block in blocks("console")
        for command, output in re.findall(r"^\$ (.*)\n((?:[^$\n].*\n)*)", block, re.MULTILINE)
    ]


def test_python_blocks_print_what_is_shown() -> None:
    source = "\n".join(blocks("python"))
    parsed = doctest.DocTestParser().get_doctest(source, {}, "README.md", "README.md", 0)
    results = doctest.DocTestRunner().run(parsed)
    assert results.attempted > 20
    assert results.failed == 0


@pytest.mark.skipif(os.name == "nt", reason="the commands are for a POSIX shell")
@pytest.mark.parametrize(("command", "output"), shown_commands())
def test_console_blocks_print_what_is_shown(command: str, output: str, tmp_path: Path) -> None:
    # The tests' own interpreter is the cutline that is found, wherever it is installed.
    program = tmp_path / "cutline"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cutline "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=COMMAND_SECONDS,
        check=True,
    )
    assert done.stdout == output


def test_set_up_is_two_commands_the_main_job_and_the_tests() -> None:
    main_job, tests = blocks("sh")[0].splitlines()
    assert re.search(r"pip install \. && \S*cutline chunk .*README\.md$", main_job)
    assert re.search(r"pip install '\.\[test\]' && \S*pytest -n auto$", tests)
    assert README.index("```sh") < README.index("\n## ")


def test_table_of_encodings_is_that_of_the_package() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| (.*) \|$", README, re.MULTILINE)
    sizes = {name: int(size.replace(",", "")) for name, size, _ in rows}
    assert sizes == {
        name: cutline.get_encoding(name).n_vocab for name in cutline.list_encoding_names()
    }


def test_every_link_leads_to_a_file() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert len(targets) > 10
    assert [target for target in targets if not (ROOT / target).exists()] == []
