"""The pieces of a model of sentencepiece: its tokens."""

from enum import IntEnum
from typing import NamedTuple

__all__ = ["Piece", "PieceType"]


class PieceType(IntEnum):
    """What a piece is for."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class Piece(NamedTuple):
    """A token with its score and its type."""

    text: str
    score: float
    kind: int
