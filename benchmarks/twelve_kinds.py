"""Twelve kinds of documents with the places where a person would cut them, made alike each time.

The places are known from how a document is put together, or, for code, from Python's own parser:
no chunker's rules are in them.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.document_kinds import RECORDS, sentences

__all__ = ["KINDS", "Made"]

_SIZE: Final = 120_000


@dataclass(frozen=True, slots=True)
class Made:
    """A document and its units.

    Attributes:
        text: the document.
        file_name: a name with the ending that such files have.
        units: half-open spans of what a person would keep whole, in code points, in order.
        ends: where a person would cut: the ends of units, and of what may end a chunk as well.
    """

    text: str
    file_name: str
    units: list[tuple[int, int]]
    ends: frozenset[int]


class _Writer:
    """Puts a document together, part after part, and notes the units."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.units: list[tuple[int, int]] = []
        self.ends: set[int] = set()
        self.length = 0

    def add(self, text: str) -> None:
        """Add what is no unit."""
        self._parts.append(text)
        self.length += len(text)

    def unit(self, text: str, after: str = "", or_after: int = 0) -> None:
        """Add a unit and what comes after it; a cut is good at its end, or so far after it."""
        start = self.length
        self.add(text)
        self.units.append((start, self.length))
        self.ends |= {self.length, self.length + or_after}
        self.add(after)

    def made(self, file_name: str) -> Made:
        """Return the document."""
        return Made("".join(self._parts), file_name, self.units, frozenset(self.ends))


def _of_lines(text: str, file_name: str) -> Made:
    writer = _Writer()
    for line in text.splitlines(keepends=True):
        body = line.rstrip("\n")
        if body:
            writer.unit(body, line[len(body) :])
        else:
            writer.add(line)
    return writer.made(file_name)


def _csv() -> Made:
    """Make records, of which some have line ends and doubled quotes in a cell."""
    rng, writer = random.Random(2), _Writer()
    writer.unit("id,name,comment,score,state", "\n")
    comments = sentences(rng)
    while writer.length < _SIZE:
        comment = next(comments).replace('"', '""')
        if rng.random() < 0.2:
            comment = comment.replace(" ", "\n", 1) + "\n" + next(comments)
        name, state = rng.choice(("Anna", "Łukasz", "maria")), rng.choice(("open", "on hold"))
        cells = [str(rng.randint(1, 10**6)), name, f'"{comment}"', f"{rng.random():.4f}", state]
        writer.unit(",".join(cells), "\n")
    return writer.made("table.csv")


def _wrapped_sentences(writer: _Writer, paragraph: list[str], columns: int) -> None:
    """Add a paragraph's sentences: a blank becomes a line end wherever the line is full."""
    lines = textwrap.wrap(" ".join(paragraph), columns, break_on_hyphens=False)
    wrapped = iter("\n".join(lines))
    for number, sentence in enumerate(paragraph):
        body = "".join(next(wrapped) for _ in sentence)
        writer.unit(body, "" if number == len(paragraph) - 1 else next(wrapped))


def _paragraphs(rng: random.Random, language: str = "en") -> Iterator[list[str]]:
    source = sentences(rng, language)
    while True:
        yield [next(source) for _ in range(rng.randint(2, 9))]


def _wrapped_prose() -> Made:
    writer = _Writer()
    for paragraph in _paragraphs(random.Random(3)):
        _wrapped_sentences(writer, paragraph, 72)
        writer.add("\n\n")
        if writer.length > _SIZE:
            return writer.made("prose.txt")
    raise AssertionError


def _markdown() -> Made:
    """Headings, paragraphs, lists, tables and code; no cut is good after a heading."""
    rng, writer = random.Random(4), _Writer()
    source, paragraphs = sentences(rng), _paragraphs(rng)
    number = 0
    while writer.length < _SIZE:
        number += 1
        writer.add(f"{'#' * (2 + number % 2)} Part {number}, what it is for\n\n")
        for _ in range(rng.randint(1, 3)):
            _wrapped_sentences(writer, next(paragraphs), 90)
            writer.add("\n\n")
        if number % 2:
            for _ in range(rng.randint(3, 9)):
                writer.unit(f"- {next(source)}", "\n")
            writer.add("\n")
        if number % 3 == 0:
            writer.add("| name | what it says | price |\n| --- | --- | ---: |\n")
            for row in range(rng.randint(4, 14)):
                writer.unit(f"| N{row} | {next(source)} | {rng.random():.2f} |", "\n")
            writer.add("\n")
        if number % 5 == 0:
            body = "".join(f"    total += price[{at}]  # {next(source)}\n" for at in range(4))
            writer.unit(f"```python\ndef total(price):\n{body}    return total\n```", "\n\n")
    return writer.made("page.md")


def _html() -> Made:
    rng, writer = random.Random(5), _Writer()
    source, paragraphs = sentences(rng), _paragraphs(rng)
    writer.add("<!DOCTYPE html>\n<html><head><title>A page</title></head>\n<body>\n")
    number = 0
    while writer.length < _SIZE:
        number += 1
        writer.add(f'<section>\n<h2 id="s{number}">Part {number}</h2>\n')
        for _ in range(rng.randint(1, 3)):
            writer.add('<p class="text">')
            for sentence in (paragraph := next(paragraphs))[:-1]:
                writer.unit(sentence, " ")
            writer.unit(paragraph[-1], "</p>\n", len("</p>"))
        if number % 2:
            writer.add("<ul>\n")
            for _ in range(rng.randint(3, 9)):
                writer.unit(f"<li>{next(source)}</li>", "\n")
            writer.add("</ul>\n")
            writer.ends.add(writer.length - 1)
        if number % 3 == 0:
            writer.add("<table>\n<tr><th>name</th><th>what it says</th></tr>\n")
            for row in range(rng.randint(4, 14)):
                writer.unit(f"<tr><td>N{row}</td><td>{next(source)}</td></tr>", "\n")
            writer.add("</table>\n")
            writer.ends.add(writer.length - 1)
        writer.add("</section>\n")
        writer.ends.add(writer.length - 1)
    writer.add("</body></html>\n")
    return writer.made("page.html")


