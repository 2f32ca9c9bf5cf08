import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline import MarkdownChunker
from cutline.chunking.notebook import notebook_text


def notebook(*cells: dict[str, Any], **metadata: Any) -> str:
    return json.dumps({
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": metadata or {"language_info": {"name": "python"}},
        "cells": cells,
    })  # fmt: skip


def code(source: str | list[str], *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": list(outputs)}


def markdown(source: str | list[str]) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def stream(text: str | list[str]) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def data(**kinds: Any) -> dict[str, Any]:
    renamed = {name.replace("_", "/"): value for name, value in kinds.items()}
    return {"output_type": "display_data", "metadata": {}, "data": renamed}


def test_cells_follow_each_other_with_one_blank_line() -> None:
    text = notebook_text(
        notebook(
            markdown(["# Fish\n", "\n", "Some *text*."]),
            code("x = 1\nx", stream(["a\n", "b\n"]), data(text_plain=["1"], image_png="iVBO")),
            {"cell_type": "raw", "source": "raw\n\n"},
            markdown(""),
            code("\n"),
            code("plot()", data(image_png="iVBO")),
        )
    )
    assert text == (
        "# Fish\n\nSome *text*.\n\n```python\nx = 1\nx\n```\n\n```\na\nb\n```\n\n```\n1\n```\n\n"
        "raw\n\n```python\nplot()\n```\n"
    )


def test_nbformat_3_has_worksheets_inputs_and_headings() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["A\n", "b"]},
        {
            "cell_type": "code",
            "language": "julia",
            "input": ["f(x)"],
            "outputs": [{"output_type": "pyout", "text": ["3"], "png": "iVBO"}],
        },
    ]
    worksheets = [{"cells": cells}, {"cells": [markdown("End.")]}]
    text = notebook_text(json.dumps({"nbformat": 3, "metadata": {}, "worksheets": worksheets}))
    assert text == "## A b\n\n```julia\nf(x)\n```\n\n```\n3\n```\n\nEnd.\n"


def test_tracebacks_lose_their_colours() -> None:
    lines = ["\x1b[0;31mValueError\x1b[0m", "  \x1b[1;32mline\x1b[39m 1\x1b]0;title\x07"]
    error = {"output_type": "error", "ename": "E", "evalue": "v", "traceback": lines}
    assert notebook_text(notebook(code("", error))) == "```\nValueError\n  line 1\n```\n"
    error["traceback"] = []
    assert notebook_text(notebook(code("", error))) == "```\nE: v\n```\n"


@pytest.mark.parametrize(
    ("metadata", "info"),
    [
        ({"kernelspec": {"language": "R"}}, "R"),
        ({"language_info": {"name": "rust"}, "kernelspec": {"language": "R"}}, "rust"),
        ({"language_info": {"name": "a`b"}}, ""),
        ({"language_info": {"name": "a\n# b"}}, ""),
        ({"language_info": []}, ""),
    ],
)
def test_the_fence_names_the_language_of_the_kernel(metadata: dict[str, Any], info: str) -> None:
    assert notebook_text(notebook(code("x"), **metadata)) == f"```{info}\nx\n```\n"


def test_a_fence_is_longer_than_the_backticks_in_it() -> None:
    assert notebook_text(notebook(code("a\n````\nb"))) == "`````python\na\n````\nb\n`````\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("![a](data:image/png;base64,iVBORw0KGgo=) b", "![a]() b"),
        (
            '<img src="data:image/svg+xml;charset=utf-8;base64,PHN2Zz4+" alt="x">',
            '<img src="" alt="x">',
        ),
        ("![a][1]\n\n[1]: <DATA:IMAGE/JPEG;BASE64,/9j/4AAQ%3D>", "![a][1]\n\n[1]: <>"),
        ("data:text/plain;base64,aGk= and data:image/png", None),
    ],
)
def test_images_inside_markdown_are_left_out(source: str, expected: str | None) -> None:
    assert notebook_text(notebook(markdown(source))) == f"{expected or source}\n"
    assert source in notebook_text(notebook(code(f"image = '{source}'")))


