"""`cutline chunk --template`, `--prefix`, `--with-headings`: what is sent, in every format."""

import json
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline import MarkdownChunker, Template, TextChunker
from tests.chunking.contract import json_row
from tests.cli.conftest import Invoke
from tests.oracles import counter

SAWS = (
    "# Saws\n\nA saw cuts wood along a line.\n\n## Care\n\nKeep the teeth dry. Oil it monthly.\n"
    * 3
)


def rows_of(output: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.decode().splitlines()]


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (["--prefix", "a {b}: "], "a {{b}}: {text}"),
        (["--with-headings"], "{headings}\n\n{text}"),
        (["--prefix", "passage: ", "--with-headings"], "passage: {headings}\n\n{text}"),
        (["--template", r"{index}\t{headings}\n{text}\\"], "{index}\t{headings}\n{text}\\"),
        (["--template", "{file}: {text}"], "{file}: {text}"),
    ],
)
@pytest.mark.parametrize("by", ["markdown", "text"])
def test_rows_have_what_is_sent(
    options: list[str], pattern: str, by: str, invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "saws.md"
    path.write_text(SAWS, "utf-8", newline="")
    result = invoke("chunk", "--by", by, "--chunk-size", "60", *options, str(path))
    template = Template(pattern)
    if template.missing:
        template = template.fill(file=str(path))
    make = MarkdownChunker if by == "markdown" else TextChunker
    chunks = make("o200k_base", 60, template=template).chunk(SAWS)
    rows = rows_of(result.stdout_bytes)
    assert rows == [
        json_row(chunk, str(path)) | {"sent": template.render(chunk)} for chunk in chunks
    ]
    count = counter("o200k_base")
    assert all(row["metadata"]["sent_tokens"] == count(row["sent"]) <= 60 for row in rows)


def test_text_and_parquet_have_what_is_sent(invoke: Invoke, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, written = tmp_path / "saws.md", tmp_path / "saws.parquet"
    path.write_text(SAWS, "utf-8", newline="")
    options = ("--by", "markdown", "--chunk-size", "32", "--with-headings", str(path))
    rows = rows_of(invoke("chunk", *options).stdout_bytes)
    invoke("chunk", "--format", "parquet", "-o", str(written), *options)
    assert parquet.read_table(written).column("sent").to_pylist() == [row["sent"] for row in rows]
    text = invoke("chunk", "--format", "text", "--separator", "--", *options).stdout
    assert text.split("\n--\n") == [row["sent"] for row in rows]


def test_the_whole_limit_of_a_model_is_used(invoke: Invoke, tmp_path: Path) -> None:
    cutline.get_encoding("gpt2").save(tmp_path / "tokenizer.json")
    read = json.loads((tmp_path / "tokenizer.json").read_text())
    read["post_processor"] = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(read))
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    path = tmp_path / "saws.md"
    path.write_text(SAWS, "utf-8", newline="")
    result = invoke(
        "chunk", "-e", str(tmp_path), "--chunk-size", "model", "--prefix", "p: ", str(path)
    )
    count = counter("gpt2")
    rows = rows_of(result.stdout_bytes)
    assert max(count(row["sent"]) + 2 for row in rows) == 16
    assert all(row["metadata"]["sent_tokens"] == count(row["sent"]) + 2 for row in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--template", "text"], "--template: a template must have {text} once"),
        (["--template", "{title}: {text}"], "{title} has no value"),
        (["--template", "{text}", "--prefix", "a"], "--template says all that is sent"),
        (["--template", "{text}", "--with-headings"], "--template says all that is sent"),
    ],
)
def test_wrong_templates_are_refused(options: list[str], message: str, invoke: Invoke) -> None:
    result = invoke("chunk", *options, stdin=b"text")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_template_without_room_is_an_error_of_the_file(invoke: Invoke) -> None:
    result = invoke("chunk", "--chunk-size", "4", "--prefix", "one two three four", stdin=b"text")
    assert result.exit_code == 1
    assert "the template leaves no room at offset 0" in result.stderr
