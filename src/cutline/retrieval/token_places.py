"""Late chunking: which tokens of a whole text each of its chunks covers."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cutline.checks import need_several, plain_text, utf8_of
from cutline.chunks import Chunk
from cutline.encoding import Encoding
from cutline.errors import OffsetError
from cutline.protocols import TokenCounter
from cutline.registry import token_counter_of
from cutline.wrapping import WrappedTokenizer

__all__ = ["token_places", "token_spans"]

Part: TypeAlias = Chunk | tuple[int, int] | Any  # of other libraries


def token_spans(
    text: str, chunks: Iterable[Part], encoding: TokenCounter | str
) -> NDArray[np.int64]:
    """Return which tokens of the encoding of the whole text each chunk covers.

    For late chunking: a model embeds the tokens of the whole text, and a chunk's vector is the
    mean of those of its tokens. A token is a chunk's if they share a character, so one that lies
    across the end of a chunk is also the next chunk's, and a token that stands for no
    character is that of the chunk with the character after it.

    Args:
        text: the whole text.
        chunks: chunks of the text, by any chunker, with offsets that `verify` reads; or half-open
            spans of it in code points.
        encoding: an `Encoding`, its name, or a wrapped tokenizer that gives offsets.

    Returns:
        int64, shape (chunks, 2); half-open spans of `encoding.encode_ordinary(text)`. Special
        tokens that the model adds in front are not counted. Between the spans of chunks that
        make up the text no token is missing, except those for no character at its end.

    Raises:
        OffsetError: (a ValueError) a chunk is reversed or leaves the text; names it.
        SurrogateError: (a ValueError) the text has surrogate code points.
        TypeError: the tokenizer gives no offsets, or a chunk has none.

    Cost: linear in the text, and logarithmic in it for each chunk.
    Source: docs/late-chunking.md.

    >>> import cutline
    >>> text = "One fish, two fish. Red fish, blue fish."
    >>> token_spans(text, cutline.TextChunker("o200k_base", 8)(text), "o200k_base").tolist()
    [[0, 7], [6, 12]]
    """
    text = plain_text(text)
    places = _checked_places(chunks, text)
    starts, ends = token_places(text, token_counter_of(encoding)).T
    starts = np.minimum(starts, max(len(text) - 1, 0))
    ends = np.maximum(ends, starts + 1)  # what stands for no character
    # Offsets rise but where a normalizer has reordered characters.
    first = np.searchsorted(np.maximum.accumulate(ends), places[:, 0], side="right")
    least = np.minimum.accumulate(starts[::-1])[::-1]
    last = np.searchsorted(least, places[:, 1], side="left")
    last = np.where(places[:, 0] == places[:, 1], first, np.maximum(first, last))
    return np.stack([first, last], axis=1).astype(np.int64)


def _checked_places(chunks: Iterable[Part], text: str) -> NDArray[np.int64]:
    need_several(chunks, "chunks")
    spans, length = [_span(chunk, place, text) for place, chunk in enumerate(chunks)], len(text)
    for place, (start, end) in enumerate(spans):
        if not 0 <= start <= end <= length:
            raise OffsetError(
                f"chunk {place} lies at ({start}, {end}), which is no span of a text of {length} "
                "characters: are they chunks of this text?"
            )
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def _span(chunk: Any, place: int, text: str) -> tuple[int, int]:
    """Return a chunk's offsets; those of other libraries' chunks are read as `verify` does.

    Raises:
        TypeError: it has none.
    """
    if isinstance(chunk, Chunk):
        return chunk.start_index, chunk.end_index
    if not hasattr(chunk, "keys"):
        try:
            start, end = map(index, chunk)
        except (TypeError, ValueError):
            pass
        else:
            return start, end
    from cutline.verification.duck_typing import read_chunk

    read = read_chunk(chunk, place, text)
    if read.start is None:
        raise TypeError(
            f"chunk {place}, of type {type(chunk).__name__}, has no offset: pass chunks that have "
            "a start_index, or pairs of offsets"
        )
    return read.start, read.start + len(read.text) if read.end is None else read.end


def token_places(text: str, encoding: TokenCounter) -> NDArray[np.int64]:
    """Return the characters of each token, blanks at its ends included where that is known."""
    if isinstance(encoding, Encoding):
        utf8_of(text)  # refuses surrogates
        return encoding._untrimmed_offsets(text)[1]
    found = encoding.offsets_of(text) if isinstance(encoding, WrappedTokenizer) else None
    if found is None:
        raise TypeError(f"{encoding.name!r} gives no offsets of its tokens")
    return np.array(found, dtype=np.int64).reshape(-1, 2)
