"""The tokens of each chunk, and the characters that they make up.

A token can hold a part of a character, so what can be shown is a *cell*: the
fewest neighbouring tokens that together are whole characters. Nearly always that
is one token.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutline.chunk import Chunk

if TYPE_CHECKING:
    from cutline.encoding import Encoding

__all__ = ["Cell", "ShownTokens", "cells", "tokens_of"]


@dataclass(frozen=True, slots=True)
class ShownTokens:
    """Tokens of several texts, each encoded on its own.

    Attributes:
        of_texts: for each text its token ids. A number below zero is no token: where the split
            pattern matches nothing, it says how many bytes have none.
        sizes_bytes: the length of each id that occurs.
    """

    of_texts: list[list[int]]
    sizes_bytes: dict[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """Whole characters, and the tokens that they are made of.

    Attributes:
        start: where they begin, in code points of the text; `end` is where they end.
        end: see `start`.
        first: the first of the tokens; `last` is behind the last.
        last: see `first`.
    """

    start: int
    end: int
    first: int
    last: int


def tokens_of(encoding: "Encoding", chunks: Sequence[Chunk]) -> ShownTokens:
    """Encode the text of each chunk on its own."""
    texts = [chunk.text for chunk in chunks]
    of_texts = encoding.encode_ordinary_batch(texts)
    ids = sorted({token for tokens in of_texts for token in tokens})
    token_bytes = {token: encoding.decode_single_token_bytes(token) for token in ids}
    sizes = {token: len(content) for token, content in token_bytes.items()}
    for place, (text, tokens) in enumerate(zip(texts, of_texts, strict=True)):
        utf8 = text.encode()
        if sum(map(sizes.__getitem__, tokens)) != len(utf8):
            of_texts[place] = _with_gaps(utf8, tokens, token_bytes)
    return ShownTokens(of_texts, sizes)


def _with_gaps(utf8: bytes, tokens: list[int], token_bytes: dict[int, bytes]) -> list[int]:
    """Put in what has no token, for patterns that do not match everywhere.

    Each token goes to the first place that holds its bytes. As none then ends later than it
    really does, there is a place for all of them.
    """
    shown = []
    done = 0
    for token in tokens:
        start = utf8.index(token_bytes[token], done)
        if start > done:
            shown.append(done - start)
        shown.append(token)
        done = start + len(token_bytes[token])
    if done < len(utf8):
        shown.append(done - len(utf8))
    return shown


def cells(text: str, tokens: Sequence[int], sizes_bytes: dict[int, int]) -> Iterator[Cell]:
    """Yield the cells of a text.

    Args:
        text: as it was encoded.
        tokens: one of `ShownTokens.of_texts`.
        sizes_bytes: of `ShownTokens`.

    >>> list(cells("a古", [1, 2, 3], {1: 1, 2: 2, 3: 1}))
    [Cell(start=0, end=1, first=0, last=1), Cell(start=1, end=2, first=1, last=3)]
    """
    start = end = first = missing_bytes = 0
    for place, token in enumerate(tokens):
        missing_bytes += sizes_bytes[token] if token >= 0 else -token
        while missing_bytes > 0:
            missing_bytes -= _utf8_size(text[end])
            end += 1
        if missing_bytes == 0:
            yield Cell(start, end, first, place + 1)
            start, first = end, place + 1


def _utf8_size(character: str) -> int:
    point = ord(character)
    return 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else 4
