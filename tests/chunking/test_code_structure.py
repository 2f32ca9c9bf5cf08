import resource
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline import CodeChunker, get_encoding
from cutline.chunking.structure import Structure, line_starts

from ..conftest import corpora_folder
from .drawing import check, cuts

pytest.importorskip("tree_sitter_language_pack")

from cutline.chunking.code_guard import is_parsed
from cutline.chunking.code_structure import code_languages, code_structure
from cutline.chunking.syntax_rows import _KINDS, SyntaxRows

from .sources import CUTS, SOURCES

CORPORA = corpora_folder()

PYTHON = SOURCES["python"]


def structure_cuts(text: str, language: str) -> list[tuple[str, str]]:
    structure = code_structure(text, language)
    check(structure, text)
    return [cut for cut in cuts(structure, text) if cut[0] != "line"]


HASKELL = """\
module Main where

import Data.List

-- | About f.
f :: Int -> Int
f x
  | x > 0 = 1
  | otherwise = 2

-- | About g.
g :: Int -> Int
g x =
  3
"""


def test_functions_of_haskell_are_cut_and_named_one_by_one() -> None:
    structure = code_structure(HASKELL, "haskell")
    assert ("definition", "-- | About g.") in structure_cuts(HASKELL, "haskell")
    assert [HASKELL[start:end].splitlines()[0] for start, end in structure.units] == [
        "f :: Int -> Int",
        "-- | About g.",
    ]
    assert structure.headings_at(HASKELL.index("| x > 0")) == ("f",)
    assert structure.headings_at(HASKELL.index("-- | About g.")) == ()
    # A signature is not cut from its function, nor a comment from its signature.
    lines = {line for _, line in cuts(structure, HASKELL)}
    assert not lines & {"f :: Int -> Int", "f x", "g :: Int -> Int", "g x ="}


@pytest.mark.parametrize("gap", ["", "\n", ".. a comment\n\n", "\n.. a comment\n\n"])
@pytest.mark.parametrize("title", ["Care\n----", "====\nCare\n====", "Saws\n====\n\nCare\n----"])
def test_a_title_of_restructuredtext_stays_with_what_is_below(title: str, gap: str) -> None:
    text = f"One.\n\n{title}\n{gap}Keep dry.\n\nOil.\n"
    structure = code_structure(text, "rst")
    check(structure, text)
    assert list(structure.bitmaps[-1].search(1)) == [6, text.index("Oil")]
    assert list(structure.bitmaps[0].search(1)) == [6, text.index("Oil")]


def test_a_class_of_objective_c_has_its_own_name() -> None:
    text = "@implementation A\n- (int)f:(int)a {\n  g();\n}\n@end\n"
    assert code_structure(text, "objc").headings_at(text.index("  g()")) == ("@implementation A",)


def test_documentation_of_elixir_stays_with_its_function() -> None:
    parts = [
        f'  @doc """\n  One.\n  """\n  @spec {name}()\n  def {name} do\n    1\n  end\n'
        for name in "fg"
    ]
    text = "defmodule Saw do\n{}end\n".format("\n".join(parts))
    cuts_before = {line for _, line in cuts(code_structure(text, "elixir"), text)}
    assert '@doc """' in cuts_before
    assert not cuts_before & {"One.", '"""', "@spec g()", "def f do", "def g do"}


def test_a_section_of_org_is_cut_before_its_first_subsection() -> None:
    text = "* Saws\nCut wood.\n** Care\nOil.\n** Kinds\nRip.\n* Glue\nSets.\n"
    assert structure_cuts(text, "org") == [
        ("member", "** Care"),
        ("member", "** Kinds"),
        ("definition", "* Glue"),
    ]


def test_documents_of_yaml_are_definitions_unless_one_is_all() -> None:
    text = "# c\n---\na: 1\nb:\n  c: 2\n# d\n---\ne: 1\nf:\n  g: 2\n  h: 3\n"
    assert structure_cuts(text, "yaml") == [
        ("member", "b:"),
        ("definition", "# d"),
        ("member", "f:"),
        ("statement", "h: 3"),
    ]
    one = text.replace("# d\n---\n", "")
    assert structure_cuts(one, "yaml") == [
        ("definition", "b:"),
        ("definition", "e: 1"),
        ("definition", "f:"),
        ("statement", "h: 3"),
    ]


