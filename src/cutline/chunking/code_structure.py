"""The structure of source code: cuts at lines on which nodes of its syntax tree begin."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Final, get_args

from cutline.chunking.code_guard import is_parsed
from cutline.chunking.code_repair import Code, repaired
from cutline.chunking.docker_stages import add_stages
from cutline.chunking.grammar_gaps import as_grammar_knows
from cutline.chunking.long_lines import broken
from cutline.chunking.structure import (
    Structure,
    line_starts,
    nested_bitmaps,
    outer_first,
    source_bytes,
    tidy_units,
)
from cutline.chunking.syntax_rows import syntax_rows
from cutline.errors import shown
from cutline.extras import need

if TYPE_CHECKING:
    from tree_sitter import Tree

__all__ = ["ALIASES", "code_languages", "code_structure"]

_NAMES: Final = ("definition", "member", "statement", *("inner 1", "inner 2", "inner 3"), "line")
ALIASES: Final = {
    **{"c#": "csharp", "c_sharp": "csharp", "c++": "cpp", "cs": "csharp"},
    **{"golang": "go", "js": "javascript", "jsx": "javascript", "kt": "kotlin", "py": "python"},
    **{"rb": "ruby", "rs": "rust", "sh": "bash", "shell": "bash", "ts": "typescript"},
    "yml": "yaml",
}
"""Common short forms of the languages' names."""


def code_languages() -> list[str]:
    """Return the names of the languages that `CodeChunker` supports, sorted.

    Raises:
        ImportError: tree-sitter is not installed: pip install 'cutline[code]'.
    """
    return list(_languages())


def code_structure(text: str, language: str) -> Structure:
    r"""Find where source code may be cut.

    The rules are the same for all languages, based on the shape of tree-sitter's syntax tree.
    The levels, best first; every cut is at the beginning of a line, where lines of more than 200
    bytes, as in minified scripts, count as broken before the elements of what is over 80:

    - "definition": between outermost elements: functions, classes, groups of statements.
      A blank line or a statement of several lines ends a group; namespaces and the like
      are transparent, and so is a document of YAML that is the only one.
    - "member": the same one level down, between the members of classes.
    - "statement": between statements in functions, between single lines at any level above.
    - "inner 1" to "inner 3": between statements at deeper levels, and between the elements of
      data that spans lines.
    - "line": before other lines, but not inside strings and comments that span lines, nor
      before closing brackets.

    Comments, docstrings of Julia, decorators, attributes, annotations and signatures right above an
    element belong to it, and so does one above a blank line that ends with a ruler, such as
    "# -----", and a title of reStructuredText; blank lines belong to the element before them. Units
    and regions are the definitions (functions, methods, classes, declarations) of several lines;
    comments and strings of several lines are regions too, and items of YAML and elements of XML
    are units. Kinds of regions are tree-sitter's, such as "class_definition".

    The headings of a place are the definitions around it, except those that begin there: a
    chunk that begins with a definition shows its name, and only one that begins further down
    needs it. A heading is the definition's first line up to the end of the name, without
    modifiers, such as ("class Tokenizer", "def encode"). Keys of YAML with lines below them, tables
    of TOML, sections of INI, and stages and long instructions of a Dockerfile, are such
    definitions.

    Args:
        text: any text. If it does not parse, blocks that do are cut as if the others, which
            only have lines, were not there.
        language: one of `code_languages()`, or a common short form such as "py" or "c++".

    Raises:
        ImportError: tree-sitter, or the language's grammar, is not installed: pip install
            'cutline[code]'.
        ValueError: there is no such language.

    Cost: linear, some 10 MB/s; with long lines a third of that; with syntax errors in nearly
    every line a tenth. Some grammars are quadratic on texts that are not in their language. Not
    parsed, so that only "line" remains, are texts with a thousand equal brackets in a row
    (Scala), HTML with more than 500 open elements, and HTML or C-like code with more than a
    hundred unclosed comments. Other cases remain, such as lines of tags for Bash, Julia and
    Luau; and some grammars crash on contrived texts, such as YAML's on 500 levels of indentation.

    >>> structure = code_structure("import a\n\n# One.\ndef f():\n    pass\n", "python")
    >>> list(structure.bitmaps[0].search(1)), structure.units
    ([10], ((10, 35),))
    >>> structure.headings_at(10), structure.headings_at(26)
    ((), ('def f',))
    """
    name = _name(language)
    parse, written, problem = _parser(name), line_starts(text), ""
    # Only rows and indentation are read from the tree. A NUL ends the text for some grammars.
    source = as_grammar_knows(source_bytes(text).replace(b"\0", b" "), name)
    code = broken(Code(text, source, written, parse))
    lines, rows = code.lines, syntax_rows(text, code.source, code.lines)
    if b"\n" in code.source.rstrip(b"\n"):  # a single line has no structure
        found = repaired(code)
        if found is None:
            problem = "it has too much without an end, or too deep in one another"
        else:
            rows = found
    if name == "dockerfile":
        add_stages(rows, text, code.lines)
    levels: list[list[int]] = [[] for _ in _NAMES]
    for row, depth in rows.cuts:
        levels[min(depth, len(_NAMES) - 2)].append(lines[row])
    levels[-1] = rows.plain_lines()
    if lines is not written:
        levels[-1] = sorted({*levels[-1]}.intersection(written))
    ends = [*lines[1:], len(text)]
    spans = [(lines[first], ends[last], kind) for first, last, kind in rows.regions]
    return Structure(
        _NAMES,
        nested_bitmaps(len(text), levels),
        tidy_units((lines[first], ends[last]) for first, last in rows.units),
        tuple(_paths(rows.titles, lines, ends)),
        outer_first(spans),
        problem,
    )


