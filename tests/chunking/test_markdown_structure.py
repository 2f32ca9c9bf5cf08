import random
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.chunking.markdown_blocks import MOST_DEPTH, read_blocks
from cutline.chunking.markdown_structure import markdown_structure
from cutline.kernels.breaks.markdown_levels import BlockLevels

from ..conftest import corpora_folder
from .drawing import check, cuts
from .markdown_oracle import WHOLE, MarkdownBlocks, cuts_of, groups_of, units_of
from .sections_oracle import heading_paths, section_starts

CORPORA = corpora_folder()

DOCUMENT = """\
---
title: x

tags: y
---
Intro.

# Use `x` and *y* #

## Sub [1.2]

| a | b |
|---|---|
| 1 | 2 |
| 3 | 4 |
| 5 | 6 |

Para.
Title
=====
<!-- c -->

- one
  more

  para
  - n1
  - n2
- two

> # q
> text
>
> more

```python
def f():
    x

def g():
    y
```

[1.2]: http://x
"""


def units(text: str) -> list[str]:
    return [text[start:end] for start, end in markdown_structure(text).units]


def paths(text: str) -> list[tuple[str, ...]]:
    return [path for _, path in markdown_structure(text).headings]


def test_a_document_is_cut_where_a_reader_would() -> None:
    assert cuts(markdown_structure(DOCUMENT), DOCUMENT) == [
        ("gap", "tags: y"),
        ("block", "Intro."),
        ("heading 1", "# Use `x` and *y* #"),
        ("row", "| 3 | 4 |"),
        ("row", "| 5 | 6 |"),
        ("heading 1", "Para."),
        ("block", "- one"),
        ("nested item", "para"),
        ("nested item", "- n1"),
        ("nested item", "- n2"),
        ("item", "- two"),
        ("block", "> # q"),
        ("item", "> more"),
        ("block", "```python"),
        ("row", "x"),
        ("gap", "def g():"),
        ("row", "y"),
        ("block", "[1.2]: http://x"),
    ]
    check(markdown_structure(DOCUMENT), DOCUMENT)


def test_titles_are_plain_text() -> None:
    assert paths(DOCUMENT) == [("Use x and y", "Sub 1.2"), ("Para. Title",)]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# a ##", "a"),
        ("# a#", "a#"),
        ("#\ta \\#", "a #"),
        ("# [a](b) ![c](d) ~~e~~ **f**", "a c e f"),
        ("# a <b>c</b> &amp; `<d>`", "a c & <d>"),
        ("# [a] [b]", "[a] [b]"),
        ("# \0", "\ufffd"),
        ("# " + "x" * 200, "x" * 200),
        ("# " + "x" * 201, "x" * 200 + "…"),
        ("# " + "*a*" * 201, "a" * 200 + "…"),
        ("# " + "*a* " * 50, " ".join("a" * 50)),
        ("# [a] [b][a]\n\nc\n\n[a]: d", "a b"),
        ("a\n  *b*\n---", "a b"),
        ("a\r\nb\r\n===", "a b"),
        ("\ufeff# a", "a"),
        ("# a {#b}", "a"),
        ("# a {#b .c-d k=v l='1 2' m=\"}\"}  ", "a"),
        ("# a{: .b }", "a"),
        ("# a {-}", "a"),
        ("# a ## {#b}", "a"),
        ("# a {#b} ##", "a"),
        ("# *a* `b`{#c_d_e}", "a b"),
        ("# C# &amp; [d](e) {#*f* .*g*}", "C# & d"),
        ("# \u00fc {#\u00e4}\r", "\u00fc"),
        ("a\nb {#c}\n---", "a b"),
        ("a #\nb # {#c}\n---", "a # b #"),
        ("---\nk: v\n---\n# a {#b}", "a"),
        ("# a {#b} {#c}", "a {#b}"),
        ('# a {b="{#c"}', "a"),
        ("# a {b='{.c'}", "a"),
        ("# a {b}", "a {b}"),
        ("# a {}", "a {}"),
        ("# a {#b c}", "a {#b c}"),
        ("# a {{ b }} {% c %}", "a {{ b }} {% c %}"),
        ("# f(x) = {x.y}", "f(x) = {x.y}"),
        ("# a \\{#b}", "a {#b}"),
        ("# a `{#b}`", "a {#b}"),
        ("# a {#b} c", "a {#b} c"),
        ("# a {#b", "a {#b"),
    ],
)
def test_title(source: str, title: str) -> None:
    assert paths(source) == [(title,)]