def test_keys_of_yaml_and_tables_of_toml_are_headings_and_stay_whole() -> None:
    text = 'a: 1\n"/b/{id}":\n  get:\n    - x: 1\n      y: 2\n  put:\n    z: 3\n'
    structure = code_structure(text, "yaml")
    assert structure.headings_at(text.index("      y")) == ('"/b/{id}"', "get")
    assert structure.headings_at(text.index("    z")) == ('"/b/{id}"', "put")
    assert (text.index('"/b'), len(text)) in structure.units
    assert (text.index("  get"), text.index("  put")) in structure.units
    text = "a = 1\n\n[b.c]\nd = 2\ne = 3\n[[f]]\ng = 4\nh = [\n  5,\n]\n"
    structure = code_structure(text, "toml")
    assert structure.headings_at(text.index("e =")) == ("[b.c]",)
    assert structure.headings_at(text.index("  5")) == ("[[f]]",)
    assert structure.units == ((7, text.index("[[f")), (text.index("[[f"), len(text)))


NAMED = {
    "ini": ("[saw]\nteeth = 24\nname = rip\n", "name", "[saw]"),
    "julia": ('"""\n    cut(x)\n"""\nfunction cut(x)\n    x / 2\nend\n', "x / 2", "function cut"),
    "proto": ("// A saw.\nmessage Saw {\n  int32 teeth = 1;\n}\n", "int32", "message Saw"),
    "r": ("#' Cut.\ncut <- function(x) {\n  x / 2\n}\n", "x / 2", "cut <- function"),
}


@pytest.mark.parametrize("language", NAMED)
def test_a_definition_is_a_unit_with_what_describes_it(language: str) -> None:
    text, inside, heading = NAMED[language]
    before = {"proto": 'syntax = "proto3";\n\n', "ini": "a = 1\n"}.get(language, "a = 1\n\n")
    structure = code_structure(before + text + text, language)
    start, length = len(before), len(text)
    assert structure.cuts("definition") == [start, start + length]
    assert structure.units == ((start, start + length), (start + length, start + 2 * length))
    assert structure.headings_at(start + text.index(inside)) == (heading,)


def test_a_string_among_others_describes_nothing() -> None:
    text = 'f(x) = x\n\nnames = [\n    "rip",\n    "coping",\n    "tenon",\n]\n"Alone."\n'
    assert structure_cuts(text, "julia") == [
        ("definition", "names = ["),
        ("statement", '"coping",'),
        ("statement", '"tenon",'),
        ("definition", '"Alone."'),
    ]


@pytest.mark.parametrize(
    ("language", "text", "item"),
    [
        (
            "yaml",
            "a:\n  b:\n    - c: 1\n      d:\n        - 2\n        - 3\n    - c: 4\n",
            "    - c: 1",
        ),
        ("xml", "<a>\n <b>\n  <c>\n   <d/>\n  </c>\n  <c>4</c>\n </b>\n</a>\n", "  <c>\n"),
    ],
)
def test_items_of_several_lines_are_units(language: str, text: str, item: str) -> None:
    start = text.index(item)
    end = text.index(item[: item.index("c") + 1], start + 1)
    assert (start, end) in code_structure(text, language).units


DOCKERFILE = """\
# syntax=docker/dockerfile:1
ARG VERSION=3

FROM python:${VERSION} AS base
ENV A=1 \\
    B=2
WORKDIR /app

# Build.
from base as build
RUN apt-get update && \\
    psql -c "SELECT a \\
FROM saws"
RUN <<EOT
FROM here on
EOT
COPY . .
FROM base
RUN true
"""


def test_stages_of_a_dockerfile_are_definitions() -> None:
    structure = code_structure(DOCKERFILE, "dockerfile")
    check(structure, DOCKERFILE)
    places = [DOCKERFILE.index(start) for start in ("FROM python", "# Build", "FROM base\n")]
    assert structure.cuts("definition") == places
    members = {DOCKERFILE[at:].split()[0] for at in structure.cuts("member")}
    assert members == {"FROM", "ENV", "WORKDIR", "#", "RUN", "COPY"}
    assert {(places[0], places[1]), (places[1], places[2])} < {*structure.units}
    assert structure.headings_at(DOCKERFILE.index("WORKDIR")) == ("FROM python:${VERSION} AS base",)
    assert structure.headings_at(DOCKERFILE.index("    psql")) == (
        "from base as build",
        "RUN apt-get update &&",
    )
    assert structure.headings_at(places[2]) == ()


