"""How the tests call the command: inside this process, or as a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from click.testing import CliRunner, Result

from cutline.cli import main
from tests.oracles import real_tiktoken

Invoke = Callable[..., Result]
Command = Callable[..., "subprocess.CompletedProcess[bytes]"]

# Before click 8.2, standard error goes into standard output unless this is said.
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}

TEXTS = {
    "ascii": "The quick brown fox jumps over the lazy dog. " * 5,
    "crlf": "one\r\ntwo\r\n\r\nthree\rfour\n\r",
    "byte order mark": "\ufeffname,value\r\nä,1\r\n",
    "cjk": "吾輩は猫である。名前はまだ無い。" * 6,
    "emoji": "family 👩‍👩‍👧‍👦 flag 🇯🇵 thumbs 👍🏽 " * 4,
    "special tokens": "a<|endoftext|>b<|im_start|>user<|endofprompt|> " * 4,
    "line separators": "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg" * 4,
    "separator line": "before\n\f\nafter\n---\n",
    "nul and controls": "a\x00b\x1b[31mred\x7f" * 4,
    "white space": " \t\n" * 30 + " " * 50,
    "quotes": '{"a": "\\u0041", \'b\': "\\""}' * 4,
}


def rows_of(output: bytes) -> list[dict[str, Any]]:
    """The rows of JSON Lines: nothing but a newline ends a line."""
    *lines, rest = output.decode("utf-8").split("\n")
    assert rest == ""
    return [json.loads(line) for line in lines]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=TEXTS.values(), ids=TEXTS.keys())
def text(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def invoke() -> Invoke:
    def call(*args: str | Path, stdin: bytes | str | None = None) -> Result:
        return CliRunner(**APART).invoke(
            main,
            list(map(str, args)),
            input=stdin,
            prog_name="cutline",
            catch_exceptions=False,
        )

    return call


@pytest.fixture
def command() -> Command:
    def call(*args: str | Path, **options: Any) -> "subprocess.CompletedProcess[bytes]":
        options = {"capture_output": True, "timeout": 60, "check": False} | options
        return subprocess.run([sys.executable, "-m", "cutline", *args], **options)

    return call


@pytest.fixture(scope="session")
def oracle() -> tiktoken.Encoding:
    return real_tiktoken("o200k_base")
