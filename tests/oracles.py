"""What the tests believe instead of cutline: tiktoken, and definitions written out naively.

Nothing here uses cutline's algorithms. Of cutline it takes the packaged data alone,
whose checksums are proved elsewhere.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import tiktoken

import cutline
from cutline.vocabulary import Vocabulary
from tests.vocabularies import encoding_of, ids_of

PACKAGED = (
    "cl100k_base",
    "gpt2",
    "o200k_base",
    "o200k_harmony",
    "p50k_base",
    "p50k_edit",
    "r50k_base",
)
# One name for each pair of ranks and pattern: the other names differ in special tokens only.
DISTINCT = ("cl100k_base", "o200k_base", "p50k_base", "r50k_base")
WHOLE_TEXT = r"(?s:.+)"

Count = Callable[[str], int]


@functools.cache
def real_tiktoken(name: str) -> tiktoken.Encoding:
    """Tiktoken's own encoder over cutline's packaged ranks, pattern and special tokens."""
    encoding = cutline.get_encoding(name)
    return tiktoken.Encoding(
        name,
        pat_str=encoding._pat_str,
        mergeable_ranks=dict(encoding._mergeable_ranks),
        special_tokens=dict(encoding._special_tokens),
    )


def tiktoken_of(
    ranks: Mapping[bytes, int],
    pat_str: str | None,
    special_tokens: Mapping[str, int] | None = None,
) -> tiktoken.Encoding:
    """Tiktoken over any vocabulary; no pattern means one piece, as in cutline."""
    return tiktoken.Encoding(
        "oracle",
        pat_str=WHOLE_TEXT if pat_str is None else pat_str,
        mergeable_ranks=dict(ranks),
        special_tokens=dict(special_tokens or {}),
    )


class Renumbered(tiktoken.Encoding):
    """Tiktoken, which takes ranks for ids, with other ids.

    Args:
        vocabulary: the tokens in the order of merging, under the ids to give.
        pat_str: as for `tiktoken_of`.
    """

    def __init__(self, vocabulary: Vocabulary, pat_str: str | None) -> None:
        super().__init__(
            "renumbered",
            pat_str=WHOLE_TEXT if pat_str is None else pat_str,
            mergeable_ranks={token: rank for rank, token in enumerate(vocabulary.tokens())},
            special_tokens={},
        )
        self._ids: list[int] = vocabulary.ids.tolist()
        self._bytes = dict(zip(self._ids, vocabulary.tokens(), strict=True))

    def encode_ordinary(self, text: str) -> list[int]:
        return [self._ids[rank] for rank in super().encode_ordinary(text)]

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        return [self._ids[rank] for rank in super()._encode_single_piece(text_or_bytes)]

    def _encode_bytes(self, text: bytes) -> list[int]:
        return [self._ids[rank] for rank in super()._encode_bytes(text)]

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        return b"".join([self._bytes[token] for token in tokens])

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        return self.decode_bytes(tokens).decode(errors=errors)

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        return [self._bytes[token] for token in tokens]


def with_oracle(
    ranks: Mapping[bytes, int], pat_str: str | None
) -> tuple[cutline.Encoding, Renumbered]:
    """An encoding of drawn ranks, and what tiktoken makes of them."""
    ours = encoding_of(ranks, pat_str)
    return ours, Renumbered(ours._vocabulary, pat_str)


def with_count(ranks: Mapping[bytes, int], pat_str: str | None) -> tuple[cutline.Encoding, Count]:
    """An encoding of drawn ranks, and tiktoken's count."""
    ours, real = with_oracle(ranks, pat_str)
    return ours, lambda text: len(real.encode_ordinary(text))


@functools.cache
def counter(name: str) -> Count:
    """Count the tokens of a text by encoding it with tiktoken."""
    encode = real_tiktoken(name).encode_ordinary
    return lambda text: len(encode(text))


@functools.cache
def longest_token_bytes(name: str) -> int:
    """Length of the longest mergeable token in bytes."""
    return max(map(len, cutline.get_encoding(name)._mergeable_ranks))


def textbook_merge(ranks: Mapping[bytes, int], piece: bytes) -> list[int]:
    """Encode one piece by the definition: the lowest rank merges first, leftmost on a tie."""
    ids = ids_of(ranks)
    if piece in ranks:
        return [ids[piece]]
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while True:
        merges = [
            (ranks[left + right], i)
            for i, (left, right) in enumerate(pairwise(parts))
            if left + right in ranks
        ]
        if not merges:
            return [ids[part] for part in parts]
        i = min(merges)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def longest_fit(count: Count, text: str, n: int, start: int, token_bytes: int) -> int | None:
    """The greatest j > start with count(text[start:j]) <= n, every j tried; None: no such j.

    A token has at most `token_bytes` bytes, so n tokens hold at most n times as many characters.
    """
    farthest = min(len(text), start + n * token_bytes)
    for end in range(farthest, start, -1):
        if count(text[start:end]) <= n:
            return end
    return None


def overlap_start(
    count: Count, text: str, span: tuple[int, int], n: int, overlap: int, token_bytes: int
) -> int:
    """Where the chunk after `span` starts, by the definition of the overlap.

    Step back from the end character by character while the shared text has at most `overlap`
    tokens and lies after the span's start. Of the positions stepped on, the farthest back from
    which a chunk of n tokens reaches beyond the span's end.
    """
    start, end = span
    best = position = end
    while position - 1 > start and count(text[position - 1 : end]) <= overlap:
        position -= 1
        reach = longest_fit(count, text, n, position, token_bytes)
        if reach is not None and reach > end:
            best = position
    return best


def greedy_spans(
    count: Count, text: str, n: int, overlap: int, token_bytes: int
) -> list[tuple[int, int]] | None:
    """Half-open spans of the exact chunks, by the definitions; None: some character cannot fit."""
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = longest_fit(count, text, n, start, token_bytes)
        if end is None:
            return None
        spans.append((start, end))
        if end == len(text):
            break
        start = overlap_start(count, text, (start, end), n, overlap, token_bytes)
    return spans