def _json() -> Made:
    """Make the answer of an API, a list of results; a comma after one belongs to either."""
    rng, writer = random.Random(6), _Writer()
    source = sentences(rng)
    writer.add('{\n  "status": "ok",\n  "results": [\n')
    while writer.length < _SIZE:
        result = {
            "id": rng.randint(1, 10**6),
            "title": next(source),
            "tags": ["a", "b"],
            "author": {"name": "Łukasz", "mail": None},
            "body": " ".join(next(source) for _ in range(rng.randint(1, 4))),
        }
        indented = textwrap.indent(json.dumps(result, indent=2, ensure_ascii=False), "    ")
        writer.add("    ")
        writer.unit(indented[4:], ",\n", 1)
    writer.unit('    {"id": 0}', "\n  ]\n}\n")
    return writer.made("answer.json")


def _notebook() -> Made:
    """Make a notebook, as the text that `notebook_text` gives; the units are its cells."""
    from cutline import notebook_text

    rng = random.Random(7)
    source = sentences(rng)
    cells: list[dict[str, object]] = []
    sources: list[str] = []
    size = 0
    while size < _SIZE:
        said = [f"## Step {len(cells)}\n\n" + " ".join(next(source) for _ in range(4))]
        said.append("".join(f"x{at} = run({at})  # {next(source)}\n" for at in range(5))[:-1])
        for kind, body in zip(("markdown", "code"), said, strict=True):
            cells.append({"cell_type": kind, "metadata": {}, "source": body})
            if kind == "code":
                cells[-1] |= {"outputs": [], "execution_count": 1}
            sources.append(body)
            size += len(body)
    metadata = {"kernelspec": {"name": "python3", "language": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    text = notebook_text(json.dumps(notebook))
    units, at = [], 0
    for body in sources:
        at = text.index(body, at)
        units.append((at, at + len(body)))
        at += len(body)
    fence = len("\n```")
    ends = {end for _, end in units} | {end + fence for _, end in units if text[end] == "\n"}
    return Made(text, "notebook.md", units, frozenset(ends))


def _transcript() -> Made:
    rng, writer = random.Random(8), _Writer()
    source = sentences(rng)
    while writer.length < _SIZE:
        speaker = rng.choice(("ANNA", "Bert", "Dr. Smith", "Speaker 2"))
        said = " ".join(next(source) for _ in range(rng.randint(1, 6)))
        writer.unit(f"{speaker}: {said}", "\n")
    return writer.made("meeting.transcript")


def _code() -> Made:
    """Take a module of Python: the units are its functions; a cut is good after statements."""
    text = Path(argparse.__file__).read_text("utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    units, ends = [], set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.end_lineno:
            end = starts[node.end_lineno] - 1  # with a comment after it
            ends.add(end)
            if isinstance(node, ast.FunctionDef):
                units.append((starts[node.lineno - 1] + node.col_offset, end))
    return Made(text, "module.py", sorted(units), frozenset(ends))


def _legal() -> Made:
    """Articles of numbered clauses with lettered items, hard-wrapped; the units are both."""
    rng, writer = random.Random(9), _Writer()
    source = sentences(rng)
    article = 0
    while writer.length < _SIZE:
        article += 1
        title = next(source).upper()[:40].rstrip(" ,.;?!)")
        writer.add(f"ARTICLE {article}. {title}\n\n")
        for clause in range(1, rng.randint(3, 8)):
            body = " ".join(next(source) for _ in range(rng.randint(1, 4)))
            writer.unit(textwrap.fill(f"{article}.{clause} {body}", 80), "\n\n")
            if rng.random() < 0.3:
                for letter in "abcd":
                    item = textwrap.fill(
                        f"({letter}) {next(source)}", 80,
                        initial_indent="    ", subsequent_indent="        ",
                    )  # fmt: skip
                    writer.unit(item, "\n")
                writer.add("\n")
    return writer.made("contract.txt")


def _chinese() -> Made:
    writer = _Writer()
    for paragraph in _paragraphs(random.Random(10), "zh"):
        for sentence in paragraph:
            writer.unit(sentence)
        writer.add("\n\n")
        if writer.length > _SIZE // 3:
            return writer.made("chinese.txt")
    raise AssertionError


KINDS: Final[dict[str, Callable[[], Made]]] = {
    "log": lambda: _of_lines(RECORDS["ISO log"](), "server.log"),
    "CSV": _csv,
    "verse": lambda: _of_lines(RECORDS["verse in stanzas"](), "verse.txt"),
    "wrapped prose": _wrapped_prose,
    "Markdown": _markdown,
    "HTML page": _html,
    "JSON answer": _json,
    "notebook": _notebook,
    "transcript": _transcript,
    "code": _code,
    "legal text": _legal,
    "Chinese": _chinese,
}