def test_an_empty_title_ends_sections_and_names_none() -> None:
    assert paths("# a\n\nx\n\n## b\n\nx\n\n##\n\nx\n") == [("a",), ("a", "b"), ("a",)]


def test_directly_nested_headings_stand_together_from_the_first_on() -> None:
    text = "## a\n# b\n\n### c\n## d\nx\n"
    structure = markdown_structure(text)
    assert cuts(structure, "x\n\n" + text) == []
    assert cuts(markdown_structure("x\n\n" + text), "x\n\n" + text) == [("heading 1", "## a")]
    assert structure.headings == ((0, ("a",)), (5, ("b", "c")), (16, ("b", "d")))


def test_headings_in_lists_and_quotes_open_no_section() -> None:
    assert paths("> # a\n\n- # b\n\n1. c\n   ===\n") == []


@pytest.mark.parametrize("body", ["b c\nd\n", "- b\n- c\n", "> b\n", "```\nb\n```\n", "|b|\n|-|\n"])
def test_what_follows_a_heading_is_one_unit_with_it(body: str) -> None:
    text = f"x\n\n# a\n\n{body}"
    assert units(text)[0] == f"# a\n\n{body}"
    assert (f"# a\n\n{body[0]}" in units(text)) == (body[0] != "|")  # its rows are units


def test_rows_of_a_table_are_units_and_the_first_has_the_head() -> None:
    head, rows = "|a|\n|-|\n|b|\n", ["|c|\n", "|d|\n"]
    text = f"x\n\n# y\n\n{head}{rows[0]}{rows[1]}\nz\n"
    assert units(text) == [f"# y\n\n{head}{rows[0]}{rows[1]}", head, *rows]


def test_no_cut_of_any_level_comes_right_after_a_heading() -> None:
    text = "# a\nb\n\n- # c\n  d\n\n  e\n\nf\n===\n\n- g\n- h\n"
    assert cuts(markdown_structure(text), text) == [
        ("block", "- # c"),
        ("nested item", "e"),
        ("heading 1", "f"),
        ("item", "- h"),
    ]


def test_kinds_of_regions() -> None:
    kinds = [
        (DOCUMENT[start:end][:3], kind) for start, end, kind in markdown_structure(DOCUMENT).regions
    ]
    assert kinds == [
        ("---", "front matter"),
        ("| a", "table"),
        ("<!-", "html"),
        ("- o", "list"),
        ("  -", "list"),
        ("> #", "quote"),
        ("```", "code"),
    ]


@pytest.mark.parametrize(
    "text",
    ["---\na\n", "---\n\na\n---\n", "a\n---\nb\n---\n", "--- x\na\n---\n", "a\n\n---\nb\n---\n"],
)
def test_what_is_no_front_matter(text: str) -> None:
    assert "front matter" not in {kind for *_, kind in markdown_structure(text).regions}


@pytest.mark.parametrize(
    "text", ["---\na: b\n---", "---\na\n...\nb", "+++\na=1\n+++\n", "\ufeff---\r\na\r\n---\r\n"]
)
def test_front_matter(text: str) -> None:
    assert markdown_structure(text).regions[0][2] == "front matter"


def test_blank_lines_belong_to_the_block_before() -> None:
    text = "a\n\n\n \t\nb\n\n\n- c\n\n\n- d\n"
    assert cuts(markdown_structure(text), text) == [
        ("block", "b"),
        ("block", "- c"),
        ("item", "- d"),
    ]


def test_tabs_indent_as_spaces_to_the_next_fourth_column_do() -> None:
    text = "- a\n  b\n\t- c\n\n\n\t- d\n"
    assert cuts(markdown_structure(text), text) == [("nested item", "- c"), ("nested item", "- d")]
    assert [start for start, *_ in markdown_structure(text).regions] == [0, 8]


