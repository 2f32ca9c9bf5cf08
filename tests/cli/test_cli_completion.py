"""What the shell completes: encodings, models, languages, options and commands."""

import os
import subprocess
import sys

import pytest

from tests.conftest import needs_code


def completed(words: str) -> list[str]:
    """What bash's script asks for, in a process of its own, as it does."""
    code = "from cutline.cli import main; main(prog_name='cutline')"
    asked = {
        "_CUTLINE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=os.environ | asked, capture_output=True, check=True
    )
    return [line.partition(",")[2] for line in done.stdout.decode().split()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cutline count -e o200", ["o200k_base", "o200k_harmony"]),
        ("cutline chunk --encoding r50", ["r50k_base"]),
        ("cutline chunk --model gpt-4o", ["gpt-4o"]),
        pytest.param("cutline chunk --by code --language pyt", ["python"], marks=needs_code),
        ("cutline view --by ma", ["markdown"]),
        ("cutline ver", ["verify"]),
        ("cutline chunk --no-", ["--no-ignore"]),
        ("cutline chunk -e models/min", ["models/min"]),  # the shell completes files
        ("cutline chunk -m nothing-like", []),
    ],
)
def test_values_are_completed(words: str, expected: list[str]) -> None:
    found = completed(words)
    assert found[: len(expected)] == expected if expected else found == []
