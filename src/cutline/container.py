"""The container format of all table files of this package: a header and arrays.

A file consists of 8 bytes magic, 32 bytes SHA-256 of `belongs_to` and the rest, then a
zlib stream of a length-prefixed JSON header followed by the arrays, little-endian, in
the order in which the header lists them. Used for patterns' Unicode tables and for compiled
automata, packaged or cached.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cutline.errors import CorruptDataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    from cutline.kernels.base.late import numpy as np

__all__ = ["pack", "unpack", "unpack_numbers"]

_DIGEST_BYTES = 32
# What numpy calls a type, and what `array` does.
_CODES = {
    f"{sign}{kind}{size}": code
    for sign in "<|"
    for kind, codes in (("i", "bhiq"), ("u", "BHIQ"))
    for size, code in zip((1, 2, 4, 8), codes, strict=True)
}
_MAX_PAYLOAD_BYTES = 64 << 20  # a damaged stream must not exhaust the memory


def pack(
    magic: bytes,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    belongs_to: bytes = b"",
) -> bytes:
    """Serialize a header and arrays; equal input gives equal bytes.

    Args:
        magic: 8 bytes that name the kind of file.
        header: anything JSON can hold; the key "arrays" is reserved.
        arrays: one-dimensional integer arrays by name.
        belongs_to: what the file depends on; it can only be read with the same value.

    Returns:
        The file's bytes.

    >>> header, arrays = unpack(b"example1", pack(b"example1", {"a": 1}, {"x": np.arange(3)}))
    >>> header["a"], arrays["x"]
    (1, array([0, 1, 2]))
    """
    little = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    listing = [[name, array.dtype.str, array.size] for name, array in little.items()]
    head = json.dumps({**header, "arrays": listing}, sort_keys=True).encode()
    body = b"".join(array.tobytes() for array in little.values())
    stream = zlib.compress(struct.pack("<I", len(head)) + head + body, 9)
    return magic + _digest(stream, belongs_to) + stream


def _digest(stream: bytes, belongs_to: bytes) -> bytes:
    from hashlib import sha256  # loads a library

    return sha256(len(belongs_to).to_bytes(8, "little") + belongs_to + stream).digest()


def unpack(
    magic: bytes, data: bytes, belongs_to: bytes = b""
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `pack` wrote.

    Args:
        magic: the 8 bytes that the file must start with.
        data: the file's bytes.
        belongs_to: the value it was packed with.

    Returns:
        The header, and the arrays by name in native byte order, read-only.

    Raises:
        CorruptDataError: wrong magic, wrong checksum, or malformed content.

    Cost: linear in the file; about 0.2 ms for 60 KB of tables.
    """
    header, arrays = unpack_numbers(magic, data, belongs_to)
    return header, {
        name: np.asarray(numbers).view(
            f"{'u' if numbers.format.isupper() else 'i'}{numbers.itemsize}"
        )
        for name, numbers in arrays.items()
    }


def unpack_numbers(
    magic: bytes, data: bytes, belongs_to: bytes = b""
) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """Read what `pack` wrote, without numpy; see `unpack`."""
    if data[: len(magic)] != magic:
        raise CorruptDataError(f"not a table file: starts with {data[:8]!r}, expected {magic!r}")
    digest = data[len(magic) : len(magic) + _DIGEST_BYTES]
    stream = data[len(magic) + _DIGEST_BYTES :]
    if _digest(stream, belongs_to) != digest:
        raise CorruptDataError(
            f"table file is damaged, or another one: checksum of {len(stream)} bytes differs"
        )
    try:
        return _split(zlib.decompressobj().decompress(stream, _MAX_PAYLOAD_BYTES))
    except (zlib.error, struct.error, ValueError, RecursionError) as error:
        raise CorruptDataError(f"table file is malformed: {error}") from error


def _split(payload: bytes) -> tuple[dict[str, Any], dict[str, memoryview]]:
    (head_bytes,) = struct.unpack_from("<I", payload)
    offset = 4 + head_bytes
    header = json.loads(payload[4:offset])
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        raise ValueError("its header lists no arrays")
    arrays: dict[str, memoryview] = {}
    for listed in header["arrays"]:
        match listed:
            case [str() as name, str() as dtype, int() as size] if dtype in _CODES:
                arrays[name] = _array(payload, array(_CODES[dtype]), size, offset)
            case _:
                raise ValueError(f"its header lists {listed!r}, no array that is stored here")
        offset += arrays[name].nbytes
    if offset != len(payload):
        raise ValueError(f"{len(payload) - offset} bytes are left over")
    return header, arrays


def _array(payload: bytes, numbers: array[int], size: int, offset: int) -> memoryview:
    if not 0 <= size <= (len(payload) - offset) // numbers.itemsize:
        raise ValueError(f"it ends inside an array of {size} numbers")
    numbers.frombytes(payload[offset : offset + size * numbers.itemsize])  # aligned
    if sys.byteorder == "big":
        numbers.byteswap()
    return memoryview(numbers).toreadonly()
