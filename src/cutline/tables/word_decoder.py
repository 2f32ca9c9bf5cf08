"""Decoding tokens of words: which bytes each token writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cutline.kernels.encode.decode import Decoder
from cutline.words.joining import JoinMetaspace, JoinWordPiece

if TYPE_CHECKING:
    from cutline.spec import TokenizerSpec

__all__ = ["word_decoder"]

# What the decoder WordPiece of `tokenizers` cleans up, in this order.
_CLEANED = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
    (" 'm", "'m"), (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip

_BYTE_TOKEN = re.compile(b"<0x([0-9A-F]{2})>")


def word_decoder(spec: TokenizerSpec) -> Decoder:
    """Build the decoder of a spec whose model encodes words apart.

    Tokens that begin a word have a blank before them, added ones too, as in `tokenizers`.
    """
    write = _writer_of(spec)
    written = [*map(write, spec.vocabulary.tokens())]
    offsets = np.zeros(len(written) + 1, dtype=np.uint64)
    np.cumsum([*map(len, written)], out=offsets[1:])
    others = {number: write(token) for token, number in spec.unreachable_tokens.items()}
    others |= {token_id: write(text.encode()) for text, token_id in spec.own_tokens.items()}
    return Decoder(b"".join(written), offsets, spec.vocabulary.ids, dict(sorted(others.items())))


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
