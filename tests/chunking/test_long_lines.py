"""Code with long lines: it is cut where a formatter would break it."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("tree_sitter_language_pack")

from cutline import CodeChunker
from cutline.chunking.code_repair import Code
from cutline.chunking.code_structure import _parser, code_structure
from cutline.chunking.grammar_gaps import as_grammar_knows
from cutline.chunking.long_lines import broken
from cutline.chunking.structure import line_starts, source_bytes

from .drawing import check
from .sources import SOURCES

if TYPE_CHECKING:
    from tree_sitter import Tree

N = 12
SCRIPT = ";".join(
    f"function f{i}(a,b){{var c=a+b;if(c>{i}){{return g(c,{{x:1,y:['é,{i}',2]}})}}return c*{i}}}"
    for i in range(N)
)
STYLE = "".join(f".c{i}{{color:#00{i:04};margin:0 {i}px;font:12px/1.5 a,b,c}}" for i in range(N))
DUMP = "INSERT INTO t VALUES " + ",".join(
    f"({i},'one, two ({i}); and','äöü {i}','2026-01-02')" for i in range(N)
)
ELEMENTS = "".join(f"<p n='{i}'><b>one {i}, é</b><i>{i}</i></p>" for i in range(N))
MARKUP = f"<all>{ELEMENTS}</all>"
ROWS = ", ".join(f"({i}, 'one, {i}')" for i in range(2 * N))
TABLE = f"x = [{ROWS}]"
LONG = {
    "css": (STYLE, "."),
    "javascript": (SCRIPT, "function"),
    "python": (TABLE, "("),
    "sql": (DUMP, "("),
    "xml": (MARKUP, "<p"),
}


def code_of(text: str, language: str) -> Code:
    return Code(text, source_bytes(text), line_starts(text), _parser(language))


@pytest.mark.parametrize("language", LONG)
def test_chunks_of_a_long_line_begin_with_its_elements(language: str) -> None:
    text, beginning = LONG[language]
    for size in (48, 96):
        chunks = [*CodeChunker(language, "o200k_base", size)(text)]
        assert "".join(chunk.text for chunk in chunks) == text
        assert len(chunks) > 2
        assert all(chunk.text.startswith(beginning) for chunk in chunks[1:])


@pytest.mark.parametrize("language", LONG)
def test_rows_are_those_of_the_text(language: str) -> None:
    text, _ = LONG[language]
    code = broken(code_of(text, language))
    rows = code.source.decode().split("\n")
    assert len(rows) == len(code.lines) >= N
    assert [text[start : start + 9] for start in code.lines] == [
        text[start : start + 9] for start in positions(rows)
    ]
    assert "".join(rows) == text


def positions(rows: list[str]) -> list[int]:
    return [sum(map(len, rows[:row])) for row in range(len(rows))]


def test_only_written_lines_are_lines() -> None:
    names = ",".join(f"parameter{i}" for i in range(9))
    text = f"a = 1\n{SCRIPT};function g({names}){{return 1}}\nb = 2\n"
    structure = code_structure(text, "javascript")
    check(structure, text, in_lines=True)
    better, lines = (set(structure.bitmaps[place].search(1)) for place in (-2, -1))
    assert lines - better <= set(line_starts(text))
    assert SCRIPT.index("function f3") + 6 in better


def test_strings_and_narrow_nodes_are_not_broken() -> None:
    template = "`${[1,2,3]};{a};(b)" + ",x" * 200 + "`"
    short = "f({a:1,b:[2,3]});"
    text = f"g({template});{short * 20}"
    rows = broken(code_of(text, "javascript")).source.decode().split("\n")
    assert rows == ["g(", template + ");", *[short] * 20]


def test_lines_beside_a_long_one_are_not_broken() -> None:
    line = "f({a:1,b:[2,3],c:{d:4}},{e:[5,6,7],g:8},[9,10,11],{h:12,i:[13,14,15],j:16},"
    text = f"{line}\n[{'[1,2,3],' * 60}]);\n{line}0);\n"
    rows = broken(code_of(text, "javascript")).source.decode().split("\n")
    assert rows == [line, "[", *["[1,2,3],"] * 59, "[1,2,3],]);", f"{line}0);", ""]


@pytest.mark.parametrize("language", sorted(SOURCES))
def test_code_as_it_is_usually_written_is_not_touched(language: str) -> None:
    code = code_of(SOURCES[language], language)
    if max(map(len, code.source.split(b"\n"))) <= 200:
        assert broken(code) is code


def test_code_that_needs_its_lines_is_not_broken() -> None:
    """In YAML, what begins at the margin ends the mapping."""
    text = f"a:\n  b: {{{', '.join(f'k{i}: [1, 2, 3, 4, 5]' for i in range(40))}}}\nc: 1\n"
    code = code_of(text, "yaml")
    assert broken(code) is code


@pytest.mark.parametrize(
    ("language", "unit"), [("javascript", "q{"), ("javascript", "one two "), ("rust", '"a')]
)
def test_text_of_another_language_is_parsed_once(language: str, unit: str) -> None:
    """Some grammars are slow there."""
    code, n_parsed = code_of(unit * 400, language), 0

    def parse(source: bytes) -> "Tree | None":
        nonlocal n_parsed
        n_parsed += 1
        return code.parse(source)

    asked = replace(code, parse=parse)
    assert broken(asked) is asked
    assert n_parsed == 1


@given(st.data())
def test_any_long_line_has_a_structure(data: st.DataObject) -> None:
    language = data.draw(st.sampled_from(sorted(SOURCES)), label="language")
    words = SOURCES[language].split()
    shuffled = data.draw(st.lists(st.sampled_from(words), min_size=60, max_size=120))
    separator = data.draw(st.sampled_from(["", " ", "; ", ",", "\u2028é", "}", "\r"]))
    text = separator.join(shuffled)
    check(code_structure(text, language), text, in_lines=True)
    rows = broken(code_of(text, language))
    assert len(rows.source.split(b"\n")) == len(rows.lines)


SETTINGS = """\
[metadata]
name = planes
summary: sharp: always
classifiers =
    Topic :: Wood
    Topic :: Tools

; The rest.
[tool:test]
alone
options = -x
    --strict
"""


def test_sections_of_settings_are_cut_as_python_reads_them() -> None:
    structure = code_structure(SETTINGS, "ini")
    check(structure, SETTINGS)
    assert structure.cuts("definition") == [SETTINGS.index("; The")]


def test_settings_keep_their_lengths() -> None:
    source = SETTINGS.encode()
    known = as_grammar_knows(source, "ini")
    assert [*map(len, known.split(b"\n"))] == [*map(len, source.split(b"\n"))]
    assert b"summary= sharp: always" in known
    assert as_grammar_knows(source, "toml") == source


def test_a_long_name_of_a_section_is_not_broken_after_its_bracket() -> None:
    text = f"[tool]\n{'日本語é😀 ' * 99}\n[{'a, b, ' * 40}]\nk = v\n"
    source = as_grammar_knows(source_bytes(text), "ini")
    code = Code(text, source, line_starts(text), _parser("ini"))
    assert broken(code) is code
    check(code_structure(text, "ini"), text)
