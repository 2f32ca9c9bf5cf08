"""Documents in markup: titles are those of other parsers, and blocks stay whole."""

import random
import re
from itertools import accumulate, pairwise

import pytest

from cutline import DataChunker, Template, chunker_for
from cutline.chunking.asciidoc_blocks import read_blocks as asciidoc_blocks
from cutline.chunking.latex_blocks import read_blocks as latex_blocks
from cutline.chunking.latex_titles import plain_title
from cutline.chunking.markup_blocks import HEADING, Block
from cutline.chunking.markup_structure import MARKUPS
from cutline.chunking.org_blocks import read_blocks as org_blocks
from cutline.chunking.rst_blocks import read_blocks as rst_blocks
from tests.chunking.drawing import check as check_structure
from tests.chunking.markup_oracles import (
    LATEX_SECTIONS,
    Titles,
    latex_titles,
    org_titles,
    rst_titles,
)
from tests.chunking.test_data_structures import ENC, HOSTILE, check_contract
from tests.conftest import short_or_long

READERS = {
    "rst": rst_blocks, "org": org_blocks, "asciidoc": asciidoc_blocks, "latex": latex_blocks,
}  # fmt: skip
LINES = {
    "rst": [
        *("", "", "", "Care", "Saws and more", "Ab", "===", "====", "----", "---", "=====", "~~~~"),
        *("  in", "   :opt: x", "- item", ".. note:: x", ".. code-block:: py", ".. _t:", ":a: x"),
        *("| line", ">>> x = 1", "+----+----+", "| a  | b  |", "==== ====", "==  ==", "Text::"),
        *("::", "> quoted", "....", "__ http://x", "=============", "...", "*a* ``b``", "\u540d"),
        *(
            "Care\n----",
            "====\nSaws\n====",
            "Saws\n====",
            "Ab\n~~~~",
            "term",
            "1. one",
            "`a <b>`__ and :c:`d`",
            "A_ b\\*",
        ),
    ],
    "org": [
        *("", "", "* A", "** B", "*** TODO C", "**** [#A] D :x:", "* DONE", "** TODO", "*", "** "),
        *("#+begin_src py", "#+end_src", "#+BEGIN_QUOTE", "#+END_QUOTE", ":PROPERTIES:", ":END:"),
        *(": code", "| a | b |", "#+title: X", "# note", "text", "  indented", "- item", ",* esc"),
        *("*bold* text", "#+TODO: NEXT | GONE(g)", "* NEXT thing", "* GONE  x :a:b:", "* x :a: y"),
        *("* COMMENT x", "***** a [[b][c]]", " * no", "*no"),
    ],
    "asciidoc": [
        *("", "", "", "= Title", "== Care", "=== Deep", "## Hash", "Care", "Ca", "----", "...."),
        *("====", "****", "--", "////", "```", "|===", "[source,py]", "[[id]]", "[discrete]", "+"),
        *(".Name", "// note", ":a: b", "* item", "~~~~", "text here", "  in", "'''", "x::y[]"),
    ],
    "latex": [
        *("", "", "\\section{A}", "\\section*{B \\emph{c}}", "\\subsection[s]{C}", "text", "$x$"),
        *("\\paragraph{D} text", "\\part{P}", "\\chapter{Q {r}}", "  \\subsubsection{E}", "lines}"),
        *("% \\section{no}", "\\begin{verbatim}", "\\end{verbatim}", "\\section{two", "5\\% more"),
        *("\\begin{itemize}", "\\item a", "\\end{itemize}", "\\begin{table}", "\\end{table}"),
        *("\\begin{minted}{py}", "\\end{minted}", "\\begin{document}", "\\end{document}"),
        *("\\begin{comment}", "\\end{comment}", "\\label{x}", "a & b \\\\"),
    ],
}


def titles(kind: str, text: str) -> Titles:
    blocks = READERS[kind](text.split("\n"))
    return [(block.level, block.title) for block in blocks if block.kind == HEADING]


def random_document(rng: random.Random, kind: str, most: int = 12) -> str:
    return "\n".join(rng.choices(LINES[kind], k=rng.randint(1, most))) + "\n"


def cut_before(text: str, places: list[int]) -> list[str]:
    return [text[place:].partition("\n")[0] for place in places]


