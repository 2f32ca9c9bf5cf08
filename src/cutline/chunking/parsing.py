"""The structure of a text, parsed in this process or in another one.

Parsers are third-party C and Rust, and documents are untrusted. In this process, a document that
crashes a parser ends the program. In another process, only that document loses its structure: it
is cut at lines, and its chunks say why.
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Final

from cutline.chunking.structure import Structure, line_starts, nested_bitmaps
from cutline.errors import UnparsedWarning

__all__ = ["COMMONMARK", "DATA", "parse", "structure_of"]

COMMONMARK: Final = ""
"""The language of `MarkdownChunker`, instead of a programming language."""

DATA: Final = "data/"
"""Begins the languages of `DataChunker`, before the name of the format."""


def parse(text: str, language: str) -> Structure:
    """Parse the structure of a text, in this process.

    Raises:
        ImportError: the parser is not installed.
        ValueError: there is no such language or format.
    """
    return _reader(language)(text)


@cache
def _reader(language: str) -> Callable[[str], Structure]:
    """Return what parses texts of a language; its module is imported when it is needed."""
    if language == COMMONMARK:
        from cutline.chunking.markdown_structure import markdown_structure

        return markdown_structure
    if language.startswith(DATA):
        from cutline.chunking.formats import data_structure

        return partial(data_structure, format_name=language.removeprefix(DATA))
    from cutline.chunking.code_structure import code_structure

    return partial(code_structure, language=language)


def structure_of(text: str, language: str, *, isolated: bool) -> Structure:
    """Parse the structure of a text; if its parser fails, only lines, with a warning.

    Args:
        text: the text.
        language: a programming language, or `COMMONMARK`.
        isolated: parse in another process: see `parse_pool`.

    Raises:
        ImportError: the parser is not installed.
        ValueError: there is no such language.
    """
    if not isolated:
        structure = parse(text, language)
    else:
        from cutline.chunking.parse_pool import ParserError, ask

        try:
            structure = ask(text, language)
        except ParserError as error:
            structure = _lines_alone(text, str(error))
    if structure.problem:
        warnings.warn(
            f"a text is cut at lines, not by its syntax: {structure.problem}",
            UnparsedWarning,
            stacklevel=5,
        )
    return structure


def _lines_alone(text: str, problem: str) -> Structure:
    return Structure(("line",), nested_bitmaps(len(text), [line_starts(text)]), problem=problem)
