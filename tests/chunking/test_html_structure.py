import random
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline import Encoding, get_encoding
from cutline.chunking.document_chunkers import _StructureChunker
from cutline.chunking.html_structure import MOST_DEPTH, html_structure
from cutline.chunking.outline import Outline as ChunkOutline
from cutline.chunking.parsing import DATA
from cutline.chunking.structure import Structure

from . import contract
from .drawing import check_nesting
from .hostile import SHAPES
from .html_oracle import Outline

PAGE = """\
<!DOCTYPE html>
<html><head><title>A <h1></title><style>p > a {}</style></head>
<body>
<header><h1 class="a>b">Fish &amp; <em>chips</em></h1></header>
<div>Loose text.</div>
<section><h2>Red<br>fish</h2>
<h3>Small</h3>
<p>One <a href='x'>two</a>.
<ul>
  <li>one
  <li>two <ol><li>a</li><li>b</li></ol>
</ul>
<p>Three.</p>
<table><caption>C</caption><thead><tr><th>a<th>b</thead>
<tbody><tr><td>1<td>2
<tr><td>3<td>4
</table>
</section>
<!-- <h1>no</h1> -->
<blockquote><p>q</p><p>r</p></blockquote>
<pre>x
 y</pre>
<script>if (a < b) { "<p>" }</script>
<h2></h2>
<hr>
<p>End.
"""

TOKENS = (
    *("<p>", "</p>", "<h1>", "</h1>", "<h2>", "<ul>", "<li>", "</li>", "</ul>", "<div>", "</div>"),
    *("<table>", "<tr>", "<td>", "</table>", "<blockquote>", "</blockquote>", "x", "\n"),
    *("<!-- <p> -->", "<script><p></script>", "<b>", "é"),
)


def cuts(text: str) -> list[tuple[str, str]]:
    """The best level before each place that has one, with what follows up to the text."""
    structure = html_structure(text)
    found: dict[int, str] = {}
    for name, bits in reversed(list(zip(structure.names, structure.bitmaps, strict=True))):
        found.update(dict.fromkeys(bits.search(1), name))
    return [(found[at], text[at : text.index(">", at) + 2].strip()) for at in sorted(found)]


def paths(text: str) -> list[tuple[str, ...]]:
    return [path for _, path in html_structure(text).headings]


def units(text: str) -> list[str]:
    return [text[start:end] for start, end in html_structure(text).units]


def check(structure: Structure, text: str) -> None:
    """Check the promises of `Structure`."""
    for bits in structure.bitmaps:
        assert len(bits) == len(text) + 1
        assert not bits[0]
        assert not bits[len(text)]
        assert all(text[at] == "<" for at in bits.search(1))
    for better, worse in pairwise(structure.bitmaps):
        assert better & worse == better
    check_nesting(list(structure.units), len(text))
    check_nesting([(start, end) for start, end, _ in structure.regions], len(text))
    offsets = [offset for offset, _ in structure.headings]
    assert offsets == sorted(set(offsets))


def compare(page: str) -> None:
    structure, expected = html_structure(page), Outline(page)
    check(structure, page)
    better: set[int] = set()
    for (name, offsets), bits in zip(expected.levels().items(), structure.bitmaps, strict=True):
        better |= offsets
        assert set(bits.search(1)) == better, (page, name)
    assert set(structure.regions) == expected.regions, page
    for at in range(len(page)):
        assert structure.headings_at(at) == expected.headings_at(at), (page, at)
    for group in expected.groups:
        # No cut between headings and what follows.
        end = page.index(">", group[-1][0])
        assert not structure.bitmaps[-1][group[0][0] + 1 : end].any(), page


def test_a_page_is_cut_where_a_reader_would() -> None:
    check(html_structure(PAGE), PAGE)
    assert cuts(PAGE) == [
        ("block", "<style>p"),
        ("heading 1", "<body>"),
        ("heading 2", "<section><"),
        ("block", "<ul>"),
        ("item", "<li>t"),
        ("nested item", "<ol><"),
        ("nested item", "<li>b"),
        ("block", "<p>T"),
        ("block", "<table><"),
        ("nested item", "<th>b"),
        ("nested item", "<td>2"),
        ("item", "<tr><"),
        ("nested item", "<td>4"),
        ("block", "<blockquote><"),
        ("item", "<p>r"),
        ("block", "<pre>x"),
        ("block", "<script>i"),
        ("heading 2", "<h2><"),
        ("block", "<p>E"),
    ]
    assert paths(PAGE) == [
        ("Fish & chips",),
        ("Fish & chips", "Red fish", "Small"),
        ("Fish & chips",),
    ]


