"""The structure of a text, parsed in this process or in one of its own.

Parsers are other people's C and Rust, and documents are anybody's. In this process, a document
that a parser cannot stand ends the program; in one of its own, it costs that document its
structure: it is cut at lines, and its chunks say why.
"""

import warnings
from typing import Final

from cutline.chunking.parse_pool import ParserError, ask
from cutline.chunking.structure import Structure, line_starts, nested_marks
from cutline.errors import UnparsedWarning

__all__ = ["COMMONMARK", "parse", "structure_of"]

COMMONMARK: Final = ""
"""In place of the name of a programming language: `MarkdownChunker`'s syntax."""


def parse(text: str, language: str) -> Structure:
    """Find where a text may be cut, in this process.

    Raises:
        ImportError: the parser is not installed.
        ValueError: there is no such language.
    """
    if language == COMMONMARK:
        from cutline.chunking.markdown_structure import markdown_structure

        return markdown_structure(text)
    from cutline.chunking.code_structure import code_structure

    return code_structure(text, language)


def structure_of(text: str, language: str, *, isolated: bool) -> Structure:
    """Find where a text may be cut; at lines, with a warning, where its parser fails.

    Args:
        text: the text.
        language: a programming language, or `COMMONMARK`.
        isolated: let another process parse: see `parse_pool`.

    Raises:
        ImportError: the parser is not installed.
        ValueError: there is no such language.
    """
    if not isolated:
        structure = parse(text, language)
    else:
        try:
            structure = ask(text, language)
        except ParserError as error:
            structure = _lines_alone(text, str(error))
    if structure.problem:
        warnings.warn(
            f"a text is cut at lines, not by its syntax: {structure.problem}",
            UnparsedWarning,
            stacklevel=4,
        )
    return structure


def _lines_alone(text: str, problem: str) -> Structure:
    return Structure(("line",), nested_marks(len(text), [line_starts(text)]), problem=problem)
