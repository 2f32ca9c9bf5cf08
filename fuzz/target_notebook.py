"""A notebook is refused with its fault named, or becomes Markdown that has all of its text.

Input: a byte, then a file; where the byte is odd, choices that make a notebook.
"""

import json
import random
from typing import Any

import cutline
from fuzz.grammar import PARTS, Choices, json_value
from tests.chunking.contract import check
from tests.oracles import counter

CELLS = ("code", "markdown", "raw", "markdown", "code", "heading", "html", "unknown")
OUTPUTS = ("stream", "display_data", "execute_result", "error", "pyout", "pyerr", "unknown")


def run(data: bytes) -> None:
    if not data:
        return
    notebook = None
    content = data[1:].decode(errors="replace")
    if data[0] & 1:
        notebook = made(Choices(data[1:]))
        content = json.dumps(notebook, ensure_ascii=bool(data[0] & 2))
    text = text_of(content)
    if text is None:
        return
    chunks = cutline.MarkdownChunker("o200k_base", 30).chunk(text)
    check(text, chunks, counter("o200k_base"), chunk_size=30)
    for cell in notebook["cells"] if notebook and notebook["nbformat"] == 4 else ():
        source = "".join(cell["source"])
        if cell["cell_type"] != "heading" and "data:image" not in source and source.strip():
            assert source.strip("\r\n") in text


def text_of(content: str) -> str | None:
    """Return the Markdown; None: it was refused."""
    try:
        return cutline.notebook_text(content)
    except ValueError as error:
        refusal = str(error)
    assert "notebook" in refusal
    return None


def made(choices: random.Random) -> dict[str, Any]:
    """Make a notebook, of which something may be wrong."""

    def lines() -> Any:
        n = choices.randrange(6)
        found = [choices.choice(PARTS["markdown"]) for _ in range(n)]
        return choices.choice((found, "".join(found), found, json_value(choices)))

    def output() -> dict[str, Any]:
        found = {"output_type": choices.choice(OUTPUTS), "text": lines(), "traceback": lines()}
        return choices.choice((found, found | {"data": {"text/plain": lines()}}))

    cells = []
    for _ in range(choices.randrange(5)):
        cell = {"cell_type": choices.choice(CELLS), "source": lines(), "outputs": []}
        if choices.randrange(3) == 0:
            cell["outputs"] = [output()]
        if choices.randrange(16) == 15:
            cell[choices.choice([*cell])] = json_value(choices)
        cells.append(cell)
    metadata = choices.choice(({}, {"language_info": {"name": "c`\n"}}, json_value(choices)))
    found = {"nbformat": choices.choice((4, 4, 3)), "metadata": metadata, "cells": cells}
    if found["nbformat"] == 3:
        found["worksheets"] = [{"cells": cells}]
    if choices.randrange(16) == 15:
        found[choices.choice([*found])] = json_value(choices)
    return found
