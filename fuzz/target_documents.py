"""Chunks of documents keep every promise: joined they are the text, each is within its budget.

Input: format, options, budget (a byte each), then the document, a part of its format for each byte.
"""

from typing import Any

import cutline
from cutline.chunking import Chunker
from cutline.chunking.parsing import COMMONMARK, DATA, parse
from fuzz.grammar import PARTS, spelled
from tests.chunking.contract import check
from tests.chunking.drawing import check as check_structure
from tests.chunking.drawing import check_nesting
from tests.oracles import counter

ENCODING = "o200k_base"
FORMATS = tuple(PARTS)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"chunk_overlap": 3},
    {"strip": True},
    {"balance": True},
    {"stable": True},
    {"boundary": "character", "chunk_overlap": 2, "strip": True},
    {"min_fill": 0.0, "lines": "join"},
    {"min_fill": 1.0, "lines": "keep", "line_numbers": True},
)
MAX_CHARACTERS = 4_000


def run(data: bytes) -> None:
    if len(data) < 4:
        return
    kind, options = FORMATS[data[0] % len(FORMATS)], OPTIONS[data[1] % len(OPTIONS)]
    text, size = spelled(kind, data[3:])[:MAX_CHARACTERS], 4 + data[2] % 60
    if kind in LANGUAGES:
        structure = parse(text, LANGUAGES[kind])
        check_nesting(list(structure.units), len(text))
        if kind in (
            "markdown",
            "python",
            "diff",
            "email",
            "icalendar",
            "rst",
            "org",
            "asciidoc",
            "latex",
        ):
            check_structure(structure, text)
    chunker = chunker_of(kind, size, **options)
    chunks = chunker.chunk(text)
    overlap, strip = chunker.chunk_overlap, options.get("strip", False)
    check(text, chunks, counter(ENCODING), chunk_size=size, chunk_overlap=overlap, strip=strip)
    half = len(text) // 2
    assert [*chunker.iter_chunks([text[:half], "", text[half:]])] == chunks


LANGUAGES = {
    "markdown": COMMONMARK,
    "python": "python",
    **{
        name: f"{DATA}{name}"
        for name in (
            *("html", "json", "jsonl", "csv", "tsv", "psv", "transcript", "diff"),
            *("email", "icalendar", "vcard"),
            *("rst", "org", "asciidoc", "latex"),
        )
    },
}


def chunker_of(kind: str, size: int, **options: Any) -> Chunker:
    """Make the chunker for a format."""
    if kind == "markdown":
        return cutline.MarkdownChunker(ENCODING, size, **options)
    if kind == "python":
        return cutline.CodeChunker("python", ENCODING, size, **options)
    if kind in LANGUAGES:
        return cutline.DataChunker(kind, ENCODING, size, **options)
    return cutline.TextChunker(ENCODING, size, **options)
