"""Tables and charts show the figures of the evaluations."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

import cutline
from cutline.evaluation import Comparison, compare, evaluate
from cutline.evaluation.units import units_of

DOCUMENTS = {
    "a.md": "# Saws\n\nA saw cuts wood. Oil it.\n\n- One.\n- B.\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "b.txt": "Glue sets in an hour. Clamp it.\n\nWait a day.\n",
}
QUESTIONS = [
    {"question": "what cuts", "references": ["A saw cuts wood."], "document": "a.md"},
    {"question": "glue", "references": ["in an hour"], "document": "b.txt"},
]
SIZES = (8, 16, 32)


def comparison(*, questions: bool = True) -> Comparison:
    pytest.importorskip("bm25s")
    kinds = {"markdown": cutline.MarkdownChunker, "a|b <&>": cutline.TextChunker}
    pairs = [(name, kind("o200k_base", size)) for name, kind in kinds.items() for size in SIZES]
    return compare(pairs, DOCUMENTS, QUESTIONS if questions else None, k=1)


def test_a_comparison_has_what_evaluate_finds() -> None:
    found = comparison()
    assert [one.name for one in found.evaluations] == ["markdown"] * 3 + ["a|b <&>"] * 3
    for one, size in zip(found.evaluations, SIZES, strict=False):
        alone = evaluate(
            cutline.MarkdownChunker("o200k_base", size), DOCUMENTS, QUESTIONS, k=1, name="markdown"
        )
        assert one.as_dict() == alone.as_dict()
        assert one.report() == alone.report()


def test_tables_hold_the_same_figures() -> None:
    found = comparison()
    rows = json.loads(found.table("json"))
    assert rows == [one.as_dict() for one in found.evaluations]
    read = list(csv.DictReader(io.StringIO(found.table("csv"))))
    assert [row["chunker"] for row in read] == [row["chunker"] for row in rows]
    names = {"size": "chunk_size", "chunks": "chunks", "embed": "embedded_tokens"}
    names |= {"fill": "mean_fill", "over": "over_budget", "read": "retrieved_tokens"}
    names |= {"recall": "recall", "precision": "precision", "omega": "precision_omega"}
    for mine, row in zip(read, rows, strict=True):
        for column, field in {**names, "IoU": "iou"}.items():
            assert float(mine[column]) == row[field]
        assert float(mine["whole sentence"]) == row["whole"]["sentence"]["share"]
    markdown = found.table("markdown").splitlines()
    assert markdown[0].startswith("| chunker | size | chunks | embed | fill | over | whole heading")
    assert markdown[5].startswith(r"| a\|b <&> | 8 | ")
    text = str(found).splitlines()
    assert len({len(line) for line in text[-6:]}) == 1
    assert text[-7].split()[-5:] == ["read", "recall", "precision", "omega", "IoU"]
    assert "lost" not in text[-7]


def test_columns_without_values_are_left_out() -> None:
    header = comparison(questions=False).table("csv").splitlines()[0]
    assert header.startswith("chunker,size,chunks,embed,fill,over,whole ")
    assert "IoU" not in header
    lost = compare({"ä": lambda text: [text[:3]]}, "One two three.")
    assert (
        lost.table("csv").splitlines()[0]
        == "chunker,chunks,embed,lost,whole paragraph,whole sentence"
    )
    assert compare({"over": lambda text: [text]}, "One two three.", chunk_size=1).table().split()[
        -2:
    ] == ["4.000", "1.000"]


def test_a_chart_has_a_point_for_each_figure() -> None:
    found = comparison()
    drawn = found.chart()
    assert drawn == comparison().chart()
    svg = "{http://www.w3.org/2000/svg}"
    root = ET.fromstring(drawn)
    points = [point[0].text for point in root.iter(f"{svg}circle")]
    fields = ("recall", "precision_omega", "iou")
    expected = [
        f"{row['chunker']}, {row['chunk_size']}: {row[field]:.3f}"
        for field in fields
        for row in (one.as_dict() for one in found.evaluations)
    ]
    assert points == expected
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for line in root.iter(f"{svg}polyline"):
        places = [tuple(map(float, place.split(","))) for place in line.attrib["points"].split()]
        assert len(places) == len(SIZES)
        assert all(0 < x < width and 0 < y < height for x, y in places)
        assert all(one[0] < other[0] for one, other in pairwise(places))
    assert "href" not in drawn


def test_a_chart_without_questions_shows_the_fill() -> None:
    points = ET.fromstring(comparison(questions=False).chart()).iter(
        "{http://www.w3.org/2000/svg}circle"
    )
    assert len(list(points)) == 6
    one = compare({"one": lambda text: [text]}, "One two three.", chunk_size=1)
    assert one.chart().count("<circle") == 1  # a fill of 400 %
    with pytest.raises(ValueError, match="a chart needs evaluations with a chunk_size"):
        compare({"one": lambda text: [text]}, "One.").chart()


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="one or more chunkers"):
        compare({}, "One.")
    with pytest.raises(TypeError, match="names to chunkers, or pairs of these, got int at place 0"):
        compare([5], "One.")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="chunks must be a list of chunks, got NoneType"):
        compare({"none": lambda text: None}, "One.")
    with pytest.raises(ValueError, match="form must be one of 'text', 'markdown', 'csv', 'json'"):
        comparison().table("html")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text", "kind", "units"),
    [
        ("a.csv", 'a,b\n1,"x\ny"\n2,z\n', "record", ['a,b\n1,"x\ny"', "2,z"]),
        ("a.jsonl", '{"a": 1}\n{"a": 2}\n', "record", ['{"a": 1}', '{"a": 2}']),
        ("a.json", '{"a": [1, 2], "b": 3}', "record", ['{"a": [1, 2],', '"b": 3}']),
        ("a.srt", "Ann: Hi.\nSo?\nBob: Fine.\n", "record", ["Ann: Hi.\nSo?", "Bob: Fine."]),
        ("a.html", "<p>a</p><table><tr><td>1</td></tr></table>", "table", None),
        ("a.py", "import a\n\ndef f():\n    pass\n", "definition", ["def f():\n    pass"]),
        ("a.md", "# A\n\nb. C\nd!\n", "heading", ["# A\n\nb"]),
        ("a.md", "# A\n## B\n\n> c\n\n# D\n", "heading", ["# A\n#", "## B\n\n>"]),
        ("a.md", "# A\n\nbb. C d! E", "sentence", ["bb.", "C d!", "E"]),
        ("a.md", "Ä b.\n\n```\nx. Y\n```\n", "sentence", ["Ä b."]),
        ("a.md", "Ä b.\n\n```\nx. Y\n```\n", "code", ["```\nx. Y\n```"]),
        ("a.md", "- a\n  - b\n- c", "list item", ["- a\n  - b", "- b", "- c"]),
        ("a.md", "| a |\n|---|\n| b |\n\nc\n", "table", ["| a |\n|---|\n| b |"]),
        ("a.py", "if a:\n    b\n", "definition", []),
        ("a.json", "", "record", []),
        ("a.csv", "a,b", "record", ["a,b"]),
        ("a.ipynb", "- a\n", "list item", ["- a"]),
        ("notes", "a b.\n\nC d. E", "paragraph", ["a b.", "C d. E"]),
        ("notes", "", "sentence", []),
        ("a.md", "", "table", []),
    ],
)
def test_units(name: str, text: str, kind: str, units: list[str] | None) -> None:
    found = [text[start:end] for start, end in units_of(name, text)[kind]]
    assert found == ([text[8:]] if units is None else units)
