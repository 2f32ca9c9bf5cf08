"""The letters in which GPT-2's files, and those of `tokenizers`, write bytes."""

from typing import Final

__all__ = ["LETTERS"]

_PRINTED: Final = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_REST: Final = [byte for byte in range(256) if byte not in _PRINTED]

LETTERS: Final = {byte: byte for byte in _PRINTED} | {
    byte: 0x100 + place for place, byte in enumerate(_REST)
}
"""The code point for each byte: itself if it is printable, otherwise one from U+0100 on."""