def test_units_are_blocks_and_headings_with_what_follows() -> None:
    assert units("<div><div>a</div><h2>T</h2><div>b</div><div><p>c</div></div>") == [
        "<div><div>a</div>",
        "<h2>T</h2><div>b</div>",
        "<h2>T</h2><div>b",
        "<div><p>c",
    ]
    assert units("<h1>A</h1>b <i>c</i><ul><li>d</ul>") == [
        "<h1>A</h1>b",
        "<ul><li>d</ul>",
        "<li>d",
    ]


def test_regions_are_named() -> None:
    assert [(PAGE[start:][:4], kind) for start, _, kind in html_structure(PAGE).regions] == [
        ("<sty", "markup"),
        ("<ul>", "list"),
        ("<ol>", "list"),
        ("<tab", "table"),
        ("<blo", "quote"),
        ("<pre", "code"),
        ("<scr", "markup"),
    ]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<h1>a</h1>", "a"),
        ("<H1 \n ID=x>a</h1 >", "a"),
        ("<h1>a<b>b</b> &lt;c&gt; &#228;&eacute;</h1>", "ab <c> äé"),
        ("<h1>a<br>b<div>c</div></h1>", "a b c"),
        ("<h1>\r\n a\r\n\tb </h1>", "a b"),
        ("<h1>a<!-- b --><svg><title>c</title></svg><script>d</script></h1>", "a"),
        ("<h1>a</h2>b", "a"),
        ("<h1>a<p>b", "a"),
        ("<h1>a", "a"),
        ("<h1>a < b <3 c</h1>", "a < b <3 c"),
        ("<h1 title='>'>a</h1>", "a"),
        ('<h1 a="b"c=">">a</h1>', "a"),
        ('<h1 a=b"c>a</h1>', "a"),
        ('<h1 =">a</h1>', "a"),
        ("<h1/x=/>a</h1>", "a"),
        ("<h1 x = >a</h1>", "a"),
        ("<h1 x/='>a</h1>", "a"),
        ("<h1>a</>b</h1>", "ab"),
        ("<!--><h1>a</h1>-->", "a"),
        ("<!---><h1>a</h1>-->", "a"),
        ("<!-- --!><h1>a</h1>", "a"),
        ("<!-- -- > <h1>b</h1> --><h1>a</h1>", "a"),
        ("<?x <y?><h1>a</h1>", "a"),
        ("</ x><!x><h1>a</h1>", "a"),
        ("<title><h1>b</h1></title><h1>a</h1>", "a"),
        ("<textarea></textareas><h1>b</h1></TEXTAREA\n><h1>a</h1>", "a"),
        ('<h1>a<a class="headerlink" href="#a">¶</a></h1>', "a"),
        ('<h1>a <a href="#a">#</a>\n</h1>', "a"),
        ("<h1>a<a>\u200b</a></h1>", "a"),
        ("<h1>C#</h1>", "C#"),
        ("<h1>¶</h1>", "¶"),
        ("<svg><h1>a</h1>", "a"),
        ("<svg/><h1>a</h1></svg>", "a"),
        ("<h1>\0\ud800\ufeff</h1>", "\ufffd\ud800\ufeff"),
        ("<h1>" + "x" * 200, "x" * 200),
        ("<h1>" + "<b>x</b>" * 201, "x" * 200 + "…"),
    ],
)
def test_title(source: str, title: str) -> None:
    assert paths(source) == [(title,)]


