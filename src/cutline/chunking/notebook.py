"""Jupyter notebooks as Markdown text, to be cut by `MarkdownChunker`."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from cutline.checks import plain_text
from cutline.errors import shown

__all__ = ["notebook_text"]

# ANSI escapes, which colour tracebacks: of control sequences and of titles, and others of two.
_ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)?|[@-Z\\^_])"
)
_TICKS: Final = re.compile("`+")
_LANGUAGE: Final = re.compile(r"[^\s`]+")
# An image inside Markdown, as notebooks save what is pasted: thousands of tokens that say nothing.
_IMAGE: Final = re.compile(r"data:image/[\w.+-]+(?:;[\w.+=-]+)*;base64,[\w+/=%-]*", re.ASCII | re.I)


def notebook_text(content: str) -> str:
    r"""Return a notebook's cells and textual outputs as Markdown, without images.

    Markdown and raw cells are as they are, but for images inside the text, whose addresses
    (`data:image/png;base64,...`) become empty; cells of code are fenced, with the kernel's
    language; outputs that are text (streams, results as plain text, tracebacks without colours)
    follow in fences of their own. Cells and outputs are separated by one blank line, empty ones
    left out.
    The offsets of chunks are those of this text, not of the file.

    Args:
        content: an .ipynb file, of nbformat 3 (whose worksheets are joined) or 4.

    Raises:
        ValueError: it is no JSON, or no such notebook; the message says what and where.

    Cost: linear.

    >>> notebook_text('{"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": '
    ...               '[{"cell_type": "code", "source": ["1 +\\n", "1"], "outputs": []}]}')
    '```python\n1 +\n1\n```\n'
    """
    if not plain_text(content).strip("\ufeff \t\r\n"):
        return ""  # a file without content, as any other kind of document may be
    notebook = _parsed(content)
    if not isinstance(notebook, dict):
        raise ValueError(f"not a notebook: expected a JSON object, got {_kind(notebook)}")
    version = notebook.get("nbformat")
    if type(version) is not int or version not in (3, 4):
        raise ValueError(
            f"not a notebook that is known: nbformat must be 3 or 4, got {shown(version)}"
        )
    language = _language(notebook)
    parts = (
        part
        for where, cell in _cells(notebook, version)
        for part in _cell_parts(cell, where, language)
    )
    text = "\n\n".join(part for part in parts if part)
    return text + "\n" if text else ""


def _parsed(content: str) -> Any:
    try:
        return json.loads(content.removeprefix("\ufeff"))
    except ValueError as error:  # from json: what and where
        raise ValueError(f"not a notebook: damaged JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("not a notebook: its JSON is nested too deep") from error


def _language(notebook: dict[str, Any]) -> str:
    """Return the language of the kernel; "" if the notebook does not say."""
    metadata = _object(notebook.get("metadata"))
    named = (
        _object(metadata.get("language_info")).get("name"),
        _object(metadata.get("kernelspec")).get("language"),
    )
    found = next((name for name in named if isinstance(name, str)), "")
    return _as_info(found)


def _as_info(language: object) -> str:
    """Return what stands after a fence; "" for a name that could not."""
    return language if isinstance(language, str) and _LANGUAGE.fullmatch(language) else ""


def _cells(notebook: dict[str, Any], version: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the cells, each with its place in the file."""
    holders = [("", notebook)]
    if version == 3:
        holders = list(_objects(notebook.get("worksheets"), "worksheets"))
    for where, holder in holders:
        yield from _objects(holder.get("cells"), f"{where}.cells".lstrip("."))


def _cell_parts(cell: dict[str, Any], where: str, language: str) -> Iterator[str]:
    """Yield the Markdown of a cell and of its outputs."""
    kind = cell.get("cell_type")
    if kind == "code":
        # In nbformat 3 the source is the input, and each cell has a language.
        name = "input" if "input" in cell else "source"
        info = _as_info(cell.get("language")) or language
        yield _fenced(_lines(cell.get(name), f"{where}.{name}"), info)
        for place, output in _objects(cell.get("outputs", []), f"{where}.outputs"):
            yield _fenced(_output_text(output, place), "")
        return
    source = _lines(cell.get("source"), f"{where}.source")
    if kind == "heading":  # of nbformat 3
        level = cell.get("level")
        level = min(max(level, 1), 6) if type(level) is int else 1
        yield f"{'#' * level} {' '.join(source.split())}"
    elif kind in ("markdown", "raw", "html"):
        yield _IMAGE.sub("", source).strip("\r\n")
    else:
        raise ValueError(
            f"damaged notebook: {where}.cell_type must be 'code', 'markdown' or 'raw', "
            f"got {shown(kind)}"
        )


def _output_text(output: dict[str, Any], where: str) -> str:
    """Return the text of an output; "" if it is an image or the like."""
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        lines = output.get("traceback", [])
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise ValueError(
                f"damaged notebook: {where}.traceback must be an array of strings, "
                f"got {_kind(lines)}"
            )
        text = "\n".join(lines) or f"{output.get('ename', '')}: {output.get('evalue', '')}"
    elif kind == "stream":
        text = _lines(output.get("text"), f"{where}.text")
    elif "data" in output:
        data = _object(output["data"])
        text = _lines(data.get("text/plain", ""), f"{where}.data['text/plain']")
    else:  # in nbformat 3 there is no `data`
        text = _lines(output.get("text", ""), f"{where}.text")
    return _ESCAPE.sub("", text)


def _fenced(text: str, info: str) -> str:
    """Return a text in a fence that is longer than any run of backticks in it."""
    text = text.strip("\r\n")
    if not text.strip():
        return ""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{fence}{info}\n{text}\n{fence}"


def _lines(value: object, where: str) -> str:
    """Return a text that the format allows to be an array of its lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    raise ValueError(
        f"damaged notebook: {where} must be a string or an array of strings, got {_kind(value)}"
    )


def _objects(value: object, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of an array, each with its place in the file."""
    if not isinstance(value, list):
        raise ValueError(f"damaged notebook: {where} must be an array, got {_kind(value)}")
    for place, item in enumerate(value):
        if not isinstance(item, dict):
            raise ValueError(
                f"damaged notebook: {where}[{place}] must be an object, got {_kind(item)}"
            )
        yield f"{where}[{place}]", item


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _kind(value: object) -> str:
    """Return what JSON calls a value's kind."""
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if value is None else kinds.get(type(value), "a number")
