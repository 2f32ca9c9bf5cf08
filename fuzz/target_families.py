"""No chunk crosses a barrier, and at each level of a hierarchy children make up their parent.

Input: format, kind of barrier, budget (a byte each), then the document as for `documents`.
"""

import re
from typing import Any

import cutline
from cutline.chunking.never_across import barrier_names
from cutline.chunking.parsing import parse
from fuzz.grammar import spelled
from fuzz.target_documents import ENCODING, FORMATS, LANGUAGES, MAX_CHARACTERS, chunker_of
from tests.chunking.contract import check, check_levels
from tests.oracles import counter

PATTERN = re.compile("[ae1>]")


def run(data: bytes) -> None:
    if len(data) < 4:
        return
    kind, size = FORMATS[data[0] % len(FORMATS)], 4 + data[2] % 60
    text = spelled(kind, data[3:])[:MAX_CHARACTERS]
    never_across, places = barriers_of(kind, text, data[1])
    chunker = chunker_of(kind, size, never_across=never_across)
    chunks = chunker.chunk(text)
    check(text, chunks, counter(ENCODING), chunk_size=size)
    ends = {chunk.end_index for chunk in chunks}
    assert ends >= {place for place in places if 0 < place < len(text)}
    sizes = (size + 90, size + 20, size)
    levels = cutline.HierarchicalChunker(chunker, sizes).chunk(text)
    check_levels(text, levels, sizes, counter(ENCODING))


def barriers_of(kind: str, text: str, number: int) -> tuple[Any, list[int]]:
    """Choose what no chunk crosses; also return where that is."""
    names: tuple[str, ...] = ()
    if kind in LANGUAGES:
        structure = parse(text, LANGUAGES[kind])
        names = tuple(parse("", LANGUAGES[kind]).names)
    choices: list[Any] = [*barrier_names(names), PATTERN, [number, 2 * number, 7]]
    chosen = choices[number % len(choices)]
    if chosen is PATTERN:
        return chosen, [found.end() for found in PATTERN.finditer(text)]
    if isinstance(chosen, list):
        chosen = [place for place in chosen if place <= len(text)]
        return chosen, chosen
    if chosen in names:
        return chosen, structure.cuts(chosen)
    if chosen == "page":
        return chosen, [place + 1 for place, letter in enumerate(text) if letter == "\f"]
    return chosen, []