@short_or_long("many", 1_000, 40_000)
def test_titles_of_restructuredtext_are_those_of_docutils(many: int) -> None:
    rng, n_compared = random.Random(3), 0
    for _ in range(many):
        text = random_document(rng, "rst", 6)
        expected = rst_titles(text)
        if expected is not None:
            n_compared += bool(expected)
            assert titles("rst", text) == expected, text
    assert n_compared > many // 20


@short_or_long("many", 1_000, 40_000)
def test_titles_of_org_are_those_of_orgparse(many: int) -> None:
    rng = random.Random(4)
    for _ in range(many):
        text = random_document(rng, "org")
        assert titles("org", text) == org_titles(text), text


@short_or_long("many", 1_000, 40_000)
def test_titles_of_latex_are_those_of_its_grammar(many: int) -> None:
    rng, n_compared = random.Random(5), 0
    for _ in range(many):
        text = random_document(rng, "latex")
        found = latex_titles(text)
        # What a missing brace makes of the lines below is no title.
        if found is None or any(re.search(r"\n\s*[\n\\%]", title) for _, title in found):
            continue
        n_compared += bool(found)
        used = [name for name in LATEX_SECTIONS if name in dict(found)]
        expected = [(used.index(name) + 1, plain_title(title)) for name, title in found]
        assert titles("latex", text) == expected, text
    assert n_compared > many // 20


RST = """\
=====
Saws
=====

.. _care:

Care of ``steel``
=================
:Author: A

Oil it. Then::

   Not a title
   ===========

> quoted

Table
-----
==== ====
A    B
==== ====
Fake
==== ====

>>> print(x)
Fake
====

Kinds
-----
Rip.
"""
ASCIIDOC = """\
= Saws
An Author <a@b.org>

[#care]
.Shown
== Care `of` steel ==
Oil it.

----
== Fake

Fake
~~~~
----

[discrete]
== Not a section
More.

Kinds
~~~~~
Rip.
== not a title
"""
LATEX = r"""
% Of care.
\section{Care of \emph{steel}}
\label{care}
Oil it.

\begin{verbatim}
\section{Fake}
\end{verbatim}

\subsection{Kinds}
Rip.

\subsection{More}
\begin{itemize}
\item Cope.
\end{itemize}
"""
ORG = """\
#+title: Tools

* Saws
** TODO [#A] Care of =steel= :work:
:PROPERTIES:
:ID: 1
:END:

Oil it.

#+begin_src text
,* Fake

No end of a block
#+end_src

*** Kinds
Rip.
"""


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("rst", RST, [(1, "Saws"), (2, "Care of steel"), (3, "Table"), (3, "Kinds")]),
        ("org", ORG, [(1, "Saws"), (2, "Care of steel"), (3, "Kinds")]),
        ("asciidoc", ASCIIDOC, [(1, "Saws"), (2, "Care of steel"), (3, "Kinds")]),
    ],
)
def test_titles_in_code_and_paragraphs_are_none(kind: str, text: str, expected: Titles) -> None:
    assert titles(kind, text) == expected
    structure = MARKUPS[kind](text)
    check_structure(structure, text)
    assert structure.headings_at(text.index("Oil it")) == ("Saws", "Care of steel")
    assert structure.headings_at(text.index("Rip"))[-1] == "Kinds"
    assert MARKUPS[kind]("\ufeff" + text).headings[0][1][0] == "Saws"
    code = next(text[start:end] for start, end, what in structure.regions if what == "code")
    assert "Not a title" in code or "Fake" in code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ab\n==\n\nText\n", [(1, "Ab")]),
        ("Abc\n==\n\nText\n", []),
        ("\u540d\n==\n", [(1, "\u540d")]),
        ("\u540d\n=\n", []),
        ("e\u0301\n=\n", [(1, "e\u0301")]),
        ("Care about\n====\n", [(1, "Care about")]),
        ("::\nAb\n::\n", [(1, "Ab")]),
        ("==\nAb\n==\n", [(1, "Ab")]),
        ("==\nAbc\n==\n", []),
        ("==\nAb\n===\n", []),
        ("====\n  Ab\n====\n", [(1, "Ab")]),
        ("====\n\nAb\n====\n", [(1, "Ab")]),
        ("== ==\na  b\n== ==\nFake\n----\n== ==\nCare\n----\n", [(1, "Care")]),
        ("== ==\na  b\n== ==\n\nCare\n----\n", [(1, "Care")]),
        ("Text::\n\n> Fake\n>>>>>>\n", []),
        ("Text::\n\n   Fake\n   ====\n", []),
        ("::\n\n  a\n\nCare\n====\n", [(1, "Care")]),
        ("a\nCare\n====\n", []),
        ("- a\nCare\n====\n", [(1, "Care")]),
        ("- Care\n======\n", []),
        ("a\n  b\nCare\n====\n", [(1, "Care")]),
        (".. note:: a\nCare\n====\n", [(1, "Care")]),
        (">>> a\nFake\n====\n", []),
        ("| a\nCare\n====\n", [(1, "Care")]),
        (":a: b\nCare\n====\n", [(1, "Care")]),
        ("1. Care\n=======\n", [(1, "1. Care")]),
        ("+----+----+\n====\n", []),
        ("A\n=\n\nB\n-\n\nC\n=\n\nD\n-\n", [(1, "A"), (2, "B"), (1, "C"), (2, "D")]),
        ("A\n=\n\n=\nB\n=\n\nC\n=\n", [(1, "A"), (2, "B"), (1, "C")]),
    ],
)
def test_titles_of_restructuredtext(text: str, expected: Titles) -> None:
    assert titles("rst", text) == expected
    assert rst_titles(text) in (None, expected)