def test_one_stage_of_a_dockerfile_is_only_a_heading() -> None:
    text = "FROM base\nRUN a && \\\n  b && \\\n  c\nCOPY . .\nRUN d \\\n  e\n"
    structure = code_structure(text, "dockerfile")
    assert [text[at:].split()[0] for at in structure.cuts("definition")] == ["RUN", "COPY", "RUN"]
    assert structure.headings_at(text.index("COPY")) == ("FROM base",)
    assert code_structure("", "dockerfile").headings == ()


@pytest.mark.parametrize("is_windows", [True, False])
def test_the_sign_with_which_lines_of_a_dockerfile_go_on(is_windows: bool) -> None:
    text = "# escape=`\n" * is_windows + "FROM a\nRUN echo `date`\nFROM b\nRUN x\n"
    structure = code_structure(text, "dockerfile")
    assert (text.index("FROM b") in structure.cuts("definition")) != is_windows


def test_a_long_instruction_of_a_dockerfile_stays_whole_where_it_fits() -> None:
    run = "RUN apt-get update && \\\n" + "    apt-get install -y package && \\\n" * 9 + "    true\n"
    text = f"FROM a\nCOPY . .\n{run}COPY . .\n{run}FROM b\n{run}"
    least = get_encoding("o200k_base").count(run)
    for size in range(least, 2 * least, 5):
        for chunk in CodeChunker("dockerfile", "o200k_base", size)(text):
            assert not chunk.text.startswith(" "), size


@pytest.mark.parametrize("language", SOURCES)
def test_code_is_cut_where_a_reader_would(language: str) -> None:
    assert structure_cuts(SOURCES[language], language) == CUTS[language]


def test_definitions_are_units_with_their_comments_and_decorators() -> None:
    units = [PYTHON[start:end] for start, end in code_structure(PYTHON, "python").units]
    assert [unit.splitlines()[0].strip() for unit in units] == [
        "# A comment.",
        "def __init__(self):  # trailing",
        "@property",
        "async def f():",
    ]
    assert units[0].endswith("return x\n")


def test_headings_are_the_definitions_that_a_place_lies_inside() -> None:
    structure = code_structure(PYTHON, "python")

    def at(part: str) -> tuple[str, ...]:
        return structure.headings_at(PYTHON.index(part))

    assert at("# A comment.") == ()
    assert at("@dec2") == ("class Tok",)
    assert at("    def __init__") == ("class Tok",)
    assert at("self.x") == ("class Tok", "def __init__")
    assert at("    @property") == ("class Tok",)
    assert at("return x") == ("class Tok", "def encode")
    assert at("async def") == ()
    assert at("pass") == ("async def f",)
    assert at("if __name__") == ()


@pytest.mark.parametrize(
    ("language", "source", "title"),
    [
        ("c", "static int\nmain(void)\n{\n}\n", "static int"),
        ("cpp", "template <class T>\nclass A : B {\n};\n", "class A"),
        ("go", "func (r *T) F(x int) {\n}\n", "func (r *T) F"),
        ("rust", "impl<T> A for B<T> {\n}\n", "impl<T> A for B<T>"),
        ("java", "@X\npublic class A {\n}\n", "class A"),
        ("typescript", "export const f = () => {\n};\n", "const f"),
        ("csharp", "public static class A\n{\n}\n", "class A"),
        ("ruby", "module A::B\n  x\nend\n", "module A::B"),
        ("python", f"class {'a' * 100}:\n    x\n", f"class {'a' * 74}"),
        ("objc", "@implementation A\n- (int)f:(int)a {\n}\n@end\n", "@implementation A"),
    ],
)
def test_titles_end_with_the_name(language: str, source: str, title: str) -> None:
    assert code_structure(source, language).headings_at(1) == (title,)


