import random
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline import get_encoding
from cutline.chunking.chunkers import _StructureChunker
from cutline.chunking.html_blocks import MOST_DEPTH
from cutline.chunking.html_structure import html_structure
from cutline.chunking.outline import Outline as ChunkOutline
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
        ("heading 1", '<h1 class="a>b'),
        ("heading 2", "<h2>R"),
        ("block", "<ul>"),
        ("nested item", "<ol><"),
        ("nested item", "<li>b"),
        ("item", "<li>t"),
    ] or cuts(PAGE)


@pytest.mark.parametrize("n_tokens", [1, 2, 3])
def test_small_pages_are_read_as_the_definitions_say(n_tokens: int) -> None:
    for tokens in product(TOKENS, repeat=n_tokens):
        compare("".join(tokens))


@pytest.mark.parametrize("seed", range(8))
def test_longer_pages_are_read_as_the_definitions_say(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(400):
        compare("".join(chance.choices(TOKENS, k=chance.randint(4, 24))))