@pytest.mark.parametrize(
    "source",
    [
        *(
            "<h1",
            "<h1 a='>x</h1>",
            "<!-- <h1>a</h1>",
            "<script><h1>a</h1>",
            "<h7>a</h7>",
        ),
        *("<h1x>a</h1x>", "< h1>a</ h1>", "<ul><li><h1>a</h1></ul>", "<table><td><h1>a</table>"),
        *("<blockquote><h1>a</h1>", "<bloc\u212aquote><hı>", "<![CDATA[<h1"),
    ],
)
def test_no_section(source: str) -> None:
    assert paths(source) == []


def test_elements_end_where_the_standard_says() -> None:
    # Not at a stray end tag in a cell, nor at an item of an outer list.
    assert html_structure("<div><table><td>a</div><td>b</table>").regions == ((5, 36, "table"),)
    assert units("<ul><li>a<ul><li>b</ul><li>c</ul>") == [
        "<ul><li>a<ul><li>b</ul><li>c</ul>",
        "<li>a<ul><li>b</ul>",
        "<ul><li>b</ul>",
        "<li>b",
        "<li>c",
    ]
    assert "<tr><td><table><tr><td>a</table>" in units(
        "<table><tr><td><table><tr><td>a</table><tr><td>b</table>"
    )


def test_offsets_are_code_points() -> None:
    text = "<p>日本語😀</p>\r\n<h2>é😀</h2>\r\n<p>\ud800\0</p>"
    structure = html_structure(text)
    assert list(structure.bitmaps[6].search(1)) == [text.index("<h2>")]
    assert structure.headings == ((text.index("<h2>"), ("é😀",)),)
    assert units(text)[1] == text[text.index("<h2>") :]


