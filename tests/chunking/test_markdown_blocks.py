"""The blocks are those of markdown-it-py, where that follows the CommonMark specification."""

import re
from bisect import bisect_left
from random import Random

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from cutline.chunking.markdown_blocks import MOST_OPEN, BlockParser

from ..conftest import corpora_folder

CORPORA = corpora_folder()
ORACLE = MarkdownIt("commonmark", {"maxNesting": 200, "inline_definitions": True}).enable("table")
KINDS = {
    **{"heading_open": "heading", "paragraph_open": "paragraph", "hr": "break", "fence": "code"},
    **{
        "table_open": "table",
        "code_block": "code",
        "html_block": "html",
        "definition": "definition",
    },
    **{"blockquote_open": "quote", "bullet_list_open": "list", "ordered_list_open": "list"},
    "list_item_open": "item",
}
CONTAINERS = re.compile("(?:blockquote|list|list_item)_(open|close)$")

MARKERS = [
    "",
    "",
    " ",
    "  ",
    "   ",
    "\t",
    "> ",
    ">",
    "- ",
    "* ",
    "1. ",
    "2) ",
    "  > ",
    "-\t",
    ">\t",
]
LINES = [
    *["a", "b c", "é", "", "", "  ", "\t", "# h", "## h ##", "####### x", "#", "```"],
    *["~~~", "```` p", "---", "***", "- - -", "_ _ _", "===", "=", "|a|b|", "|-|-|", "a|b"],
    *["-|-", "|---", ":-:", "|c\\|d|", "<div>", "</div>", "<!-- c", "-->", "<!-- c -->"],
    *["<a>", "<a href='x'>", "<b", "<script>", "<p>", "</script>", "<?", "?>", "<!X"],
    *["> q", "-", "*", "+ x", "1.", "2. y", "123456789. n", "1234567890. n", "[a]: b"],
    *["[x] y", "[b]: <c d>", "[c]: d 'e'", "[d]: e f", "`", "\\", "x\ty", "1) z"],
]  # fmt: skip


def ours(text: str) -> list[tuple[str, int, int, int]]:
    """The kind, first line, depth and level of each block."""
    parser = BlockParser(text)
    parser.parse()
    starts = [0, *(match.end() for match in re.finditer("\r\n?|\n", text))]
    return [
        (block.kind, bisect_left(starts, block.start), block.depth, block.level)
        for block in parser.blocks
    ]


def theirs(text: str) -> list[tuple[str, int, int, int]]:
    tokens: list[Token] = []
    ORACLE.block.parse(re.sub("\r\n?", "\n", text), ORACLE, {}, tokens)
    found: list[tuple[str, int, int, int]] = []
    depth, definition_end = 0, -1
    for token in tokens:
        kind = KINDS.get(token.type)
        if kind is not None and token.map is not None:
            level = int(token.tag[1]) if kind == "heading" else 0
            # Definitions in lines that follow each other are one block.
            if kind != "definition" or token.map[0] != definition_end:
                found.append((kind, token.map[0], depth, level))
            definition_end = token.map[1] if kind == "definition" else -1
        if container := CONTAINERS.search(token.type):
            depth += 1 if container[1] == "open" else -1
    return found


def is_disputed(text: str) -> bool:
    """Tell whether markdown-it-py or the parser departs from the specification there.

    It takes markers behind four columns below a line, and a table's head before a quote's or
    an item's marker; the parser takes no definition of more than one line.
    """
    lines = text.split("\n")
    return any(
        (above.strip() and re.match(r"[ >]*(?:    | {0,3}\t)", below))
        or re.search(r"\[[^\]]*$|\]:\s*$", above)
        or (
            "|" in above
            and re.match(r"[ \t>*+.)\d-]*[>+*.)-]", above)
            and re.match(r"[ >]*[|:-]", below)
        )
        for above, below in zip(lines, [*lines[1:], ""], strict=True)
    )


@pytest.mark.parametrize("seed", range(40))
def test_blocks_are_those_of_markdown_it(seed: int) -> None:
    random = Random(seed)
    compared = 0
    for _ in range(60):
        text = "\n" + "\n".join(  # no front matter, which is not CommonMark's
            "".join(random.choices(MARKERS, k=random.choice([0, 0, 1, 1, 2, 3])))
            + random.choice(LINES)
            for _ in range(random.randint(1, 9))
        )
        if not is_disputed(text):
            assert ours(text) == theirs(text), text
            compared += 1
    assert compared > 10


@pytest.mark.skipif(CORPORA is None, reason="no corpora: name their folder in CUTLINE_CORPORA")
@pytest.mark.parametrize("name", ["docs_en.md", "docs_multilingual.md"])
def test_blocks_of_corpora_are_those_of_markdown_it(name: str) -> None:
    assert CORPORA is not None
    text = (CORPORA / name).read_bytes().decode()[:150_000]
    assert ours(text) == theirs(text)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (">\n    >", ["quote", "code"]),
        (">|b\n-|-", ["quote", "paragraph"]),
        ("890. n\n    >", ["list", "item", "paragraph"]),
    ],
)
def test_disputed_texts_follow_the_specification(text: str, kinds: list[str]) -> None:
    assert [kind for kind, *_ in ours(text)] == kinds


def test_containers_that_are_nested_too_deep_are_text() -> None:
    kinds = [kind for kind, *_ in ours(">" * 1000 + "a\n\n# b\n")]
    assert kinds == ["quote"] * MOST_OPEN + ["paragraph", "heading"]
