"""Other engines: where tiktoken and the `regex` module split a text."""

import re
from collections.abc import Sequence
from itertools import pairwise

import regex
import tiktoken

SINGLE_BYTES = {bytes([value]): value for value in range(256)}


def regex_spans_of(pattern: str, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Spans by the `regex` module as it is, with tiktoken's meaning of `$`."""
    ends = re.sub(r"\$(?=\||$)", r"\\Z", pattern)
    expression = regex.compile(ends, regex.V1)
    return [
        [match.span() for match in expression.finditer(text) if match.group()] for text in texts
    ]


def texts_split_otherwise(
    pattern: str, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
) -> list[str]:
    """Return the texts that tiktoken does not split into the given pieces.

    tiktoken returns tokens, not pieces. So the vocabulary is made of the pieces:
    a piece that is found whole is one token, one that is cut is not. A piece
    that should have been cut shows too: the two bytes at every cut are a token
    of low rank, so they merge wherever they are not kept apart.
    """
    pieces = [
        [text[start:end].encode() for start, end in found]
        for text, found in zip(texts, spans, strict=True)
    ]
    seams = {left[-1:] + right[:1] for row in pieces for left, right in pairwise(row)}
    tokens = dict.fromkeys([*sorted(seams), *sorted({piece for row in pieces for piece in row})])
    ranks = SINGLE_BYTES | {
        token: rank
        for rank, token in enumerate((t for t in tokens if len(t) > 1), start=len(SINGLE_BYTES))
    }
    encoding = tiktoken.Encoding(
        "pieces", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
    )
    return [
        text
        for text, row in zip(texts, pieces, strict=True)
        if encoding.decode_tokens_bytes(encoding.encode_ordinary(text)) != row
    ]


def members_by_tiktoken(atom: str, candidates: str) -> set[str]:
    """Return the characters that a one-character pattern matches: tiktoken drops the others."""
    encoding = tiktoken.Encoding(
        "bytes", pat_str=atom, mergeable_ranks=SINGLE_BYTES, special_tokens={}
    )
    return set(bytes(encoding.encode_ordinary(candidates)).decode())
