"""The largest files of tokenizers that are read: beyond them, an error instead of the memory.

docs/limits.md has the limits of all readers.
"""

from os import fstat
from pathlib import Path
from typing import Final

import numpy as np

from cutline.errors import VocabularyError
from cutline.vocabulary.vocabulary import MAX_TOKEN_COUNT

__all__ = ["MAX_FILE_BYTES", "check_count", "read_bounded"]

MAX_FILE_BYTES: Final = 1 << 27
"""Four times the largest published file that is known, Gemma's `tokenizer.json`."""

_MAX_MARKS: Final = 4 * MAX_TOKEN_COUNT
_AT_ONCE: Final = 1 << 16  # bytes


def read_bounded(path: Path, mark: bytes = b"") -> bytes:
    """Read a file that is not too large.

    Args:
        path: the file; a pipe, too.
        mark: what stands between its items, so that many of no bytes are refused as well: a token
            has four at most, its own and those of its merge.

    Raises:
        OSError: it cannot be read.
        VocabularyError: it is too large; names it.
    """
    with path.open("rb") as file:
        size = fstat(file.fileno()).st_size  # 0: a pipe, for one
        data = file.read(min(size, MAX_FILE_BYTES) + 1)
        if len(data) > size:
            data += file.read(MAX_FILE_BYTES + 1 - len(data))
    if len(data) > MAX_FILE_BYTES:
        raise VocabularyError(
            f"{path} has more than the {MAX_FILE_BYTES} bytes that a tokenizer's file may have: is "
            "it one?"
        )
    if mark and (count := _count(data, ord(mark))) > _MAX_MARKS:
        raise VocabularyError(
            f"{path} has {count} times {mark!r}, and at most {_MAX_MARKS} are read: is it a "
            "tokenizer's file?"
        )
    return data


def _count(data: bytes, byte: int) -> int:
    """Count a byte that is frequent."""
    seen = np.frombuffer(data, dtype=np.uint8)
    parts = range(0, len(seen), _AT_ONCE)
    return sum(int(np.count_nonzero(seen[at : at + _AT_ONCE] == byte)) for at in parts)


def check_count(count: int, what: str, source: str) -> None:
    """Refuse more tokens than tables can have, before they are made.

    Raises:
        VocabularyError: names them.
    """
    if count > MAX_TOKEN_COUNT:
        raise VocabularyError(
            f"{source} has {count} {what}; at most {MAX_TOKEN_COUNT} are supported"
        )