def test_tables_of_restructuredtext_are_regions() -> None:
    text = "+--+--+\n|a |b |\n+--+--+\n\n== ==\na  b\n== ==\n\n.. csv-table:: A\n\n   a,b\n\nEnd.\n"
    regions = MARKUPS["rst"](text).regions
    assert [(text[start], kind) for start, _, kind in regions] == [
        ("+", "table"),
        ("=", "table"),
        (".", "table"),
    ]


# As Asciidoctor 2.0.23 reads them.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("= A\n", [(1, "A")]),
        ("====== A\n", [(6, "A")]),
        ("======= A\n", []),
        ("=A\n", []),
        ("== A ==\n", [(2, "A")]),
        ("== A =\n", [(2, "A =")]),
        ("## A ##\n", [(2, "A")]),
        (" == A\n", []),
        ("a\n== A\n", []),
        ("a\n\n== A\nb\n", [(2, "A")]),
        ("Care\n----\n", [(2, "Care")]),
        ("Care\n-----\n", [(2, "Care")]),
        ("Care\n---\n", [(2, "Care")]),
        ("Care\n------\n== A\n------\n", []),
        ("Care\n++++\n", [(5, "Care")]),
        (".Care\n-----\n== A\n-----\n", []),
        ("____\n----\n== A\n", []),
        ("[[id]]\n------\n== A\n------\n", []),
        ("[[id]]\n// note\n:a: b\n== A\n", [(2, "A")]),
        ("----\n== A\n-----\n== B\n----\n== C\n", [(2, "C")]),
        ("```py\n# A\n```\n== B\n", [(2, "B")]),
        ("|===\n== A\n|===\n", []),
        ("====\n== A\n====\n== B\n", [(2, "B")]),
        ("--\n== A\n--\n", []),
        ("a\n----\n== A\n----\n== B\n", [(2, "B")]),
        ("----\n== A\n", []),
        ("[discrete]\n[#x]\n== A\n== B\n", [(2, "B")]),
        ("image::a.png[]\n== A\n", [(2, "A")]),
        ("'''\n== A\n", [(2, "A")]),
        ("* a\n== A\n", []),
        ("* a\n\n== A\n", [(2, "A")]),
    ],
)
def test_titles_of_asciidoc(text: str, expected: Titles) -> None:
    assert titles("asciidoc", text) == expected


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("``a`` *b* **c**", "a b c"),
        (":func:`~a.b` and :doc:`The saw </saw>`", "a.b and The saw"),
        ("`A site <https://a.b>`_ or Other_", "A site or Other"),
        ("2 * 3 * 4, a_b, \\*no\\*", "2 * 3 * 4, a_b, *no*"),
    ],
)
def test_titles_of_restructuredtext_are_plain(title: str, plain: str) -> None:
    assert titles("rst", f"{title}\n{'=' * 60}\n") == [(1, plain)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\section{A}", [(1, "A")]),
        ("\\subsection{B}\n\\section{A}", [(2, "B"), (1, "A")]),
        ("\\chapter*{A}\n\\paragraph{B}Text", [(1, "A"), (2, "B")]),
        ("text\n \\section[A]{Long\ntitle} % x", [(1, "Long title")]),
        ("\\section{A % } no\n b}", [(1, "A b")]),
        ("\\section{A\n\nB}", []),
        ("\\section{A", []),
        ("\\section", []),
        ("\\sectionmark{A}", []),
        ("\\section A", []),
        ("\\newcommand{\\x}[1]{%\n\\section{#1}}", []),
        ("see \\section{A}", []),
        ("\\begin{lstlisting}[language=C]\n\\section{A}\n\\end{lstlisting}", []),
        ("\\begin{lstlisting}\n\\section{A}", [(1, "A")]),
        ("\\begin{Verbatim*}\n\\end{verbatim}\n\\section{A}\n\\end{Verbatim*}", []),
        ("% \\begin{verbatim}\n\\section{A}\n\\end{verbatim}", [(1, "A")]),
        ("\\\\begin{verbatim}\n\\section{A}\n\\end{verbatim}", [(1, "A")]),
        ("5\\% \\begin{verbatim}\n\\section{A}\n\\end{verbatim}", []),
        ("\\section{A}\n\\begin{frame}[t]{B}\nx\n\\end{frame}", [(1, "A"), (2, "B")]),
        ("\\begin{frame}<1>\n\\frametitle{B}\n\\end{frame}", [(1, "B")]),
        ("\\begin{frame}\nx\n\\end{frame}", []),
    ],
)
def test_titles_of_latex(text: str, expected: Titles) -> None:
    assert titles("latex", text) == expected


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("Related \\emph{work}~of \\textbf{\\LaTeX{} users}", "Related work of LaTeX users"),
        (
            "G\\\"odel, Erd\\H{o}s, \\c{C}a\\u{g}, Stra\\ss e, \\'{\\i}",
            "Gödel, Erdős, Çağ, Straße, í",
        ),
        ("A\\footnote{\\emph{b} c} \\label{d}B\\thanks{e}", "A B"),
        ("\\texorpdfstring{$O(n)$}{Linear} \\textcolor[rgb]{1,0,0}{red}", "Linear red"),
        ("$O(n^2)$ \\& 5\\,\\% \\{a\\_b\\}\\\\ c", "$O(n^2)$ & 5 % {a_b} c"),
        ("a } b { c \\emph{", "a b c"),
    ],
)
def test_titles_of_latex_are_plain(title: str, plain: str) -> None:
    assert plain_title(title) == plain


