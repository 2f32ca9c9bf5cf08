"""Chunks of any library as `Chunk` objects, with their offsets.

`verification/duck_typing.py` says what a chunk may be. Offsets are used if all chunks have
them; otherwise chunks are located as by `verify`: docs/budgets.md, "Verifying".
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from reprlib import repr as shortened
from typing import Any

from cutline.checks import need_no_table, plain_text, utf8_of
from cutline.chunks import Chunk
from cutline.errors import shown_type
from cutline.verification.duck_typing import ReadChunk, read_chunk, whole_chunk
from cutline.verification.locating import locate, span_holds
from cutline.view.tokens import Tokenizer

__all__ = ["chunks_of", "has_levels", "parents_of"]

_NOT_FOUND = -1  # LangChain's value for an unknown offset


def chunks_of(text: str, chunks: Iterable[Any], encoding: Tokenizer) -> list[Chunk]:
    """Read the chunks of a text, locate those without offsets, and count their tokens.

    Args:
        text: the text of which the chunks are slices.
        chunks: in the order of the text, from any library; or the levels of a hierarchy, whose
            last one is taken.
        encoding: counts tokens; the chunks' own counts are not used.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate.
        TypeError: the text is no str, or a chunk has none; or the chunks are not several.
        ValueError: a chunk is not the slice of the text at its offsets, does not occur in
            the text, or begins before the previous one; names the chunk.

    Cost: linear in the chunks. A chunk without offsets that does not follow the previous one
    is searched for; if text repeats and chunks overlap, that takes milliseconds each.

    >>> import cutline
    >>> found = chunks_of("one, two", ["one", "two"], cutline.get_encoding("o200k_base"))
    >>> [(chunk.start_index, chunk.end_index, chunk.token_count) for chunk in found]
    [(0, 3, 1), (5, 8, 1)]
    """
    text = plain_text(text)
    utf8_of(text)
    if isinstance(chunks, str | Mapping) or not isinstance(chunks, Iterable):
        kind = shown_type(chunks)
        got = f"one {kind}" if isinstance(chunks, Iterable) else kind
        raise TypeError(f"chunks must be a list of chunks, got {got}")
    need_no_table(chunks, "chunks")
    given = list(chunks)
    if has_levels(given):
        given = [node.chunk for node in given[-1]]
    read = [_read(chunk, number, text) for number, chunk in enumerate(given)]
    starts = _starts(text, read)
    counts = encoding.count_batch([chunk.text for chunk in read]).tolist()
    return [
        whole_chunk(whole, chunk, number, start, tokens)
        for number, (whole, chunk, start, tokens) in enumerate(
            zip(given, read, starts, counts, strict=True)
        )
    ]


def has_levels(chunks: list[Any]) -> bool:
    """Return whether these are the levels of a hierarchy, each a list of nodes."""
    return bool(chunks) and all(
        isinstance(level, list | tuple) and all(hasattr(node, "children") for node in level)
        for level in chunks
    )


def parents_of(levels: list[Any]) -> list[list[Chunk]]:
    """Return for each chunk of the last level the chunks above it that begin with it."""
    begun: list[list[Chunk]] = [[] for _ in levels[0]]
    for above, level in pairwise(levels):
        firsts: list[list[Chunk]] = [[] for _ in level]
        for place, node in enumerate(above):
            if len(node.children):
                firsts[node.children[0]] = [*begun[place], node.chunk]
        begun = firsts
    return begun


def _read(chunk: Any, number: int, text: str) -> ReadChunk:
    read = read_chunk(chunk, number, text)
    if read.start == _NOT_FOUND and read.end is None:
        return read._replace(start=None)
    if read.start is not None and not span_holds(text, read):
        raise ValueError(_not_there(text, number, read.text, read.start, read.end))
    return read


def _not_there(text: str, number: int, own: str, start: int, end: int | None) -> str:
    """Build the error that shows where a chunk and the text at its offsets begin to differ."""
    end = start + len(own) if end is None else end
    there = text[max(start, 0) : max(end, 0)]
    differ = (at for at, (one, other) in enumerate(zip(own, there, strict=False)) if one != other)
    same = next(differ, min(len(own), len(there)))
    return (
        f"chunk {number} is not the slice [{start}:{end}] of the text: {same} characters on, the "
        f"text there has {shortened(there[same:])}, the chunk {shortened(own[same:])}; pass the "
        "text that the chunks were cut from"
    )


def _starts(text: str, chunks: list[ReadChunk]) -> list[int]:
    """Return the starts of the chunks, and check their order."""
    starts = [chunk.start for chunk in chunks if chunk.start is not None]
    if len(starts) < len(chunks):
        starts = list(_located(text, chunks))
    for number, (before, start) in enumerate(pairwise(starts), 1):
        if start < before:
            raise ValueError(
                f"chunk {number} begins at {start}, before the one before it ({before}): "
                "sort the chunks by where they begin, or, if their maker found these places by "
                "searching, give their texts alone"
            )
    return starts


def _located(text: str, chunks: list[ReadChunk]) -> Iterator[int]:
    """Search for the chunks from left to right; an own offset that follows is used."""
    before = 0
    # Any overlap is accepted.
    places = locate(text, chunks, len, chunk_overlap=len(text), strip=True)
    for number, (chunk, place) in enumerate(zip(chunks, places, strict=True)):
        found = -1
        for least in (place.start, before, 0):
            if found < 0 and least is not None:
                found = text.find(chunk.text, least)
        if found < 0:
            raise ValueError(
                f"chunk {number} is nowhere in the text: {shortened(chunk.text)}; pass the text "
                "that the chunks were cut from, and chunks that are slices of it"
            )
        yield found
        before = found
