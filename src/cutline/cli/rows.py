"""Chunks as rows of JSON Lines, made without a dict for each."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

from cutline.chunks import Chunk, content_hash, text_hashes
from cutline.cli.sizes import place_of
from cutline.kernels.base.json_text import json_lines, json_string
from cutline.kernels.base.utf8 import encode_utf8

if TYPE_CHECKING:
    from cutline.chunking.chunk_run import ChunkRun

__all__ = [
    "LINES",
    "Found",
    "Render",
    "boundary_json",
    "json_of",
    "json_rows",
    "metadata_json",
]

LINES = ("start_line", "end_line")
"""What chunkers say with `line_numbers`: columns of their own."""

Render = Callable[[str, Chunk], str]
"""From a file and one of its chunks to what is sent for it."""

Found = Iterable["Chunk | ChunkRun"]
"""Chunks of a file; runs of them where they come many at a time."""

_LINES = b'"start_line": %d, "end_line": %d, '
_ROW = (
    b'{"file": %b, "index": %d, "start_index": %d, "end_index": %d, %b"token_count": %d, '
    b'"text": %b, %b%b"headings": %b, "metadata": %b, "content_hash": "%b"}\n'
)
# A row of a run: what stands before each number and before the text; and what follows it.
_OF_RUN = (
    *(b'{"file": %b, "index": ', b', "start_index": ', b', "end_index": '),
    *(b', "token_count": ', b', "text": '),
)
_AFTER_TEXT = ', "headings": [], "metadata": %s, "content_hash": "'
_END_OF_ROW = b'"}\n'


def json_rows(
    results: Iterable[tuple[str, Found]],
    render: Render | None = None,
    *,
    are_families: bool = False,
) -> Iterator[bytes]:
    """Yield the lines of the chunks of each file; with `render`, also what is sent for them.

    If the chunks are families, also their places.
    """
    for file, found in results:
        name = json_of(file).encode()
        for item in found:
            if render is None and not isinstance(item, Chunk):
                yield _rows_of_run(name, item)
                continue
            for piece in (item,) if isinstance(item, Chunk) else item:
                yield _row(file, name, piece, render, are_families)


def _row(file: str, name: bytes, piece: Chunk, render: Render | None, is_of_family: bool) -> bytes:
    utf8, sent, lines, place = encode_utf8(piece.text), b"", b"", b""
    if is_of_family:
        piece, found = place_of(file, piece)
        place = f"{json_of(found._asdict())[1:-1]}, ".encode()
    if LINES[0] in piece.metadata:
        lines = _LINES % tuple(piece.metadata[name] for name in LINES)
    if render is not None:
        sent = b'"sent": %b, ' % json_string(encode_utf8(render(file, piece)))
    return _ROW % (
        name,
        piece.index,
        piece.start_index,
        piece.end_index,
        lines,
        piece.token_count,
        json_string(utf8),
        sent,
        place,
        json_of(piece.headings).encode() if piece.headings else b"[]",
        metadata_json(piece).encode(),
        content_hash(utf8, piece.headings).encode(),
    )


def _rows_of_run(name: bytes, run: "ChunkRun") -> bytes:
    """Return the lines of a run, as `_row` makes them, without an object for each chunk."""
    utf8, byte_ends = run.utf8()
    return json_lines(
        (_OF_RUN[0] % name, *_OF_RUN[1:]),
        run.numbers,
        utf8,
        byte_ends,
        tuple((_AFTER_TEXT % boundary_json(one)).encode() for one in run.boundary_names),
        run.boundaries,
        text_hashes(utf8, byte_ends),
        _END_OF_ROW,
    )


def json_of(value: object) -> str:
    r"""Write a value as JSON, in one line; what JSON has no form for as text, NaN as null.

    A lone surrogate, of a text or of a file's name that is not UTF-8, is written as an escape.

    >>> print(json_of(["ä", "\ud83d", float("nan")]))
    ["ä", "\ud83d", null]
    """
    try:
        line = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        line = json.dumps(_finite(value), ensure_ascii=False, default=str)
    # For a surrogate, Python's escape is that of JSON.
    return line if line.isascii() else line.encode(errors="backslashreplace").decode()


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def metadata_json(piece: Chunk) -> str:
    """Write a chunk's metadata, which is mostly the kind of its boundary."""
    metadata = piece.metadata
    if len(metadata) == 1 and "boundary" in metadata:
        return boundary_json(metadata["boundary"])
    return json_of({name: value for name, value in metadata.items() if name not in LINES})


@lru_cache(maxsize=64)
def boundary_json(boundary: str) -> str:
    """Write the metadata of a chunk that has but the kind of its boundary."""
    return json_of({"boundary": boundary})