def test_an_empty_notebook_is_an_empty_text() -> None:
    assert notebook_text(notebook()) == ""
    assert notebook_text("") == notebook_text("\ufeff \n") == ""
    assert notebook_text("\ufeff" + notebook(markdown("a"))) == "a\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x", r"not a notebook: damaged JSON: Expecting value: line 1 column 1"),
        ('{"nbformat": 4, ', r"damaged JSON: .*: line 1 column 17"),
        ("[" * 200_000, r"nested too deep"),
        ("[]", r"expected a JSON object, got an array"),
        ("null", r"expected a JSON object, got null"),
        ("{}", r"nbformat must be 3 or 4, got None"),
        ('{"nbformat": 5}', r"nbformat must be 3 or 4, got 5"),
        ('{"nbformat": true}', r"got True"),
        ('{"nbformat": 4}', r"damaged notebook: cells must be an array, got null"),
        ('{"nbformat": 3, "cells": []}', r"worksheets must be an array, got null"),
        ('{"nbformat": 3, "worksheets": [{}]}', r"worksheets\[0\]\.cells must be an array"),
        (notebook(code("x"), 1), r"cells\[1\] must be an object, got a number"),  # type: ignore[arg-type]
        (notebook({"cell_type": "x", "source": ""}), r"cells\[0\]\.cell_type must be .* got 'x'"),
        (notebook({"cell_type": "raw"}), r"cells\[0\]\.source must be a string .* got null"),
        (notebook(code(["a", 1])), r"cells\[0\]\.source must be a string"),  # type: ignore[list-item]
        (notebook(code("", stream({}))), r"cells\[0\]\.outputs\[0\]\.text .* got an object"),  # type: ignore[arg-type]
        (
            notebook(code("", {"output_type": "error", "traceback": "x"})),
            r"outputs\[0\]\.traceback must be an array of strings, got a string",
        ),
    ],
)
def test_damage_is_told_with_its_place(content: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        notebook_text(content)


@given(st.lists(st.text(alphabet="`a \n#-\u00e9\0"), min_size=1))
def test_code_never_leaves_its_fence(sources: list[str]) -> None:
    pyromark = pytest.importorskip("pyromark")
    text = notebook_text(notebook(*map(code, sources)))
    found = [
        event["Start"]
        for event in pyromark.events(text)
        if isinstance(event, dict) and "Start" in event
    ]
    filled = [source for source in sources if source.strip()]
    assert found == [{"CodeBlock": {"Fenced": "python"}}] * len(filled)
    for source in filled:
        assert source.strip("\r\n") in text


def test_chunks_are_those_of_a_markdown_document() -> None:
    pytest.importorskip("pyromark")
    text = notebook_text(notebook(markdown("# A"), code("x = 1"), markdown("# B"), code("y = 2")))
    chunks = MarkdownChunker("o200k_base", 14)(text)
    assert [(chunk.headings, chunk.text) for chunk in chunks] == [
        (("A",), "# A\n\n```python\nx = 1\n```\n\n"),
        (("B",), "# B\n\n```python\ny = 2\n```\n"),
    ]


def test_notebooks_of_nbformat_are_read() -> None:
    nbformat = pytest.importorskip("nbformat")
    made = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("# A"),
            nbformat.v4.new_code_cell(
                "print(1)", outputs=[nbformat.v4.new_output("stream", text="1\n")]
            ),
            nbformat.v4.new_raw_cell("raw"),
        ],
        metadata={"language_info": {"name": "python"}},
    )
    text = "# A\n\n```python\nprint(1)\n```\n\n```\n1\n```\n\nraw\n"
    assert notebook_text(nbformat.writes(made)) == text
