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


def word_decoder(spec: TokenizerSpec, *, is_first: bool = False) -> Decoder:
    """Build the decoder of a spec whose model encodes words apart; or that of the first token.

    Tokens that begin a word have a blank before them, added ones too, as in `tokenizers`. The
    first one has none: it writes what it is, the prefix of WordPiece included, or what it is
    without all replacements of Metaspace.
    """
    write = _writer_of(spec, is_first)
    written = [*map(write, spec.vocabulary.tokens())]
    offsets = np.zeros(len(written) + 1, dtype=np.uint64)
    np.cumsum([*map(len, written)], out=offsets[1:])
    others = {number: write(token) for token, number in spec.unreachable_tokens.items()}
    others |= {token_id: write(text.encode()) for text, token_id in spec.own_tokens.items()}
    return Decoder(b"".join(written), offsets, spec.vocabulary.ids, dict(sorted(others.items())))


def _writer_of(spec: TokenizerSpec, is_first: bool) -> Callable[[bytes], bytes]:
    """Return what turns a token of the vocabulary into the bytes that it writes."""
    joiner = spec.joiner
    if isinstance(joiner, JoinMetaspace):
        blank = b"" if is_first and joiner.prepend != "never" else b" "
        old = joiner.replacement.encode()
        return partial(_piece, old=old, blank=blank, has_bytes=joiner.has_bytes)
    return partial(_word_piece, joiner=joiner, is_first=is_first)


def _word_piece(token: bytes, joiner: JoinWordPiece | None, is_first: bool) -> bytes:
    text = token.decode()
    if not is_first:
        # An empty prefix, too: all tokens continue a word then.
        continues = joiner and text.startswith(joiner.prefix)
        text = text.removeprefix(joiner.prefix) if joiner and continues else f" {text}"
    for old, new in _CLEANED if joiner and joiner.cleanup else ():
        text = text.replace(old, new)
    return text.encode()


def _piece(token: bytes, old: bytes, blank: bytes, has_bytes: bool) -> bytes:
    if has_bytes and (found := _BYTE_TOKEN.fullmatch(token)) is not None:
        return bytes([int(found[1], 16)])
    return token.replace(old, blank)
