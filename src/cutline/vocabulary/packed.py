"""The compact file format of the packaged vocabularies.

Layout, all integers little-endian:

    magic         8 bytes   b"cutvoc" and the version of the format, uint16
    sha256       32 bytes   of everything that follows
    token_count   4 bytes   uint32
    arena_size    4 bytes   uint32, uncompressed
    stream_size   4 bytes   uint32, of the first stream, compressed
    widths        3 bytes   bytes per entry of the three arrays: 1, 2 or 4
                            (0 for left_lengths: the array is absent)
    arrays                  zlib stream of lengths, left_lengths and id steps
                            (the first id, then the differences, modulo 2^32)
    arena                   zlib stream

The hash is checked before anything is decompressed, so damage is detected there. The
later checks are for crafted files: nothing is allocated beyond what deflate streams of
their size can contain.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from cutline.errors import CorruptDataError, VocabularyError
from cutline.vocabulary.vocabulary import MAX_ARENA_BYTES, MAX_TOKEN_COUNT, Vocabulary, narrow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    from cutline.kernels.base.late import numpy as np  # a count does not need it

__all__ = ["pack", "unpack"]

_MAGIC: Final = b"cutvoc" + (1).to_bytes(2, "little")
_DIGEST_SIZE: Final = 32
_COUNTS: Final = struct.Struct("<III3B")
_HEAD_SIZE: Final = len(_MAGIC) + _DIGEST_SIZE
_WIDTHS: Final = (1, 2, 4)
_DEFLATE_MAX_RATIO: Final = 1032


def pack(vocabulary: Vocabulary) -> bytes:
    """Write a vocabulary in the packed format.

    Cost: O(bytes); under a second for 200,000 tokens. The same vocabulary gives the
    same bytes with the same zlib.

    >>> vocabulary = Vocabulary.from_ranks({bytes([b]): b for b in range(256)})
    >>> unpack(pack(vocabulary)) == vocabulary
    True
    """
    lengths = narrow(vocabulary.lengths)
    id_steps = narrow(np.diff(vocabulary.ids, prepend=np.uint32(0)))
    if vocabulary.left_lengths is None:
        left_lengths = np.empty(0, dtype=np.uint8)
        left_width = 0
    else:
        left_lengths = narrow(vocabulary.left_lengths)
        left_width = left_lengths.itemsize
    arrays = b"".join(array.tobytes() for array in (lengths, left_lengths, id_steps))
    # The arrays have runs and skewed byte frequencies, but few repeated strings: run
    # lengths and Huffman codes alone make them a tenth smaller than matching does.
    deflater = zlib.compressobj(9, strategy=zlib.Z_RLE)
    stream = deflater.compress(arrays) + deflater.flush()
    counts = _COUNTS.pack(
        len(vocabulary),
        len(vocabulary.arena),
        len(stream),
        lengths.itemsize,
        left_width,
        id_steps.itemsize,
    )
    body = counts + stream + zlib.compress(vocabulary.arena, 9)
    return _MAGIC + sha256(body) + body


def unpack(
    data: bytes, source: str = "packed vocabulary", *, is_of_words: bool = False
) -> Vocabulary:
    """Read a vocabulary in the packed format.

    Args:
        data: the whole file.
        source: its name in errors, usually its path.
        is_of_words: as of `Vocabulary`; the file does not say it.

    Raises:
        CorruptDataError: the data is not what `pack` wrote; names `source`.

    Cost: O(bytes); about 15 ms for o200k_base, nearly all of it in zlib.
    """
    if data[: len(_MAGIC)] != _MAGIC:
        raise _corrupt(source, f"begins with {data[: len(_MAGIC)]!r} instead of {_MAGIC!r}")
    if len(data) < _HEAD_SIZE + _COUNTS.size:
        raise _corrupt(source, f"ends after {len(data)} bytes, inside its header")
    body = memoryview(data)[_HEAD_SIZE:]
    if sha256(body) != data[len(_MAGIC) : _HEAD_SIZE]:
        raise _corrupt(source, "does not match its own sha256")
    token_count, arena_size, stream_size, *widths = _COUNTS.unpack_from(body)
    if any(width not in _WIDTHS for width in widths[::2]) or widths[1] not in (0, *_WIDTHS):
        raise _corrupt(source, f"has array entries of {widths} bytes")
    if token_count > MAX_TOKEN_COUNT or arena_size > MAX_ARENA_BYTES:
        raise _corrupt(source, f"claims {token_count} tokens of {arena_size} bytes")
    streams = body[_COUNTS.size :]
    arrays = _inflate(streams[:stream_size], token_count * sum(widths), source)
    arena = _inflate(streams[stream_size:], arena_size, source)
    lengths, left_lengths, id_steps = _split(arrays, token_count, widths)
    try:
        return Vocabulary(
            arena,
            lengths,
            np.cumsum(id_steps, dtype=np.uint64) & 0xFFFFFFFF,
            left_lengths if widths[1] else None,
            is_of_words=is_of_words,
        )
    except VocabularyError as error:
        raise _corrupt(source, f"contains no vocabulary: {error}") from error


def sha256(data: bytes | memoryview) -> bytes:
    """Return the digest."""
    import hashlib  # loads a library that a count does not need

    return hashlib.sha256(data).digest()


def _inflate(stream: memoryview, size: int, source: str) -> bytes:
    """Decompress a stream that must hold exactly `size` bytes."""
    if size > len(stream) * _DEFLATE_MAX_RATIO:
        raise _corrupt(source, f"claims {size} bytes in a stream of {len(stream)}")
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(stream, size + 1)
    except zlib.error as error:
        raise _corrupt(source, f"does not decompress: {error}") from error
    if len(data) != size or not inflater.eof or inflater.unused_data:
        raise _corrupt(source, f"has a stream of another size than {size} bytes, decompressed")
    return data


def _split(arrays: bytes, token_count: int, widths: list[int]) -> list[NDArray[Any]]:
    """View the concatenated arrays; one of width 0 is empty."""
    views: list[NDArray[Any]] = []
    start = 0
    for width in widths:
        count = token_count if width else 0
        views.append(np.frombuffer(arrays, f"<u{width or 1}", count, start))
        start += count * width
    return views


def _corrupt(source: str, what: str) -> CorruptDataError:
    return CorruptDataError(
        f"{source} {what}; the file is damaged: reinstall cutline "
        "(pip install --force-reinstall cutline)"
    )
