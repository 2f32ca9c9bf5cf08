"""Character properties for the rules of text boundaries, from Unicode 16's database.

One number per character encodes the properties in the rules of UAX #29, and some categories.
They are packaged, so that cuts do not depend on the version of Python or of another library.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from os import path  # pathlib would take longer than to load the tables
from typing import Final

from cutline.errors import CorruptDataError
from cutline.kernels.breaks.text_properties import set_tables

__all__ = ["load_tables", "pack", "unpack", "words_before_stops"]

BREAKS_MAGIC: Final = b"cutlnBR2"
DATA_PATH: Final = path.join(path.dirname(__file__), "data", "breaks-16.bin")  # noqa: PTH118, PTH120

_CLASSES_AT: Final = 4 + 2 * (0x110000 >> 7)  # there are as many blocks of characters

WORDS_PATH: Final = path.join(path.dirname(__file__), "data", "abbreviations.txt")  # noqa: PTH118, PTH120


def words_before_stops() -> list[list[str]]:
    """Return the words before full stops that end no sentence, in the order of the file's parts.

    These are abbreviations, what is one before a number, and what comes before an ordinal number.
    """
    with open(WORDS_PATH, encoding="utf-8") as file:  # noqa: PTH123
        lines = [line for line in file if not line.startswith("#")]
    abbreviations, *others = "".join(lines).split("== ")
    parts = [abbreviations.split(), *(part.partition("\n")[2].split() for part in others)]
    for part in parts[:2]:
        part += [word[0].upper() + word[1:] for word in part if word[0].islower()]
    return parts


def load_tables() -> None:
    """Load the tables into the kernels. Cost: 1 ms, once.

    Raises:
        CorruptDataError: (a ValueError) the file is damaged.
    """
    with open(DATA_PATH, "rb") as file:  # noqa: PTH123
        set_tables(*unpack(file.read()), words_before_stops())


def pack(block_index: bytes, block_class: bytes, properties: bytes) -> bytes:
    """Write the file: the magic, and a zlib stream of a length and three arrays, little-endian.

    Args:
        block_index: uint16, the block of classes of each block of characters.
        block_class: uint8, the class of each character of a block.
        properties: uint32, the properties of each class.
    """
    head = len(block_class).to_bytes(4, "little")
    return BREAKS_MAGIC + zlib.compress(head + block_index + block_class + properties, 9)


def unpack(data: bytes) -> tuple[memoryview, memoryview, memoryview]:
    """Read what `pack` wrote; the stream's own checksum says that it is undamaged.

    Not as `cutline.container` stores tables: it imports `json` and `hashlib`, which take longer
    than all else here.

    Raises:
        CorruptDataError: (a ValueError) it is damaged.
    """
    try:
        if not data.startswith(BREAKS_MAGIC):
            raise ValueError(f"it starts with {data[:8]!r}")
        payload = memoryview(zlib.decompress(data[len(BREAKS_MAGIC) :]))
        classes_end = _CLASSES_AT + int.from_bytes(payload[:4], "little")
        index, properties = array("H", payload[4:_CLASSES_AT].tobytes()), array("I")
        properties.frombytes(payload[classes_end:])
    except (zlib.error, ValueError) as error:
        raise CorruptDataError(f"{DATA_PATH} is damaged ({error}): reinstall cutline") from error
    if sys.byteorder == "big":
        index.byteswap()
        properties.byteswap()
    return memoryview(index), payload[_CLASSES_AT:classes_end], memoryview(properties)
