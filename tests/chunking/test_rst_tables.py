"""Tables of reStructuredText: rows are those of docutils, stay whole, and have their header."""

import random

import pytest

from cutline import DataChunker, Template
from cutline.chunking.markup_structure import MARKUPS
from tests.chunking.drawing import check as check_structure
from tests.chunking.test_data_structures import ENC, check_contract

WORDS = ["rip saw", "cuts", "along the grain", "9 EUR", "x", "long words in a cell"]
Cells = list[list[str]]


def list_table(rows: Cells, *, is_headed: bool) -> str:
    options = "   :header-rows: 1\n   :widths: auto\n" if is_headed else ""
    items = "".join(
        f"   * - {first}\n" + "".join(f"     - {cell}\n" for cell in others)
        for first, *others in rows
    )
    return f".. list-table:: Saws\n{options}\n{items}"


def csv_table(rows: Cells, *, is_headed: bool) -> str:
    options = "   :header-rows: 1\n" if is_headed else ""
    lines = "".join("   " + ", ".join(f'"{cell}"' for cell in row) + "\n" for row in rows)
    return f".. csv-table:: Saws\n{options}\n{lines}"


def grid_table(rows: Cells, *, is_headed: bool) -> str:
    border = "+" + f"{'-' * 22}+" * len(rows[0])
    drawn = [border]
    for number, row in enumerate(rows):
        drawn.append("|" + "".join(f" {cell:<21}|" for cell in row))
        if number % 2:  # of two lines
            drawn.append("|" + "".join(f" {'more':<21}|" for _ in row))
        drawn.append(border.replace("-", "=") if is_headed and not number else border)
    return "\n".join(drawn) + "\n"


def simple_table(rows: Cells, *, is_headed: bool) -> str:
    border = " ".join("=" * 22 for _ in rows[0])
    drawn = [border]
    for number, row in enumerate(rows):
        drawn.append(" ".join(f"{cell:<22}" for cell in row).rstrip())
        if number % 2:  # goes on below
            drawn.append(" " * 23 + "more")
        if is_headed and not number:
            drawn.append(border)
    return "\n".join([*drawn, border]) + "\n"


FORMS = {"list": list_table, "csv": csv_table, "grid": grid_table, "simple": simple_table}


def rows_of_docutils(text: str) -> tuple[list[str], bool]:
    """The first cells of the body's rows, and whether there is a header."""
    pytest.importorskip("docutils")
    from docutils import nodes
    from docutils.core import publish_doctree

    document = publish_doctree(text, settings_overrides={"report_level": 5})
    [table] = document.findall(nodes.table)
    [body] = table.findall(nodes.tbody)
    is_headed = next(iter(table.findall(nodes.thead)), None) is not None
    return [row.children[0].astext().split("\n")[0] for row in body.children], is_headed


@pytest.mark.parametrize("is_headed", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(8))
def test_rows_are_those_of_docutils(form: str, is_headed: bool, seed: int) -> None:
    rng = random.Random(seed)
    n_columns = rng.randint(2, 3)
    rows = [rng.choices(WORDS, k=n_columns) for _ in range(rng.randint(3, 9))]
    table = FORMS[form](rows, is_headed=is_headed)
    names, has_header = rows_of_docutils(table)
    assert has_header == is_headed
    before, after = rng.choice(["", "Saws\n====\n\n", "Text.\n\n", ".. _t:\n\n"]), "\nText.\n"
    text = before + table + after
    structure = MARKUPS["rst"](text)
    check_structure(structure, text)
    places = [at for at in structure.cuts("row") if at not in structure.cuts("block")]
    found = [text[at:].partition("\n")[0].lstrip(' *-|"') for at in places]
    assert len(found) == len(names) - 1  # the first stays with the header
    assert all(line.startswith(name) for line, name in zip(found, names[1:], strict=True))
    assert [bool(structure.table_header_at(at)) for at in places] == [is_headed] * len(places)
    for size in (16, 40):
        check_contract(DataChunker("rst", ENC, size), text)


def test_a_template_repeats_the_header() -> None:
    rows = [["name", "price"], *([f"saw {number}", f"{number} EUR"] for number in range(29))]
    text = "Saws\n====\n\n" + list_table(rows, is_headed=True)
    chunker = DataChunker("rst", ENC, 128, template=Template("{table_header}{text}"))
    first, second, *_ = chunker(text)
    header = text[text.index("..") : text.index("   * - saw 0")]
    assert first.text.endswith("EUR\n")
    assert chunker.template is not None
    assert chunker.template.render(second) == header + second.text
    assert second.text.startswith("   * - saw ")


@pytest.mark.parametrize(
    "text",
    [
        ".. list-table::\n", ".. list-table::\n   :header-rows: 9\n\n   * - a\n",
        ".. list-table::\n\n   no list\n", ".. csv-table::\n   :file: a.csv\n",
        '.. csv-table::\n\n   "a\n   b", c\n   "', "+--+--+\n", "+--+--+\n| a\n",
        "== ==\n", "== ==\na  b\n",
        "== ==\n\n== ==\n== ==\n", ".. table::\n\n   == ==\n   a  b\n   == ==\n",
        ".. list-table::\n   :header-rows: \u00b2\n\n   * - a\n",
    ],
)  # fmt: skip
def test_no_table_at_all(text: str) -> None:
    for before in ("", "A\n=\n", ".. _x:\n"):
        structure = MARKUPS["rst"](before + text)
        check_structure(structure, before + text)
        check_contract(DataChunker("rst", ENC, 6), before + text)


def test_a_row_of_csv_in_quotes_is_one() -> None:
    text = '.. csv-table::\n   :header: "a", "b"\n\n   "1", "x\n   y"\n   "2", "z"\n'
    structure = MARKUPS["rst"](text)
    assert [text[at:] for at in structure.cuts("row")] == ['   "2", "z"\n']
    assert structure.table_header_at(len(text) - 5).startswith('.. csv-table::\n   :header: "a"')


def test_a_list_in_a_cell_has_no_rows() -> None:
    text = ".. list-table::\n\n   * - a\n     - - x\n\n         - y\n   * - b\n     - c\n"
    structure = MARKUPS["rst"](text)
    assert [text[at:] for at in structure.cuts("row")] == ["   * - b\n     - c\n"]


@pytest.mark.parametrize("form", FORMS)
def test_no_chunk_ends_with_a_header_that_fits_with_its_first_row(form: str) -> None:
    rows = [["name", "price"], *([f"saw {number}", f"{number} EUR"] for number in range(9))]
    table = FORMS[form](rows, is_headed=True)
    text = "Some words come before this table.\n\n" * 2 + table
    start, body = text.index(table), text.index("saw 0")
    least = ENC.count(table[: table.index("saw 1")])
    for size in range(least, least + 60):
        ends = [chunk.end_index for chunk in DataChunker("rst", ENC, size)(text)]
        assert not [end for end in ends if start < end <= body], size