def test_metadata_tells_what_is_cut() -> None:
    structure = code_structure(PYTHON, "python")
    at = PYTHON.index("        self.x")
    assert structure.metadata(at, len(PYTHON)) == {
        "continues": "function_definition",
        "continues_from": PYTHON.index("    def __init__"),
    }


def test_lines_inside_strings_and_comments_and_closing_brackets_are_no_cuts() -> None:
    text = 'x = """a\nb\nc"""\ny = f(\n    1,\n    2\n)\n'
    assert cuts(code_structure(text, "python"), text) == [
        ("definition", "y = f("),
        ("statement", "2"),
    ]
    text = "/* a\nb\n*/\nint x;\n"
    assert cuts(code_structure(text, "c"), text) == []


def test_a_comment_that_stands_alone_is_cut_from_what_follows() -> None:
    text = "# a\n# b\n\nimport x\n\n# c\n\n# d\ny\n# e\n"
    assert structure_cuts(text, "python") == [
        ("definition", "import x"),
        ("definition", "# c"),
        ("definition", "# d"),
        ("statement", "# e"),
    ]


@pytest.mark.parametrize("ruler", ["# ======", "#" * 60, "# -*-*-", "# ===#\r"])
def test_a_ruler_belongs_to_the_section_below(ruler: str) -> None:
    text = f"x\n\n{ruler}\n# One\n{ruler}\n\n\ndef f():\n    pass\n\n# --\n\ndef g(): 1\n"
    assert structure_cuts(text, "python") == [
        ("definition", ruler.rstrip()),
        ("definition", "# --"),
        ("definition", "def g(): 1"),
    ]


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
@pytest.mark.parametrize("language", ["python", "java", "json"])
def test_line_ends_make_no_difference(language: str, line_end: str) -> None:
    text = SOURCES[language].replace("\n", line_end)
    assert structure_cuts(text, language) == CUTS[language]


def test_offsets_are_code_points() -> None:
    text = "x = '日本語😀'\n\ndef f():\n    '😀'\n\ndef g():\n    pass\n"
    structure = code_structure(text, "python")
    assert [text[start:end][:5] for start, end in structure.units] == ["def f", "def g"]


@pytest.mark.parametrize(
    "text",
    ["def f(:\n    x\n\n)) class\n\ndef g():\n    pass\n", "]]\n", "\0\n\0", "'''\n", "\ufeff\n"],
)
def test_a_syntax_error_never_fails(text: str) -> None:
    for language in ("python", "javascript", "c", "json"):
        structure_cuts(text, language)


def test_short_names_of_languages() -> None:
    for alias in ("py", "JS", "c++", "c#", "c_sharp", "sh", "yml", "Rust"):
        assert code_structure("", alias).units == ()


def test_an_unknown_language_is_refused_with_close_names() -> None:
    with pytest.raises(
        ValueError, match=r"no language 'pyton': close to it: 'python', .* lists all"
    ):
        code_structure("", "pyton")
    with pytest.raises(
        ValueError, match=r"no language '\?\?\?': cutline.code_languages\(\), .* lists all"
    ):
        code_structure("", "???")


def test_languages_are_sorted_and_parse() -> None:
    assert code_languages() == sorted(code_languages())
    assert set(SOURCES) <= set(code_languages())


def peak_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_a_long_run_of_brackets_is_cut_at_lines() -> None:
    for language in ("python", "scala", "json"):
        structure = code_structure("a = 1\n" + "[" * 30_000 + "\nb = 2\n", language)
        assert [list(bits.search(1)) for bits in structure.bitmaps[:-1]] == [[]] * 6
        assert list(structure.bitmaps[-1].search(1)) == [6, 30_007]


def has_structure(text: str, language: str = "html") -> bool:
    structure = code_structure(text, language)
    check(structure, text)
    return structure.bitmaps[-2].any()


@pytest.mark.parametrize("language", ["html", "vue", "svelte"])
def test_hypertext_with_many_open_elements_is_cut_at_lines(language: str) -> None:
    assert has_structure("<div>\n<b>x</b>\n" * 400, language)
    assert not has_structure("<div>\n<b>x</b>\n" * 600, language)
    assert not has_structure('<a b="\n' * 600, language)


