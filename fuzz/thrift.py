"""Thrift's compact protocol: what the metadata of a Parquet file is written in.

A value is an int, bytes, a list, or the fields of a struct; each knows its kind, so that what is
read is written as it was. Maps and sets, which no Parquet file has, are left out.
"""

import random
import struct
from typing import Any, Final, NamedTuple

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 7, 8, 9, 12
NUMBERS: Final = (0, 1, -1, 2, 3, 7, 8, 127, 255, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63))
TEXTS: Final = (b"", b"text", b"id", b"\xff", b"x" * 300)


class Value(NamedTuple):
    """A value and its kind.

    Attributes:
        kind: as the protocol numbers them.
        content: an int; bytes of a binary or double; a list of values; or of a struct the numbers
            and values of its fields.
    """

    kind: int
    content: Any


def read(data: bytes) -> Value:
    """Read a struct."""
    return _Reader(data).value(STRUCT)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def _take(self, n: int) -> bytes:
        self._at += n
        return self._data[self._at - n : self._at]

    def _unsigned(self) -> int:
        number = shift = 0
        while True:
            byte = self._take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def value(self, kind: int) -> Value:
        if kind in (TRUE, FALSE):
            return Value(kind, 0)
        if kind == BYTE:
            return Value(kind, self._take(1)[0])
        if kind == DOUBLE:
            return Value(kind, self._take(8))
        if kind == BINARY:
            return Value(kind, self._take(self._unsigned()))
        if kind == LIST:
            return Value(kind, self._list())
        if kind == STRUCT:
            return Value(kind, self._fields())
        number = self._unsigned()
        return Value(kind, (number >> 1) ^ -(number & 1))

    def _list(self) -> list[Value]:
        head = self._take(1)[0]
        n = head >> 4 if head < 0xF0 else self._unsigned()
        return [self.value(head & 15) for _ in range(n)]

    def _fields(self) -> list[tuple[int, Value]]:
        fields, number = [], 0
        while head := self._take(1)[0]:
            number = number + (head >> 4) if head >> 4 else self.value(BYTE + 1).content
            fields.append((number, self.value(head & 15)))
        return fields


def written(value: Value) -> bytes:
    """Write a value."""
    kind, content = value
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([content & 255])
    if kind == DOUBLE:
        return bytes(content)
    if kind == BINARY:
        return _unsigned(len(content)) + content
    if kind == LIST:
        inner = content[0].kind if content else STRUCT
        return b"%c" % (0xF0 | inner) + _unsigned(len(content)) + b"".join(map(written, content))
    if kind == STRUCT:
        return b"".join(map(_field, content)) + b"\0"
    return _unsigned(((content << 1) ^ (content >> 63)) & (2**64 - 1))


def _field(field: tuple[int, Value]) -> bytes:
    number, value = field
    return bytes([value.kind]) + written(Value(BYTE + 1, number)) + written(value)


def _unsigned(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def changed(rng: random.Random, value: Value) -> Value:
    """Change one place: a number, a text, the fields of a struct or the length of a list."""
    kind, content = value
    if kind not in (LIST, STRUCT) or not content:
        return Value(kind, _other(rng, kind, content))
    place, content = rng.randrange(len(content)), list(content)
    what = rng.randrange(8)
    if what == 0:
        del content[place]
    elif what == 1:
        content.insert(place, rng.choice(content))
    elif kind == LIST:
        content[place] = changed(rng, content[place])
    elif what == 2:
        content[place] = rng.randrange(16), content[place][1]
    else:
        content[place] = content[place][0], changed(rng, content[place][1])
    return Value(kind, content)


def _other(rng: random.Random, kind: int, content: Any) -> Any:
    if kind == BINARY:
        return rng.choice((*TEXTS, content[1:], content + content))
    if kind == DOUBLE:
        return struct.pack("<d", rng.choice(NUMBERS))
    return content if kind in (TRUE, FALSE, LIST, STRUCT) else rng.choice((*NUMBERS, content + 1))
