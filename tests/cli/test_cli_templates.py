"""`cutline chunk --template`, `--prefix`, `--with-headings`: what is sent, in every format."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
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
        (
            ["--template", "{titel}: {text}"],
            "--template: there is no {titel}: the fields are {text}, {headings}, {table_header}, "
            "{index}, {file}, and with --column the other columns of a row\n",
        ),
        (["--template", "{heading}: {text}"], "; did you mean {headings}?\n"),
        (["--template", "{text}", "--prefix", "a"], "--template says all that is sent"),
        (["--template", "{text}", "--with-headings"], "--template says all that is sent"),
    ],
)
def test_wrong_templates_are_refused(options: list[str], message: str, invoke: Invoke) -> None:
    result = invoke("chunk", *options, stdin=b"text")
    assert result.exit_code == 2
    assert message in result.stderr


def titled(number: int) -> dict[str, object]:
    return {"title": f"Saws {number}", "page": number, "body": SAWS * number, "none": None}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("jobs", ["1", "4"])
def test_a_row_gives_its_other_columns(
    form: str, jobs: str, invoke: Invoke, tmp_path: Path
) -> None:
    rows = [titled(number) for number in range(1, 30)]
    path, out = tmp_path / "rows.jsonl", tmp_path / f"chunks.{form}"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pattern = "{none}{file} {title}, {page}: {headings}\n{text}"
    options = ["--by", "markdown", "--chunk-size", "60", "--template", pattern, "--jobs", jobs]
    made = invoke("chunk", "--column", "body", *options, "--format", form, "-o", out, path)
    assert (made.exit_code, made.stderr) == (0, "")
    if form == "jsonl":
        found = [json.loads(line)["sent"] for line in out.read_text("utf-8").splitlines()]
    else:
        found = pq.read_table(out)["sent"].to_pylist()
    template = Template(pattern).fill(file=str(path))
    expected = []
    for row in rows:
        own = template.fill_from(row)
        chunker = cutline.MarkdownChunker("o200k_base", 60, template=own)
        expected += [own.render(chunk) for chunk in chunker.chunk(str(row["body"]))]
    assert found == expected


def test_a_row_that_lacks_a_column_is_named_and_the_others_go_on(invoke: Invoke) -> None:
    rows = [titled(1), {"body": "one", "titel": 2}, {"body": "two"}, titled(2)]
    rows.append({"body": "three", "title": "\ud800"})
    options = ["--column", "body", "--template", "{title}: {text}"]
    result = invoke("chunk", *options, stdin="".join(json.dumps(row) + "\n" for row in rows))
    assert result.exit_code == 1
    assert [json.loads(line)["sent"][:6] for line in result.stdout.splitlines()] == [
        "Saws 1",
        "Saws 2",
    ]
    lacks, bare, damaged = result.stderr.splitlines()
    assert (
        "line 2: --template has {title}, and the row no such column: besides the text it has"
        in lacks
    )
    assert lacks.endswith("has titel; did you mean {titel}?")
    assert "line 3" in bare
    assert bare.endswith("besides the text it has none")
    assert "surrogate" in damaged


def test_a_template_without_room_is_an_error_of_the_file(invoke: Invoke) -> None:
    result = invoke("chunk", "--chunk-size", "4", "--prefix", "one two three four", stdin=b"text")
    assert result.exit_code == 1
    assert "the template leaves no room at offset 0" in result.stderr
