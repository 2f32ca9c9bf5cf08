"""The file format of piece counts.

Layout, all integers little-endian:

    magic          8 bytes   b"cutcnt" and the version of the format, uint16
    header_size    4 bytes   uint32
    piece_count    8 bytes   uint64
    arena_size     8 bytes   uint64
    header                   JSON, see `Header`
    offsets                  int64, piece_count + 1
    counts                   int64, piece_count
    arena                    the pieces' bytes
    sha256        32 bytes   of everything before

Sizes are compared with the file's own before anything is allocated.
"""

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cutline.errors import CorruptDataError

__all__ = ["Arrays", "Header", "read_counts", "write_counts"]

Arrays: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]
"""Arena, offsets and counts, as in `PieceCounts`."""

Header: TypeAlias = dict[str, Any]
"""`pat_str`, `special_tokens`, and other fields of the writer."""

_START: Final = struct.Struct("<6sHIQQ")
_MAGIC: Final = b"cutcnt"
_VERSION: Final = 1
_DIGEST_BYTES: Final = 32


def write_counts(sink: BinaryIO, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write counts to an open file. Cost: linear."""
    arena, offsets, counts = arrays
    head = json.dumps(header).encode()
    start = _START.pack(_MAGIC, _VERSION, len(head), len(counts), len(arena))
    digest = hashlib.sha256(start + head)
    sink.write(start + head)
    for array in (offsets.astype("<i8"), counts.astype("<i8"), arena):
        data = np.ascontiguousarray(array).view(np.uint8).data
        digest.update(data)
        sink.write(data)
    sink.write(digest.digest())


def read_counts(path: str | os.PathLike[str]) -> tuple[Header, Arrays]:
    """Read a file of `write_counts`. Header and arrays are not checked.

    Raises:
        CorruptDataError: the file is damaged, truncated or of another kind; does not name it.
        OSError: it cannot be read.

    Cost: linear.
    """
    with Path(path).open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        start = stream.read(_START.size)
        if len(start) < _START.size or not start.startswith(_MAGIC):
            raise CorruptDataError(f"it begins with {start[:8]!r}, not with {_MAGIC!r}")
        _, version, n_head, n_pieces, n_bytes = _START.unpack(start)
        if version != _VERSION:
            raise CorruptDataError(f"its format is {version}, and this cutline reads {_VERSION}")
        expected = _START.size + n_head + 16 * n_pieces + 8 + n_bytes + _DIGEST_BYTES
        if size != expected:
            raise CorruptDataError(f"it has {size} bytes and says that there are {expected}")
        digest = hashlib.sha256(start)
        head = _read(stream, n_head, digest)
        offsets = _read(stream, 8 * (n_pieces + 1), digest).view("<i8").astype(np.int64)
        counts = _read(stream, 8 * n_pieces, digest).view("<i8").astype(np.int64)
        arena = _read(stream, n_bytes, digest)
        if stream.read() != digest.digest():
            raise CorruptDataError("its checksum differs")
    try:
        header = json.loads(head.tobytes())
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(f"its header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise CorruptDataError(f"its header is {type(header).__name__}, not an object")
    return header, (arena, offsets, counts)


def _read(stream: BinaryIO, n_bytes: int, digest: Any) -> NDArray[np.uint8]:
    """Read this many bytes into an array."""
    data = np.fromfile(stream, dtype=np.uint8, count=n_bytes)
    if len(data) < n_bytes:
        raise CorruptDataError("it was cut off while it was read")
    digest.update(data.data)
    return data