def test_hypertext_with_many_comments_without_an_end_is_cut_at_lines() -> None:
    assert has_structure("<b>x</b>\n<!-- a -->\n" * 600)
    assert not has_structure("<b>x</b>\n" * 9 + "<!-- a\n" * 600)


@pytest.mark.parametrize("language", ["c", "go", "java", "typescript", "css"])
def test_code_with_many_comments_without_an_end_is_cut_at_lines(language: str) -> None:
    rules = "a {\n  b: c;\n}\n\n" * 9
    code = rules if language == "css" else SOURCES[language]
    assert has_structure("/*\n" * 600 + "*/\n" + code, language)
    assert not has_structure(code + "/*\n" * 600, language)


@pytest.mark.parametrize(
    "line",
    [
        "<p>a\n",
        "<li>a\n<br>\n",
        "<div/>\n",
        "<B>a</b>\n",
        "<div><script>if(a<b&&c<d){}</script></div>\n",
        '<img alt="a">\n',
        '<b title="/>">a</b>\n',
        "<tr><td>a<p>b</td></tr>\n",
    ],
)
def test_hypertext_whose_elements_end_is_parsed(line: str) -> None:
    assert has_structure(line * 600)


@pytest.mark.parametrize(
    "line", ['<b x="/>">\n', '<b x="</b>">\n', "<b><!--</b>-->\n", "<td><li>\n"]
)
def test_what_only_looks_like_an_end_ends_nothing(line: str) -> None:
    assert is_parsed(line.encode() * 100, "html")
    assert not is_parsed(line.encode() * 600, "html")


@pytest.mark.parametrize("language", ["kotlin", "swift"])
@pytest.mark.parametrize("ending", ["", "*/\n", "// */\n"])
def test_comments_in_one_another_want_an_end_each(ending: str, language: str) -> None:
    assert not has_structure("fun a() {}\n" + "/* a\n" * 600 + ending, language)
    assert not has_structure("fun a() {}\n" + "x /*/\n" * 600 + ending, language)


def test_parsing_again_and_again_keeps_no_memory() -> None:
    text = "def f(a):\n    return [a, 1]\n\n" * 3_000
    code_structure(text, "python")
    before = peak_kilobytes()
    for _ in range(40):
        code_structure(text, "python")
    # A tree takes 56 bytes a character, so less than two of forty may be there still.
    assert peak_kilobytes() - before < 100 * len(text) / 1000


def test_a_signature_is_no_better_to_cut_than_another_line() -> None:
    text = "def f(\n    a: int,\n    b: int,\n) -> int:\n    a = 1\n\n    b = 2\n\n    return a\n"
    structure = code_structure(text, "python")
    better = structure.bitmaps[-2]
    assert not better[: text.index(") ->")].any()
    assert better.any()