@pytest.mark.parametrize(
    "unit",
    [
        *SHAPES,
        *("<div>", "<ul><li>", "<table><tr><td>", "<p>", "<h1>", "<b>", "<blockquote>", "<svg>"),
        *("</div>", "<p", "<p ", "<p a='", "<p a=", "<!--", "<!-- -", "<!", "</", "<script>"),
        *("<template>", "<h1>a</h1>", "<h1><div>", "<td>", "</td>", "<dt>", "<ul>", "<pre><div>a"),
        *("<title>", "<svg><h1>", "</p >", "&amp", "&", "<h1>&", "<a b='c' ", "<p/", "<table>"),
    ],
)
def test_hostile_pages_are_read_in_linear_time(unit: str) -> None:
    """At 1 MB, what is not linear does not end."""
    text = SHAPES[unit](1_000_000) if unit in SHAPES else unit * (1_000_000 // len(unit))
    structure = html_structure(text)
    check_nesting(list(structure.units), len(text))
    for limit in (1, len(text) // 2):
        structure.metadata(limit, len(text) - limit)
    ChunkOutline(structure)


def test_nesting_is_followed_to_a_depth() -> None:
    structure = html_structure("<p>a</p>" + "<blockquote><p>a</p>" * 100_000)
    check_nesting(list(structure.units), structure.units[1][1])
    assert len(structure.regions) == MOST_DEPTH + 1


@pytest.mark.parametrize(
    ("before", "header", "rows", "after"),
    [
        ("<table>", "<thead><tr><th>a</thead><tbody>", "<tr><td>1<tr><td>2</table>", "x"),
        ("<table><caption>C</caption>", "<tr><th>a<th>b", "<tr><th>r<td>1</table>", "<p>x"),
        ("<TABLE>\n", "<TR><TH>a</TH></TR>\n", "<TR><TD>1</TD></TR>\n</TABLE>", ""),
        ("<table>", "<tr><th>a<tr><th>b", "<tr><td>1<tr><td>2", ""),
        ("<table>", "<thead><tr><td>a<tr><td>b</thead>", "<tr><th>1</table>", "x"),
        ("<table><colgroup><col></colgroup>", "<th>a", "<tr><td>1</table>", "x"),
        ("<table><tr><td>1<tr><td>2</table>", "", "", ""),
        ("<table><tr><th>a<tr><th>b</table>", "", "", ""),
        ("<table><tr><td>1<tr><th>b<tr><td>3</table>", "", "", ""),
        ("<tr><th>a<tr><td>1", "", "", ""),
        # In a table for layout, and with a table in its header.
        ("<table><tr><td><table>", "<tr><th>a", "<tr><td>1</table>", "<tr><td>x</table>"),
        ("<table><tr><th><table>", "<tr><th>a", "<tr><td>1</table>", "<tr><td>x</table>"),
    ],
)
def test_rows_go_on_below_a_header(before: str, header: str, rows: str, after: str) -> None:
    page = before + header + rows + after
    start = len(before + header)
    found = ((start, start + len(rows), header),) if header else ()
    assert html_structure(page).table_headers == found


def test_a_table_in_a_table_has_its_own_header_until_it_ends() -> None:
    inner = "<table><tr><th>in<tr><td>1</table>"
    page = f"<table><tr><th>out<tr><td>{inner}<tr><td>2</table>x"
    structure = html_structure(page)
    for mark, header in {"out<": "", "in<": "<tr><th>out", ">1": "<tr><th>in", ">x": ""}.items():
        assert structure.table_header_at(page.index(mark) + 1) == header
    assert structure.table_header_at(page.index("<tr><td>2")) == "<tr><th>out"


def test_headers_of_tables_in_tables_cost_linear_space() -> None:
    structure = html_structure("<table><tr><th>a" * 20_000 + "<tr><td>1</table>" * 20_000)
    assert sum(len(header) for _, _, header in structure.table_headers) < 100


@given(st.lists(st.sampled_from((*TOKENS, "<", ">", "'", '"', "=", "/", "--", "!", " a", "<svg>"))))
def test_promises_hold_for_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    check(html_structure(text), text)


class Chunker(_StructureChunker):
    def __init__(self, encoding: Encoding, chunk_size: int, chunk_overlap: int = 0) -> None:
        super().__init__(f"{DATA}html", encoding, chunk_size, chunk_overlap, {})

    def _outline(self, text: str) -> ChunkOutline:
        return ChunkOutline(html_structure(text))


@pytest.mark.parametrize("chunk_size", [8, 20, 40, 100, 400])
@pytest.mark.parametrize("chunk_overlap", [0, 4])
def test_chunks_keep_what_fits_whole(chunk_size: int, chunk_overlap: int) -> None:
    encoding = get_encoding("o200k_base")
    text = (PAGE * 4).replace("\n", "\r\n")
    structure = html_structure(text)
    chunks = Chunker(encoding, chunk_size, chunk_overlap)(text)
    contract.check(text, chunks, encoding.count, chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    if chunk_overlap:
        return  # headings are those of what is new in a chunk
    for chunk in chunks:
        assert chunk.headings == structure.headings_at(chunk.start_index)
    begins = {chunk.start_index for chunk in chunks}
    for start, end in structure.units:
        cut = any(start < at < end for at in begins)
        assert not cut or encoding.count(text[start:end]) > chunk_size


def test_chunks_begin_at_headings() -> None:
    text = "<h1>A</h1><p>One, two, three.</p><h2>B</h2><p>Four, five, six.</p><h1>C</h1><p>Seven."
    assert [(chunk.headings, chunk.text[:6]) for chunk in Chunker("o200k_base", 20)(text)] == [
        (("A",), "<h1>A<"),
        (("A", "B"), "<h2>B<"),
        (("C",), "<h1>C<"),
    ]


@pytest.mark.parametrize("n_tokens", [1, 2, 3])
def test_small_pages_are_read_as_the_definitions_say(n_tokens: int) -> None:
    for tokens in product(TOKENS, repeat=n_tokens):
        compare("".join(tokens))


@pytest.mark.parametrize("seed", range(8))
def test_longer_pages_are_read_as_the_definitions_say(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(400):
        compare("".join(chance.choices(TOKENS, k=chance.randint(4, 24))))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<div>a<p>b</p></div>", ["<p>b</p>"]),
        ("<div>a<section>b<p>c</p></section></div>", ["<p>c</p>"]),
        ("<div>a<h1>b</h1></div>", []),
        ("<div>a</div>", ["<div>a</div>"]),
        ("<h1>a</h1><h2><img>b</h2><p>c</p>", ["<h1>a</h1><h2><img>b</h2><p>c</p>"]),
    ],
)
def test_what_holds_blocks_is_no_unit(page: str, expected: list[str]) -> None:
    found = units(page)
    assert [unit for unit in found if not unit.endswith("<p>")] == expected