def _paths(
    titles: list[tuple[int, int, str]], lines: list[int], ends: list[int]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each offset at which the path of open definitions changes, with that path."""
    found: dict[int, tuple[str, ...]] = {}
    open_: list[tuple[int, tuple[str, ...]]] = []
    for first, last, title in titles:
        while open_ and open_[-1][0] <= lines[first]:
            end, _ = open_.pop()
            found[end] = open_[-1][1] if open_ else ()
        path = (*(open_[-1][1] if open_ else ()), title)
        found[lines[first] + 1] = path
        open_.append((ends[last], path))
    while open_:
        end, _ = open_.pop()
        found[end] = open_[-1][1] if open_ else ()
    yield from sorted(found.items())


def _parser(name: str) -> Callable[[bytes], "Tree | None"]:
    """Return a parser for a language that refuses texts that would take too long.

    Raises:
        ImportError: its grammar cannot be loaded.
    """
    from tree_sitter import Parser
    from tree_sitter_language_pack import get_language

    try:
        language = get_language(name)  # type: ignore[arg-type]  # it is one of them
    except Exception as error:  # any: later versions of the pack download grammars
        raise ImportError(
            f"the grammar of {name!r} cannot be loaded ({type(error).__name__}: {error}): "
            "pip install 'cutline[code]' installs a version that holds all"
        ) from error
    parser = Parser(language)

    def parse(source: bytes) -> "Tree | None":
        return parser.parse(source) if is_parsed(source, name) else None

    return parse


def _name(name: str) -> str:
    """Return tree-sitter's name for a language."""
    known = _languages()
    name_there = ALIASES.get(name.lower(), name.lower())
    if name_there not in known:
        close = get_close_matches(name_there, known, 5)
        hint = f"close to it: {', '.join(map(repr, close))}; " if close else ""
        raise ValueError(
            f"no language {shown(name)}: {hint}cutline.code_languages(), or `cutline languages`, "
            f"lists all {len(known)}"
        )
    return name_there


@cache
def _languages() -> tuple[str, ...]:
    pack = need("tree_sitter_language_pack", "code", "code")
    return tuple(sorted(get_args(pack.SupportedLanguage)))
