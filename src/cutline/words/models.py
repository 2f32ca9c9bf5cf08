"""The models that encode words apart, but for their tokens."""

from typing import Final, NamedTuple

__all__ = ["UNKNOWN_PENALTY", "Unigram", "WordPiece"]

UNKNOWN_PENALTY: Final = 10.0
"""How far below all scores that of an unknown character is, in sentencepiece and tokenizers."""


class WordPiece(NamedTuple):
    """The model WordPiece: the longest token that fits comes next, or else the word is unknown.

    Attributes:
        unk_id: the id of an unknown word.
        prefix: what tokens begin with that continue a word.
        max_word_characters: a longer word is unknown.
    """

    unk_id: int
    prefix: str = "##"
    max_word_characters: int = 100


class Unigram(NamedTuple):
    """The model Unigram: the tokens of a word whose scores have the greatest sum.

    Attributes:
        scores: of each token of the vocabulary in its order, float64 as little-endian bytes.
        unk_id: the id of unknown characters; None: a text that has some cannot be encoded.
        byte_fallback: unknown characters become the tokens `<0x00>` to `<0xFF>` of their bytes.
        fuse_unk: unknown characters side by side are one token.
        is_single: sums are rounded to single precision, as sentencepiece's are.
        unk_score: that of an unknown character, as bytes, too; none: `UNKNOWN_PENALTY` below all.
    """

    scores: bytes
    unk_id: int | None
    byte_fallback: bool = False
    fuse_unk: bool = True
    is_single: bool = False
    unk_score: bytes = b""
