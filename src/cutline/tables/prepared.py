"""The tables of the packaged encodings: those that take long to build are in the package.

A file is loaded without numpy, and without a look at each number: its checksum says that it is
the one that was installed. All integers are little-endian:

    magic      8 bytes
    checksum   uint32 of what follows, zlib's Adler-32
    fields     uint32 each, see `_FIELDS`
    arrays     see `_stored`, each from a multiple of 8 bytes on

What is quickly made of these arrays is not in the file: hash tables and offsets.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping
from os import fstat, path  # pathlib would take longer than a count
from sys import byteorder
from typing import Any, Final
from zlib import adler32

from cutline.errors import CorruptDataError
from cutline.kernels.base.memory import LINE_BYTES, zeroed_memory
from cutline.kernels.bpe import build
from cutline.kernels.bpe.bpe import BpeTables
from cutline.kernels.scan.scan import ScanTables

__all__ = ["DATA_DIRECTORY", "load", "pack"]

DATA_DIRECTORY: Final = path.join(path.dirname(__file__), "data")  # noqa: PTH118, PTH120

_MAGIC: Final = b"cuttab\x01\x00"
_FIELDS: Final = (
    *("n_tokens", "arena_bytes", "n_sparse", "filter_words", "max_token_bytes"),
    *("max_unreachable_bytes", "block_classes", "n_transitions", "stride", "has_gaps"),
)
_HEAD: Final = struct.Struct(f"<8s{1 + len(_FIELDS)}I")
_CHECKED_FROM: Final = len(_MAGIC) + 4
_SIZES: Final = {"B": 1, "H": 2, "I": 4, "Q": 8}

Listing = Iterable[tuple[str, str, tuple[int, ...]]]
"""Name, type code and shape of arrays."""


def _stored(fields: Mapping[str, int]) -> Listing:
    """List the arrays of a file."""
    n_tokens, filter_words = fields["n_tokens"], fields["filter_words"]
    return (
        ("left", "I", (n_tokens,)),
        ("right", "I", (n_tokens,)),
        ("sparse_ids", "I", (fields["n_sparse"],)),  # of the last tokens; others have their rank
        ("beginnings", "Q", (filter_words,)),
        ("endings", "Q", (filter_words,)),
        ("neighbours", "Q", (1 << 12,)),
        ("open_boundaries", "B", (1 << 13,)),
        ("ascii_class", "B", (1 << 7,)),
        ("block_index", "H", (0x110000 >> 6,)),
        ("block_class", "B", (fields["block_classes"],)),
        ("transitions", "I", (fields["n_transitions"],)),
        ("lengths", "B", (n_tokens,)),
        ("arena", "B", (fields["arena_bytes"],)),
    )


def _made(n_tokens: int) -> Listing:
    """List the arrays that are made at once."""
    return (
        ("token_slots", "Q", (build.token_slots_for(n_tokens), 3)),
        ("pair_slots", "Q", (build.slots_for(n_tokens),)),
        ("pair_filter", "Q", (build.filter_words_for(n_tokens),)),
        ("offsets", "Q", (n_tokens + 1,)),
        ("ids", "I", (n_tokens,)),
        ("byte_token", "I", (256,)),
        ("char_token", "I", (1 << 16,)),
    )


def pack(fields: Mapping[str, int], arrays: Mapping[str, bytes]) -> bytes:
    """Write a file; `_FIELDS` and `_stored` say what it takes.

    Raises:
        ValueError: an array has another size.
    """
    body = bytearray(struct.pack(f"<{len(_FIELDS)}I", *(fields[name] for name in _FIELDS)))
    for name, start, end, _, _ in _placed(_stored(fields), _HEAD.size, 8):
        body += bytes(start - _CHECKED_FROM - len(body)) + arrays[name]
        if len(body) != end - _CHECKED_FROM:
            raise ValueError(f"{name} has {len(arrays[name])} bytes instead of {end - start}")
    return _MAGIC + adler32(body).to_bytes(4, "little") + body


def load(file: str) -> tuple[BpeTables, ScanTables]:
    """Load the tables of a vocabulary and of a split pattern.

    Args:
        file: the path of what `pack` wrote.

    Raises:
        CorruptDataError: the file is damaged or missing.

    Cost: linear in the file; about 10 ms for o200k_base, and memory for its tables, 18 MB.
    """
    try:
        with open(file, "rb", buffering=0) as source:  # noqa: PTH123
            head = source.read(_HEAD.size)
            fields = _fields_of(file, head)
            stored = list(_placed(_stored(fields), len(head), 8))
            file_bytes = stored[-1][2]
            if fstat(source.fileno()).st_size != file_bytes:
                raise _damaged(file, f"has not the {file_bytes} bytes that its header says")
            made = list(_placed(_made(fields["n_tokens"]), file_bytes, LINE_BYTES))
            memory = zeroed_memory(made[-1][2], large_pages=True)
            memory[: len(head)] = head
            done = len(head)
            while done < file_bytes and (n_read := source.readinto(memory[done:file_bytes])):
                done += n_read
    except OSError as error:
        raise _damaged(file, f"cannot be read ({error.strerror})") from error
    if done < file_bytes or adler32(memory[_CHECKED_FROM:done]) != _checksum(head):
        raise _damaged(file, "does not match its own checksum")
    if byteorder == "big":
        for _, start, end, code, _ in stored:
            _swap(memory[start:end], code)
    arrays: dict[str, Any] = {
        name: _cast(memory[start:end], code, shape)
        for name, start, end, code, shape in (*stored, *made)
    }
    scan_names = ("ascii_class", "block_index", "block_class", "transitions")
    automaton = {name: arrays.pop(name) for name in scan_names}
    build.fill_tables(arrays)
    sizes = {name: fields[name] for name in ("max_token_bytes", "max_unreachable_bytes")}
    # No packaged pattern has gaps.
    return (
        BpeTables({"non_monotone": None} | sizes | arrays),
        ScanTables(**automaton, stride=fields["stride"], in_pieces=None),
    )


def _swap(memory: memoryview, code: str) -> None:
    """Turn the bytes of each number around."""
    numbers = array(code, bytes(memory))
    numbers.byteswap()
    memory[:] = memoryview(numbers).cast("B")


def _cast(memory: memoryview, code: Any, shape: tuple[int, ...]) -> memoryview:
    return memory.cast(code, shape) if len(shape) > 1 else memory.cast(code)  # it may be empty


def _fields_of(file: str, head: bytes) -> dict[str, int]:
    if len(head) < _HEAD.size or head[: len(_MAGIC)] != _MAGIC:
        raise _damaged(file, f"begins with {head[: len(_MAGIC)]!r} instead of {_MAGIC!r}")
    return dict(zip(_FIELDS, _HEAD.unpack(head)[2:], strict=True))


def _checksum(head: bytes) -> int:
    return int.from_bytes(head[len(_MAGIC) : _CHECKED_FROM], "little")


def _placed(
    listing: Listing, start: int, multiple: int
) -> Iterator[tuple[str, int, int, str, tuple[int, ...]]]:
    """Yield where arrays begin and end that lie one after the other."""
    for name, code, shape in listing:
        start += -start % multiple
        end = start + _SIZES[code]
        for size in shape:
            end = start + (end - start) * size
        yield name, start, end, code, shape
        start = end


def _damaged(file: str, what: str) -> CorruptDataError:
    return CorruptDataError(
        f"{file} {what}; the file is damaged: reinstall cutline "
        "(pip install --force-reinstall cutline)"
    )