def test_environments_of_latex_stay_whole_but_for_those_around_titles() -> None:
    text = (
        "\\begin{document}\n\\section{A}\nText\n\\begin{table*}\na & b\n\n\\end{table*}\nmore.\n\n"
        "\\begin{multicols}{2}\n\\subsection{B}\n\\[\nx\n\\]\n\n% Of code.\n\\begin{verbatim}\n\n"
        "\\end{verbatim}\n\\end{multicols}\n\n\\[\n\n\\end{document}\n"
    )
    structure = MARKUPS["latex"](text)
    units = [text[start:end].split("\n")[0] for start, end in structure.units if end - start > 1]
    assert "\\begin{table*}" in units
    assert "\\begin{document}" in units  # with its first title
    assert [(text[start:end][:14], kind) for start, end, kind in structure.regions] == [
        ("\\begin{table*}", "table"),
        ("\\begin{verbati", "code"),
    ]
    below = ["\\begin{multicols}{2}", "% Of code.", "\\[", "\\end{document}"]
    assert cut_before(text, structure.cuts("block")) == below
    assert structure.headings_at(text.index("% Of")) == ("A", "B")


@pytest.mark.parametrize("kind", READERS)
def test_blocks_are_in_order_and_hold_every_line_with_text(kind: str) -> None:
    rng = random.Random(5)
    for _ in range(2_000):
        lines = random_document(rng, kind).split("\n")
        blocks = [*READERS[kind](lines)]
        assert all(a.end <= b.start for a, b in pairwise(blocks))
        assert all(0 <= block.n_before < block.end - block.start for block in blocks)
        held = {row for block in blocks for row in range(block.start, block.end)}
        assert {row for row, line in enumerate(lines) if line.strip()} <= held


@pytest.mark.parametrize("kind", READERS)
def test_chunks_of_any_document_are_exact(kind: str) -> None:
    rng = random.Random(6)
    for place in range(150):
        text = "".join(random_document(rng, kind) for _ in range(3))
        text = text.replace("\n", ["\n", "\r\n", "\r"][place % 3])
        check_structure(MARKUPS[kind](text), text)
        check_contract(DataChunker(kind, ENC, rng.randint(4, 40)), text)
        overlapping = DataChunker(kind, ENC, 30, 10, template=Template("{headings}\n\n{text}"))
        assert all(chunk.token_count <= 30 for chunk in overlapping(text))


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_cut(kind: str, text: str) -> None:
    for size in (4, 16):
        check_contract(DataChunker(kind, ENC, size), text * 3)


