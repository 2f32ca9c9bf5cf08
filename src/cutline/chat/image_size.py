"""`size_of_data`: width and height of an image that stands in a request as data."""

from __future__ import annotations

from binascii import Error, a2b_base64
from struct import error as TooShort  # noqa: N812 (a class)
from struct import unpack_from

__all__ = ["image_size", "size_of_data"]

_HEAD_CHARACTERS = 1 << 17  # of base64: what stands before a JPEG's size is seldom longer


def size_of_data(url: object) -> tuple[int, int] | None:
    """Read an image's width and height from a data URL, such as "data:image/png;base64,...".

    Returns:
        Pixels; None: it is no URL with data in base64, or no image that `image_size` reads.

    Cost: that of decoding the first 128 KB; linear in the data where the size stands after them.
    """
    if not isinstance(url, str) or url[:5].lower() != "data:":
        return None
    kind, _, written = url.partition(",")
    if not kind.lower().endswith(";base64"):
        return None
    for part in (written[:_HEAD_CHARACTERS], written):
        try:
            size = image_size(a2b_base64(part + "=" * (-len(part) % 4)))
        except (Error, ValueError):  # no base64; not ASCII
            return None
        if size is not None:
            return size
    return None


def image_size(data: bytes) -> tuple[int, int] | None:
    r"""Read the width and height of a PNG, GIF, WebP or JPEG, in pixels as they are stored.

    Returns:
        None: it is none of them, or ends before its size.

    >>> image_size(b"GIF89a\x03\x00\x02\x00")
    (3, 2)
    """
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return unpack_from(">II", data, 16)
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return unpack_from("<HH", data, 6)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _size_of_webp(data)
        if data[:2] == b"\xff\xd8":
            return _size_of_jpeg(data)
    except TooShort:
        pass
    return None


def _size_of_webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and data[20:21] == b"\x2f":
        (bits,) = unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        low, high, low_height, high_height = unpack_from("<HBHB", data, 24)
        return (low | high << 16) + 1, (low_height | high_height << 16) + 1
    return None


def _size_of_jpeg(data: bytes) -> tuple[int, int] | None:
    """Go from segment to segment, to the one in which a frame begins."""
    at = 2
    while True:
        lead, marker = unpack_from("BB", data, at)
        if lead != 0xFF:
            return None
        if marker == 0xFF:  # filling
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = unpack_from(">HH", data, at + 5)
            return width, height
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # without a length
            at += 2
        else:
            (length,) = unpack_from(">H", data, at + 2)
            if length < 2 or marker in (0xD9, 0xDA):  # the image's end or data
                return None
            at += 2 + length
