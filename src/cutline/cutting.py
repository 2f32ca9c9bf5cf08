"""Cuts in code points: checks the arguments, then asks the kernel, which works in bytes."""

from operator import index
from typing import TYPE_CHECKING

import numpy as np

from cutline.chunks import Chunk, checked_sizes, too_large
from cutline.errors import OffsetError
from cutline.kernels.breaks.chunks import make_chunks
from cutline.kernels.cut.windows import Cutter, code_points
from cutline.text import need_automaton, plain_text, utf8_of

if TYPE_CHECKING:
    from cutline.encoding import Encoding

__all__ = ["split", "split_at"]


def split_at(encoding: "Encoding", text: str, n: int, start: int) -> int:
    """Find the greatest cut; see `Encoding.split_at`."""
    text, n, start = plain_text(text), index(n), index(start)
    if n < 0:
        raise ValueError(f"n must be 0 or more tokens, got {n}")
    if not 0 <= start <= len(text):
        raise OffsetError(f"start must be from 0 to {len(text)}, the text's length, got {start}")
    # No more characters than this can fit, so no more are looked at.
    reach = encoding._max_bytes_of(n)
    window = text[start : start + reach] if reach is not None else text[start:]
    owner = utf8_of(window, start)
    cutter = _cutter(encoding, owner)
    byte_end = cutter.greatest_cut(0, min(n, len(owner)))  # a token has a byte at least
    cutter.close()
    return start + (byte_end if isinstance(owner, str) else len(owner[:byte_end].decode()))


def split(encoding: "Encoding", text: str, chunk_size: int, chunk_overlap: int) -> list[Chunk]:
    """Cut a text into chunks; see `Encoding.split`."""
    text = plain_text(text)
    chunk_size, chunk_overlap = checked_sizes(chunk_size, chunk_overlap)
    owner = utf8_of(text)
    cutter = _cutter(encoding, owner)
    most = len(owner) + 1  # more tokens than the text has: one has a byte at least
    rows = cutter.cut_all(min(chunk_size, most), min(chunk_overlap, most))
    cutter.close()
    ends = code_points(owner, rows[:, 1])
    starts = code_points(owner, rows[:, 0]) if chunk_overlap else np.append(0, ends)[:-1]
    reached = int(ends[-1]) if len(ends) else 0
    places = np.stack([starts, ends, rows[:, 2], ends == len(text)], axis=1)
    chunks = make_chunks(Chunk, text, places, ("character", "end"), offset=0, index=0)
    if reached < len(text):
        tokens = encoding.count(text[reached])
        raise too_large(
            text[reached], reached, tokens, chunk_size, encoding._most_tokens_of_a_character()
        )
    return chunks


def _cutter(encoding: "Encoding", owner: str | bytes) -> Cutter:
    need_automaton(encoding.name, encoding._has_automaton)
    return Cutter(encoding, owner)
