"""Messages between a program and its parser process: bytes, no pickles."""

import json
import os
import struct
from typing import Final

from bitarray import bitarray

from cutline.chunking.structure import Structure

__all__ = ["read_message", "structure_from", "structure_to", "write_messages"]

_SIZE: Final = struct.Struct("<Q")
_BLOCK_BYTES: Final = 1 << 20


def write_messages(pipe: int, *messages: bytes) -> None:
    """Write messages whole, at once: each write may wake the other end.

    Raises:
        OSError: the other end is closed.
    """
    parts = (part for message in messages for part in (_SIZE.pack(len(message)), message))
    rest = memoryview(b"".join(parts))
    while rest:
        rest = rest[os.write(pipe, rest[:_BLOCK_BYTES]) :]


def read_message(pipe: int) -> bytes:
    """Read a message whole.

    Raises:
        EOFError: the message is incomplete.
    """
    (size,) = _SIZE.unpack(_read(pipe, _SIZE.size))
    return _read(pipe, size)


def _read(pipe: int, size: int) -> bytes:
    parts, missing = [], size
    while missing:
        part = os.read(pipe, min(missing, _BLOCK_BYTES))
        if not part:
            raise EOFError(f"{missing} of {size} bytes are missing")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def structure_to(structure: Structure) -> bytes:
    """Serialize a structure."""
    spans = structure.units, structure.headings, structure.regions
    others = structure.problem, structure.table_headers, structure.sections.tolist()
    fields = structure.names, len(structure.bitmaps[0]), *spans, *others
    head = json.dumps(fields).encode()
    bitmaps = b"".join(bitarray(bits, endian="little").tobytes() for bits in structure.bitmaps)
    return _SIZE.pack(len(head)) + head + bitmaps


def structure_from(data: bytes) -> Structure:
    """Deserialize a structure."""
    (n_head,) = _SIZE.unpack_from(data)
    start = _SIZE.size + n_head
    fields = json.loads(data[_SIZE.size : start])
    names, n_bits, units, headings, regions, problem, table_headers, sections = fields
    n_bytes = (n_bits + 7) // 8
    bitmaps = []
    for place in range(len(names)):
        bits = bitarray(endian="little")
        bits.frombytes(data[start + place * n_bytes : start + (place + 1) * n_bytes])
        bitmaps.append(bits[:n_bits])
    return Structure(
        tuple(names),
        tuple(bitmaps),
        tuple(map(tuple, units)),
        tuple((offset, tuple(path)) for offset, path in headings),
        tuple(map(tuple, regions)),
        problem,
        tuple(map(tuple, table_headers)),
        sections,
    )