def test_containers_end_before_the_line_of_what_ends_them() -> None:
    text = "-     a\n |b|\n|-|\n\n>1.\n>- c\n"
    assert [text[start:end] for start, end, _ in markdown_structure(text).regions] == [
        *("-     a\n", "-     a\n", " |b|\n|-|\n"),
        *(">1.\n>- c\n", ">1.\n", ">- c\n"),
    ]


def test_blocks_are_told_apart_in_tight_items_too() -> None:
    text = "- a\n  ```\n  b\n  ```\n  *c*\n  d\n"
    assert cuts(markdown_structure(text), text) == [
        ("nested item", "```"),
        ("nested item", "*c*"),
    ]


def test_link_definitions_are_blocks() -> None:
    text = "a\n\n[b]: c\n[b]: d\n\n[e]:\n  f\ng\n# h\n[i]: j\nk\n"
    assert cuts(markdown_structure(text), text) == [
        ("block", "[b]: c"),
        ("block", "[e]:"),
        ("block", "g"),
        ("heading 1", "# h"),
        ("block", "k"),
    ]


def test_lines_of_code_in_quotes_are_blank_behind_the_marker() -> None:
    text = "> ```\n> a\n>\n> b\n> c\n> ```\n"
    assert cuts(markdown_structure(text), text) == [("gap", "> b"), ("row", "> c")]


def test_nesting_counts_to_a_depth() -> None:
    regions = markdown_structure(">" * 1000 + "a\n\n# b\n").regions
    assert len(regions) == MOST_DEPTH + 1


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_make_no_difference(line_end: str) -> None:
    text = DOCUMENT.replace("\n", line_end)
    assert cuts(markdown_structure(text), text) == cuts(markdown_structure(DOCUMENT), DOCUMENT)
    check(markdown_structure(text), text)


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_other_separators_end_no_line(separator: str) -> None:
    assert cuts(markdown_structure(f"a{separator}# b{separator}- c"), "") == []


