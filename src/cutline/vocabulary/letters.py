"""GPT-2's letters for bytes, with which Hugging Face's files write tokens."""

from typing import Final

import numpy as np

__all__ = ["BYTE_BY_LETTER", "BYTE_OF", "as_bytes", "as_text"]

_PRINTED: Final = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_REST: Final = [byte for byte in range(256) if byte not in _PRINTED]
_LETTER: Final = {byte: chr(byte) for byte in _PRINTED} | {
    byte: chr(0x100 + place) for place, byte in enumerate(_REST)
}
"""GPT-2's letter for each byte: itself if it is printable, otherwise one from U+0100 on."""

_TO_TEXT: Final = {byte: ord(letter) for byte, letter in _LETTER.items()}
BYTE_BY_LETTER: Final = {letter: byte for byte, letter in _LETTER.items()}
BYTE_OF: Final = np.full(max(_TO_TEXT.values()) + 1, -1, dtype=np.int16)
BYTE_OF[list(_TO_TEXT.values())] = list(_TO_TEXT)
"""The byte of each code point; -1: it is no such letter."""


def as_text(token: bytes) -> str:
    r"""Write a token with GPT-2's letter for each byte.

    >>> as_text(b" the\n")
    'ĠtheĊ'
    """
    return token.decode("latin-1").translate(_TO_TEXT)


def as_bytes(text: str) -> bytes:
    """Read what `as_text` wrote.

    Raises:
        KeyError: a letter is none of GPT-2's.
    """
    return bytes(map(BYTE_BY_LETTER.__getitem__, text))
