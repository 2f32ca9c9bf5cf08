"""The command with a model's folder: its tokenizer, and chunks as large as it reads."""

import json
from pathlib import Path

import pytest

import cutline
from tests.cli.conftest import Invoke
from tests.pretrained.made import TEXT, published, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that reads 24 tokens, two of which are its template's."""
    small = {"sentence_bert_config.json": {"max_seq_length": 24}}
    return write(tmp_path / "model", published(**small))


@pytest.mark.parametrize("by", ["token", "text", "auto"])
def test_the_command_cuts_to_what_the_model_reads(by: str, folder: Path, invoke: Invoke) -> None:
    text = TEXT * 3
    arguments = ("--by", by, "--chunk-size", "model", "-e", folder)
    result = invoke("chunk", *arguments, stdin=text)
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    chunker = (cutline.TokenChunker if by == "token" else cutline.TextChunker)(
        cutline.load(folder), 22
    )
    assert [row["text"] for row in rows] == [chunk.text for chunk in chunker(text)]
    assert "at most 22" in invoke("view", *arguments, stdin=text).stdout


def test_the_command_says_why_there_is_no_size(folder: Path, invoke: Invoke) -> None:
    for arguments, said in (
        (
            ("--chunk-size", "model"),
            "folder with the file that says it, such as tokenizer_config.json",
        ),
        (("--chunk-size", "all"), "'all' is neither a number of tokens nor `model`"),
        (("--chunk-size", "0"), "0 is not in the range x>=1"),
        (
            ("-e", folder, "--chunk-size", "model", "--overlap", "22"),
            "--overlap 22 must be smaller than --chunk-size 22",
        ),
    ):
        result = invoke("chunk", *arguments, stdin=TEXT)
        assert result.exit_code != 0
        assert said in result.stderr
        assert result.stdout == ""
