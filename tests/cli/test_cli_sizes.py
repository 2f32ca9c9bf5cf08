"""`cutline chunk --sizes` and `--never-across`: hierarchies and barriers, as rows."""

import io
import json
from pathlib import Path

import pytest

import cutline
from tests.chunking.contract import json_row
from tests.cli.conftest import Invoke, rows_of
from tests.integrations.samples import FISH, UNUSUAL

SIZES = (60, 30, 12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"a.md": FISH, "b.txt": UNUSUAL + "\f" + UNUSUAL, "c.txt": ""}.items():
        (tmp_path / name).write_text(text, "utf-8", newline="")
    return tmp_path


def test_rows_are_the_nodes_of_the_hierarchy(invoke: Invoke, folder: Path) -> None:
    result = invoke("chunk", "--sizes", "60, 30,12", folder)
    assert result.exit_code == 0, result.output
    expected = []
    for name in ("a.md", "b.txt", "c.txt"):
        path = folder / name
        chunker = cutline.chunker_for(name, "o200k_base")
        for nodes in cutline.HierarchicalChunker(chunker, SIZES)(path.read_bytes().decode()):
            for node in nodes:
                above = None if node.parent_id is None else f"{path}/{node.parent_id}"
                place = {"level": node.level, "id": f"{path}/{node.id}", "parent_id": above}
                expected.append(json_row(node.chunk, str(path)) | place)
    rows = rows_of(result.stdout_bytes)
    assert rows == expected
    ids = {row["id"] for row in rows}
    assert len(ids) == len(rows)
    assert {row["parent_id"] for row in rows} - {None} <= ids
    assert {row["level"] for row in rows} == {0, 1, 2}


def test_parquet_has_the_same_rows(invoke: Invoke, folder: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    for options in ([], ["--template", "{headings} {text}"]):
        every = ["chunk", "--sizes", "60,30,12", *options, folder]
        written = invoke(*every, "--format", "parquet").stdout_bytes
        rows = pq.read_table(io.BytesIO(written)).to_pylist()
        for row in rows:
            row["metadata"] = json.loads(row["metadata"])
        assert rows == rows_of(invoke(*every).stdout_bytes)
    nothing = invoke("chunk", "--sizes", "9", "--format", "parquet", folder / "c.txt").stdout_bytes
    assert pq.read_table(io.BytesIO(nothing)).num_rows == 0


def test_rows_of_a_column_have_ids_of_their_own(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"body": FISH, "id": n}) + "\n" for n in (1, 2)), "utf-8")
    result = invoke("chunk", "--sizes", "60,30", "--column", "body", path)
    rows = rows_of(result.stdout_bytes)
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert row["id"].startswith(f"{path}#{row['metadata']['row']}/")
        assert row["metadata"]["record"] == {"id": row["metadata"]["row"]}


def test_rows_of_a_column_give_their_other_columns_to_the_template(
    invoke: Invoke, tmp_path: Path
) -> None:
    path, pattern = tmp_path / "rows.jsonl", "{title}: {text}"
    rows = [{"body": FISH, "title": "Fish"}, {"body": FISH}, {"body": FISH, "title": "Eels " * 99}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    options = ["--sizes", "60,30", "--column", "body", "--template", pattern]
    result = invoke("chunk", *options, path)
    assert result.exit_code == 1
    bare, long = result.stderr.splitlines()
    assert "line 2: --template has {title}, and the row no such column" in bare
    assert "line 3: the template leaves no room" in long
    chunker = cutline.TextChunker(
        "o200k_base", template=cutline.Template(pattern).fill(title="Fish")
    )
    nodes = [node for one in cutline.HierarchicalChunker(chunker, (60, 30))(FISH) for node in one]
    found = rows_of(result.stdout_bytes)
    assert [row["sent"] for row in found] == [f"Fish: {node.chunk.text}" for node in nodes]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sizes", "4,4"], "sizes must fall, got 4,4"),
        (["--sizes", "9,x"], "'x' is not a valid integer"),
        (["--sizes", "9,0"], "0 is not in the range"),
        (["--sizes", ""], "is not a valid integer"),
        (["--sizes", "9", "--chunk-size", "9"], "--sizes and --chunk-size are both given"),
        (["--sizes", "9", "--overlap", "2"], "leave out --overlap and --strip"),
        (["--sizes", "9", "--strip"], "leave out --overlap and --strip"),
        (["--sizes", "9", "--format", "text"], "--sizes needs --format jsonl or parquet"),
        (["--never-across", "chapter"], "'chapter' is not one of 'heading 1', "),
    ],
)
def test_contradictions_are_refused(options: list[str], said: str, invoke: Invoke) -> None:
    result = invoke("chunk", *options, stdin="text")
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_no_chunk_crosses_a_barrier_of_its_kind_of_file(invoke: Invoke, folder: Path) -> None:
    for barrier in ("heading 2", "page", "record"):
        rows = rows_of(invoke("chunk", "--never-across", barrier, folder).stdout_bytes)
        expected = []
        for name, known in {"a.md": ("heading 2", "page"), "b.txt": ("page",)}.items():
            never_across = barrier if barrier in known else None
            chunker = cutline.chunker_for(name, "o200k_base", never_across=never_across)
            path = folder / name
            text = path.read_bytes().decode()
            expected += [json_row(chunk, str(path)) for chunk in chunker(text)]
        assert rows == expected
    result = invoke("chunk", "--by", "text", "--never-across", "heading 1", folder)
    assert result.exit_code == 1
    assert (
        "'heading 1': there are 'page', 'paragraph', 'entry', 'line', 'sentence'" in result.stderr
    )
    both = rows_of(
        invoke("chunk", "--sizes", "60,20", "--never-across", "page", folder).stdout_bytes
    )
    assert not any("\f" in row["text"][:-1] for row in both)