HOSTILE = {
    "brackets": "(" * 100_000,
    "brackets over lines": "[\n" * 50_000,
    "one line": "x;" * 100_000,
    "an operator over lines": "a +\n" * 20_000,
    "blocks ever deeper": "".join(" " * depth + "if a:\n" for depth in range(300)),
    "functions ever deeper": "function f() {\n" * 3_000,
    "statements behind a wide margin": "\n" + " " * 50_000 + "x;" * 20_000 + "\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("language", ["python", "javascript", "json"])
def test_hostile_texts(text: str, language: str) -> None:
    check(code_structure(text, language), text, in_lines=True)


PIECES = st.lists(
    st.sampled_from(
        [
            *"(){}[]:;,.\"'#@\\ \t\r\n",
            "\n    ",
            "def f",
            "class A",
            "/*",
            "*/",
            "//",
            "if x",
            "é",
            "\0",
        ]
    )
).map("".join)
LANGUAGES = [
    "python",
    "typescript",
    "java",
    "cpp",
    "rust",
    "ruby",
    "kotlin",
    "yaml",
    "html",
    "bash",
]


@given(st.text() | PIECES, st.sampled_from(LANGUAGES))
def test_any_text_has_a_sound_structure(text: str, language: str) -> None:
    check(code_structure(text, language), text, in_lines=True)


@given(st.lists(st.sampled_from([*SOURCES])), st.data())
def test_any_mixture_has_a_sound_structure(languages: list[str], data: st.DataObject) -> None:
    text = "".join(SOURCES[language] for language in languages)
    start = data.draw(st.integers(0, len(text)))
    language = data.draw(st.sampled_from([*SOURCES]))
    structure: Structure = code_structure(text[start:], language)
    check(structure, text[start:])


@pytest.mark.skipif(CORPORA is None, reason="no corpora: name their folder in CUTLINE_CORPORA")
def test_corpus() -> None:
    assert CORPORA is not None
    text = (CORPORA / "code_python.txt").read_bytes().decode()[:300_000]
    structure = code_structure(text, "python")
    check(structure, text)
    assert len(structure.units) > 100


class Made:
    """A node of a tree that no grammar would make so."""

    is_named = True

    def __init__(
        self, kind: str, start: tuple[int, int], end: tuple[int, int], *children: "Made"
    ) -> None:
        self.type, self.start_point, self.end_point = kind, start, end
        self.children = self.named_children = children
        self.named_child_count = len(children)
        self.root_node = self

    def walk(self) -> "Cursor":
        return Cursor(self)


class Cursor:
    """Walks as that of tree-sitter."""

    field_name = None

    def __init__(self, root: Made) -> None:
        self.node = root
        self.path: list[tuple[Made, int]] = []

    def goto_first_child(self) -> bool:
        if not self.node.children:
            return False
        self.path.append((self.node, 0))
        self.node = self.node.children[0]
        return True

    def goto_next_sibling(self) -> bool:
        parent, place = self.path[-1]
        if place + 1 == len(parent.children):
            return False
        self.path[-1] = parent, place + 1
        self.node = parent.children[place + 1]
        return True

    def goto_parent(self) -> None:
        self.node, _ = self.path.pop()


def rows_of(text: str, *children: Made) -> SyntaxRows:
    rows = SyntaxRows(text, line_starts(text), _KINDS, lambda at: None, lambda node: node.type)
    rows.collect(cast("Any", Made("source", (0, 0), (99, 0), *children)))
    return rows


def test_rows_past_the_last_line_are_those_of_the_last() -> None:
    rows = rows_of("a\nb", Made("function", (0, 0), (9, 5)), Made("function", (7, 0), (8, 0)))
    assert rows.units == [(0, 1)]
    assert rows_of("a\nb", Made("comment", (5, 0), (9, 0))).plain_lines() == [0, 2]


def test_spans_that_cross_are_divided() -> None:
    strings = [Made("string", (0, 0), (2, 1)), Made("string", (1, 0), (4, 1))]
    assert rows_of("a\n" * 5, *strings).regions == [(0, 2, "string"), (3, 4, "string")]


def test_attributes_are_labels_only_with_a_mark() -> None:
    attributes = [Made("attribute", (row, 0), (row, 1)) for row in range(2)]
    assert rows_of("a\n\n@b\n", attributes[0]).plain_lines() == [3]
    rows = rows_of("@a\nb\nc\n", Made("attribute", (0, 0), (0, 2)), Made("x", (1, 0), (1, 1)))
    assert rows.plain_lines() == [5]
    assert rows_of("a\nb\n", *attributes).cuts == [(1, 2)]


def test_a_body_on_a_line_of_its_own_stays_with_its_head() -> None:
    assert rows_of("a\nb\nc\n", Made("block", (1, 0), (1, 1))).plain_lines() == [0, 4]


def test_a_block_of_hcl_is_a_definition_and_no_bracket_that_closes_one_begins_a_chunk() -> None:
    block = (
        'resource "saw" "rip{}" {{\n  teeth = "many"\n\n  tags = {{\n    Name = "saw"\n  }}\n}}\n\n'
    )
    text = "".join(block.format(n) for n in range(4))
    length = len(block.format(0))
    for language in ("hcl", "terraform"):
        structure = code_structure(text, language)
        assert [*structure.bitmaps[0].search(1)] == [length, 2 * length, 3 * length]
        assert structure.headings_at(length + 30) == ('resource "saw" "rip1"',)
        assert not any(text[place] == "}" for place in structure.bitmaps[-1].search(1))