HOSTILE = {
    "quotes": ">" * 100_000,
    "lists": "- " * 50_000,
    "lists over lines": "".join("  " * depth + "- a\n" for depth in range(300)),
    "brackets": "[" * 100_000,
    "stars": "*" * 100_000,
    "backticks": "`" * 100_000,
    "pipes": "|" * 100_000,
    "hashes": "#" * 100_000,
    "titles of open attributes": ("# " + "{.a b='{c=\"" * 300 + "\n") * 100,
    "a title of open attributes": "# " + "{.a b='{c=\"" * 50_000 + "}\n",
    "titles of brackets": ("# " + "[" * 300 + "\n") * 100,
    "one line": "word " * 100_000,
    "quotes that end in turn": "> # a\nb\n" * 5_000,
    "wide tables": ("|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n" + "a\n" * 200) * 10,
    "blank lines in deep lists": "- " * 32 + "a\n" + "\n" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts(text: str) -> None:
    check(markdown_structure(text), text)


PIECES = st.lists(
    st.sampled_from(
        [
            *"#>-*+`~|=<[]:_1.) \t\n\n\r",
            "\r\n",
            "a",
            "\0",
            "é",
            "[^1]: ",
            "---\n",
            "```\n",
            "# a\n",
            "|a|\n|-|\n",
        ]
    )
).map("".join)


@given(st.text() | PIECES)
def test_any_text_has_a_sound_structure(text: str) -> None:
    check(markdown_structure(text), text)


@pytest.mark.parametrize(("block", "most_bytes"), [("# A\n", 330), ("# A\n\nb\n\n", 820)])
def test_short_sections_take_little_memory_each(block: str, most_bytes: int) -> None:
    count = 10_000
    markdown_structure(block)
    tracemalloc.start()
    try:
        markdown_structure(block * count)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < most_bytes * count


@pytest.mark.skipif(CORPORA is None, reason="no corpora: name their folder in CUTLINE_CORPORA")
@pytest.mark.parametrize("name", ["docs_en.md", "docs_multilingual.md"])
def test_corpora(name: str) -> None:
    assert CORPORA is not None
    text = (CORPORA / name).read_bytes().decode()[:500_000]
    structure = markdown_structure(text)
    check(structure, text)
    for (start, _), (end, _) in pairwise(structure.headings):
        assert text[start:end].lstrip(" ")


PARTS = (
    *("# ", "## ", "- ", "* ", "1. ", "> ", "```\n", "~~~py\n", "    ", "\t", "\n", "\n\n", "\r\n"),
    *("**B**", "why?\n\n", "so:\n", "**", "\n\n__a__:\n\n"),
    *(
        "\r",
        "| a | b |\n|---|---|\n",
        "| 1 | 2 |\n",
        "---\n",
        "+++\n",
        "===\n",
        "<div>\n",
        "</div>\n",
    ),
    *("<!-- x\n", "-->", "[a]: /u\n", '[a]: <b> "t"\n', "text", "*em*", "`c`", "![i](u)", "[l](u)"),
    *("{#id .c}", "{a=b}", "\\", "#", "##\n", "\0", "\ufeff", "é", "中文", "\ud800", "  ", "   \n"),
    *("\x0b", "\x0c", "\u2028", "&amp;", "key: v\n", "- [ ] ", "<b>", "\x1c", "\x85"),
)


@pytest.mark.parametrize("lead", ["**Care**", "__Care__", "How dry?", "The parts are:", "怎么办？"])
@pytest.mark.parametrize("below", ["- a\n- b\n", "Keep the teeth dry.\n", "| a |\n|---|\n| b |\n"])
def test_a_line_that_leads_to_a_block_stays_with_it(lead: str, below: str) -> None:
    structure = markdown_structure(f"Saws.\n\n{lead}\n\n{below}\nEnd.\n")
    start = len("Saws.\n\n")
    end = start + len(f"{lead}\n\n{below}")
    assert structure.cuts("block") == [start, end + 1]
    assert (start, end) in structure.units


def test_of_several_questions_each_may_begin_a_chunk() -> None:
    text = "One?\n\nTwo?\n\nThree?\n\nSo.\n"
    assert markdown_structure(text).cuts("block") == [text.index("Two"), text.index("Three")]


def check_blocks(text: str) -> None:
    expected, found = MarkdownBlocks(text), read_blocks(text)
    expected.read()
    names = ("kind", "start", "end", "depth", "previous", "level", "title")
    blocks = [[getattr(block, name) for name in names] for block in found.blocks]
    assert blocks == [[getattr(block, name) for name in names] for block in expected.blocks]
    assert (found.rows, found.gaps) == (expected.rows, expected.gaps)
    levels = BlockLevels(found.blocks, text)
    assert levels.cuts == cuts_of(expected.blocks, text)
    assert set(levels.units) == units_of(expected.blocks, text)
    assert levels.regions == [
        (block.start, block.end, block.kind)
        for block in expected.blocks
        if block.kind in WHOLE - {"item"}
    ]
    groups = [
        [(heading.start, heading.level, heading.title) for heading in group]
        for group in groups_of(expected.blocks)
        if group[0].kind == "heading"
    ]
    assert levels.sections.paths == [*heading_paths(groups)]
    assert levels.sections.starts == [*section_starts(groups)]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20, 60])
@pytest.mark.parametrize("start", ["", "---\n", "\ufeff", "\ufeff+++\n"])
def test_random_documents_have_the_blocks_and_levels_of_the_plain_reader(
    start: str, n: int
) -> None:
    rng = random.Random(n)
    for _ in range(150):
        check_blocks(start + "".join(rng.choices(PARTS, k=n)))


@pytest.mark.parametrize("text", ["", "\ufeff", "\n", "\r", "---", "---\n---", DOCUMENT])
def test_documents_have_the_blocks_of_the_plain_reader(text: str) -> None:
    check_blocks(text)


@pytest.mark.skipif(CORPORA is None, reason="needs the corpora")
@pytest.mark.parametrize("name", ["docs_en.md", "docs_multilingual.md", "code_python.txt"])
def test_corpora_have_the_blocks_of_the_plain_reader(name: str) -> None:
    assert CORPORA is not None
    text = (CORPORA / name).read_bytes().decode()
    check_blocks(text[:300_000])
