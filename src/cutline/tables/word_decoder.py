"""Decoding tokens of words: which bytes each token writes, and what the first one leaves out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cutline.kernels.encode.decode import Decoder
from cutline.words.joining import JoinMetaspace, JoinWordPiece

if TYPE_CHECKING:
    from cutline.spec import TokenizerSpec

__all__ = ["WordDecoder", "word_decoder"]

# What the decoder WordPiece of `tokenizers` cleans up, in this order.
_CLEANED = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
    (" 'm", "'m"), (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip


_BYTE_TOKEN = re.compile(b"<0x([0-9A-F]{2})>")


class WordDecoder(Decoder):
    """Writes tokens, a blank before each that begins a word, but not before the first."""

    def text(self, tokens: Iterable[int]) -> str | bytes:
        """Decode to text; bytes if they are not UTF-8."""
        found = self.join(tokens)
        try:
            return found.decode()
        except UnicodeDecodeError:
            return found

    def join(self, tokens: Iterable[int]) -> bytes:
        """Decode to bytes."""
        return super().join(tokens).removeprefix(b" ")

    def starts_of(self, tokens: Iterable[int]) -> list[int]:
        """Return where in the text each token begins."""
        tokens = list(tokens)
        starts = super().starts_of(tokens)
        less = int(bool(tokens) and super().bytes_of(tokens[0]).startswith(b" "))
        return [max(0, start - less) for start in starts]


def word_decoder(spec: TokenizerSpec) -> Decoder:
    """Build the decoder of a spec whose model encodes words apart."""
    written = [*map(_writer_of(spec), spec.vocabulary.tokens())]
    offsets = np.zeros(len(written) + 1, dtype=np.uint64)
    np.cumsum([*map(len, written)], out=offsets[1:])
    others = {number: token for token, number in spec.unreachable_tokens.items()}
    others |= {token_id: text.encode() for text, token_id in spec.own_tokens.items()}
    keeps_first = isinstance(spec.joiner, JoinMetaspace) and spec.joiner.prepend == "never"
    kind = Decoder if keeps_first else WordDecoder
    return kind(b"".join(written), offsets, spec.vocabulary.ids, dict(sorted(others.items())))


def _writer_of(spec: TokenizerSpec) -> Callable[[bytes], bytes]:
    """Return what turns a token of the vocabulary into the bytes that it writes."""
    joiner = spec.joiner
    if isinstance(joiner, JoinMetaspace):
        return partial(_piece, blank=joiner.replacement.encode(), has_bytes=joiner.has_bytes)
    if joiner is None:
        return lambda token: b" " + token
    return partial(_word_piece, joiner=joiner)


def _word_piece(token: bytes, joiner: JoinWordPiece) -> bytes:
    text = token.decode()
    continues = joiner.prefix and text.startswith(joiner.prefix)
    text = text.removeprefix(joiner.prefix) if continues else f" {text}"
    for old, new in _CLEANED if joiner.cleanup else ():
        text = text.replace(old, new)
    return text.encode()


def _piece(token: bytes, blank: bytes, has_bytes: bool) -> bytes:
    if has_bytes and (found := _BYTE_TOKEN.fullmatch(token)) is not None:
        return bytes([int(found[1], 16)])
    return token.replace(blank, b" ")
