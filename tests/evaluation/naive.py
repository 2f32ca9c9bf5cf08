"""Evaluation by its definitions, with sets of characters and tokens, and nothing of the package.

A token is a pair of a document and a number. It belongs to the span in which it ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import tiktoken

Span = tuple[int, int]
Token = tuple[str, int]


def token_ends(text: str, encoding: tiktoken.Encoding) -> list[int]:
    """Where each token ends, in code points: a part of a character ends with the character."""
    ends, done = [], b""
    for token in encoding.encode_ordinary(text):
        done += encoding.decode_single_token_bytes(token)
        ends.append(sum(1 for at in range(len(text)) if len(text[:at].encode()) < len(done)))
    return ends


@dataclass
class Naive:
    """Documents as sets of tokens."""

    documents: dict[str, str]
    encoding: tiktoken.Encoding

    def __post_init__(self) -> None:
        self.ends = {n: token_ends(text, self.encoding) for n, text in self.documents.items()}

    def tokens(self, document: str, span: Span) -> list[Token]:
        start, end = span
        return [(document, n) for n, e in enumerate(self.ends[document]) if start < e <= end]

    def references(self, document: str, spans: Sequence[Span]) -> set[Token]:
        """All tokens of the excerpts; of one that is inside a token, that token."""
        found: set[Token] = set()
        for span in spans:
            inner = (n for n, end in enumerate(self.ends[document]) if end > span[0])
            found |= set(self.tokens(document, span)) or {(document, next(inner))}
        return found

    def score(
        self, retrieved: Sequence[tuple[str, Span]], references: set[Token]
    ) -> tuple[float, float, float, int]:
        """Recall, precision, IoU, and the number of tokens that were retrieved."""
        read = [token for document, span in retrieved for token in self.tokens(document, span)]
        hit = references & set(read)
        return (
            float(Fraction(len(hit), len(references))),
            float(Fraction(len(hit), len(read))) if read else 0.0,
            float(Fraction(len(hit), len(read) + len(references - hit))),
            len(read),
        )

    def omega(self, chunks: Sequence[tuple[str, Span]], references: set[Token]) -> float:
        every: set[Token] = set()
        for document, span in chunks:
            tokens = set(self.tokens(document, span))
            if tokens & references:
                every |= tokens
        return float(Fraction(len(every & references), len(every | references)))


def whole(units: Sequence[Span], chunks: Sequence[Span]) -> int:
    """How many units lie in one chunk."""
    return sum(any(a <= start and end <= b for a, b in chunks) for start, end in units)


def bm25_scores(
    texts: Sequence[str], question: str, k1: float = 1.5, b: float = 0.75
) -> list[float]:
    """BM25 as Lucene has it, of words between blanks."""
    from math import log

    words = [text.lower().split() for text in texts]
    mean = sum(map(len, words)) / max(1, len(words))
    scores = [0.0] * len(texts)
    for term in question.lower().split():
        n = sum(term in some for some in words)
        idf = log(1 + (len(words) - n + 0.5) / (n + 0.5))
        for place, some in enumerate(words):
            if tf := some.count(term):
                scores[place] += idf * tf / (tf + k1 * (1 - b + b * len(some) / mean))
    return scores