@short_or_long("n_parts", 10_000, 20_000)
@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "part",
    [
        *("* ", "`", "``", "*a", ":a", "\\", "= ", "=", "== a  ", "== ==\n", "Text::\n\n", "a::["),
        *("#+begin_a\n", "#+end_a\n", ":a:\n", "[[a][", "[", "----\n", "|===\n", ".. _a:\n", "+--"),
        *("=\ta", "* a :b", "* a\n", "a\n==\n", ">>> a\n", "-\n", "\n", " \n a", "a_", "<"),
        *(
            "\\[\n",
            "\\\\",
            "\\section{",
            "\\section{a\n",
            "\\begin{verbatim}\n",
            "\\begin{a}\n",
            "%\n",
        ),
        *(
            "\\end{verbatim}\n",
            "\\begin{a}",
            "\\section{a}\n",
            "\\section[",
            "{",
            "\\section{" + "{" * 300,
        ),
    ],
)
def test_long_hostile_texts_end(kind: str, part: str, n_parts: int) -> None:
    """They would take minutes if the time were quadratic."""
    for text in (
        part * n_parts,
        f"{part * n_parts}\n====\n",
        f"* {part * n_parts}",
        f"= {part * n_parts}",
    ):
        MARKUPS[kind](text)


@pytest.mark.parametrize(
    ("kind", "text"), [("rst", RST), ("org", ORG), ("asciidoc", ASCIIDOC), ("latex", LATEX)]
)
def test_no_chunk_ends_with_a_title(kind: str, text: str) -> None:
    text = f"{text}\n" * 3
    lines = text.split("\n")
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    blocks = [block for block in READERS[kind](lines) if block.kind == HEADING]
    assert len(blocks) == 3 * (3 + (kind == "rst"))
    for size in range(40, 80):
        ends = [chunk.end_index for chunk in DataChunker(kind, ENC, size)(text)]
        for block in blocks:
            following = (
                starts[block.end]
                + len(text[starts[block.end] :])
                - len(text[starts[block.end] :].lstrip())
            )
            assert not any(starts[block.start] < end <= following for end in ends[:-1]), size


def test_no_boundary_is_right_below_a_title() -> None:
    text = "One.\n\nCare\n====\n\nDry.\n\nOil.\n"
    for bits in MARKUPS["rst"](text).bitmaps:
        assert not bits[text.index("Care") + 1 : text.index("Dry") + 1].any()


def test_labels_stay_with_their_title() -> None:
    for kind, text in (("rst", RST), ("asciidoc", ASCIIDOC)):
        text = text.replace("[#care]", "Text.\n\n[#care]").replace(".. _care", "Text.\n\n.. _care")
        structure = MARKUPS[kind](text)
        assert cut_before(text, structure.cuts("heading 2"))[-1] in (".. _care:", "[#care]")


def test_indented_lines_of_restructuredtext_stay_with_the_block_above() -> None:
    text = "One:\n\n   a\n\n   b\n\nterm\n   It is.\n\n.. note::\n\n   c\n\nEnd.\n"
    structure = MARKUPS["rst"](text)
    assert cut_before(text, structure.cuts("block")) == ["term", ".. note::", "End."]
    assert [text[start:end][:4] for start, end in structure.units] == ["One:", "term", ".. n"]


def test_a_block_that_has_no_end_is_text_in_org_and_the_rest_in_asciidoc() -> None:
    assert [*org_blocks(["#+begin_src", "a", "* A", "#+end_src"])][1].kind == HEADING
    assert [*asciidoc_blocks(["----", "== A", "", "a"])] == [Block(0, 4, "code")]


@pytest.mark.parametrize(
    "name", ["a.rst", "a.REST", "a.org", "a.adoc", "a.tex", "asciidoc", "rst", "org", "latex"]
)
def test_prose_is_taken_for_wrapped(name: str) -> None:
    chunker = chunker_for(name, "o200k_base", 64)
    assert isinstance(chunker, DataChunker)
    assert chunker.lines == "auto"
    assert eval(repr(chunker)) == chunker
    assert "lines" not in repr(chunker)
    kept = DataChunker(chunker.data_format, "o200k_base", 64, lines="keep")
    assert "lines='keep'" in repr(kept)
    assert kept != chunker
