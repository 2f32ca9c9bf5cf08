"""The content of a file, compressed or not: blocks of bytes, blocks of UTF-8, lines."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cutline.errors import SourceError
from cutline.extras import need
from cutline.kernels.base.utf8 import valid_bytes

__all__ = [
    "BLOCK_BYTES",
    "MAX_LINE_BYTES",
    "FileReader",
    "character_start",
    "invalid_utf8",
    "kind_of",
]

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 27
"""Of JSON Lines. A line is held in memory: without a limit, a small packed file could fill it."""
_GZIP_SUFFIXES = (".gz",)
_ZSTD_SUFFIXES = (".zst", ".zstd")
# One byte of zstd can expand to 32 kB: small reads bound the memory on hostile files.
_ZSTD_INPUT_BYTES = 1 << 12
# The window of `zstd --long=31`; the default limit is 2**27.
_ZSTD_WINDOW_BYTES = 1 << 31


def kind_of(path: Path) -> tuple[str, str]:
    """Return the suffix of a file's content, in lower case, and that of the compression, or "".

    >>> kind_of(Path("a.JSONL.gz"))
    ('.jsonl', '.gz')
    """
    *_, kind, packing = ("", "", *(suffix.lower() for suffix in path.suffixes))
    return (kind, packing) if packing in _GZIP_SUFFIXES + _ZSTD_SUFFIXES else (packing, "")


class FileReader:
    """A file's content, decompressed if its name ends in .gz, .zst or .zstd.

    Args:
        path: the file.
        block_bytes: the size of a read.

    Attributes:
        kind: the suffix of the content, in lower case, without that of the compression.
        bytes_read: the bytes of the file on disk that were read so far.

    Raises:
        ImportError: `zstandard` is needed and not installed.
    """

    def __init__(self, path: Path, block_bytes: int = BLOCK_BYTES) -> None:
        self.path = path
        self.kind, self.packing = kind_of(path)
        if self.packing in _ZSTD_SUFFIXES:
            need("zstandard", f"reading {path}", "zstd")
        self.bytes_read = 0
        self._block_bytes = block_bytes

    def blocks(self) -> Iterator[bytes]:
        """Yield the content, a block at a time.

        Raises:
            OSError: the file cannot be opened or read.
            SourceError: (a ValueError) compressed content is damaged or truncated.
        """
        with self.path.open("rb") as file:
            unpacked: Iterator[bytes]
            if self.packing in _GZIP_SUFFIXES:
                unpacked = self._gzip_blocks(file)
            elif self.packing in _ZSTD_SUFFIXES:
                unpacked = self._zstd_blocks(file)
            else:
                unpacked = iter(lambda: file.read(self._block_bytes), b"")
            for block in unpacked:
                self.bytes_read = file.tell() if file.seekable() else 0
                yield block

    def _gzip_blocks(self, file: BinaryIO) -> Iterator[bytes]:
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                while block := unpacked.read(self._block_bytes):
                    yield block
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self._damaged("gzip", error) from error

    def _zstd_blocks(self, file: BinaryIO) -> Iterator[bytes]:
        import zstandard

        gathered = bytearray()
        try:
            for part in _zstd_parts(file):
                gathered += part
                if len(gathered) >= self._block_bytes:
                    yield bytes(gathered)
                    gathered.clear()
        except (EOFError, zstandard.ZstdError) as error:
            raise self._damaged("zstd", error) from error
        if gathered:
            yield bytes(gathered)

    def _damaged(self, packing: str, error: Exception) -> SourceError:
        return SourceError(f"{self.path}: damaged or incomplete {packing} data: {error}")

    def utf8_blocks(self) -> Iterator[bytes]:
        """Yield the content, a block at a time, each of whole characters in valid UTF-8.

        Raises:
            OSError, SourceError: as `blocks`; or the content is not UTF-8.
        """
        offset, kept = 0, b""
        for block in self.blocks():
            data = kept + block if kept else block
            n_bytes = valid_bytes(data)
            offset, kept = offset + n_bytes, data[n_bytes:]
            if kept:
                self._check_beginning(kept, offset, final=False)
            if n_bytes:
                yield data[:n_bytes]
        self._check_beginning(kept, offset, final=True)

    def _check_beginning(self, data: bytes, offset: int, *, final: bool) -> None:
        """Refuse bytes that do not begin a character, or that end inside one."""
        try:
            codecs.utf_8_decode(data, "strict", final)
        except UnicodeDecodeError as error:
            raise invalid_utf8(str(self.path), error, offset) from error

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number, from 1, and the content of each line, without its newline.

        Raises:
            OSError, SourceError: as `blocks`; or a line is longer than `MAX_LINE_BYTES`.
        """
        return enumerate(self._lines(), start=1)

    def _lines(self) -> Iterator[bytes]:
        begun: list[bytes] = []
        n_begun = 0
        for block in self.blocks():
            *whole, rest = block.split(b"\n")
            if whole:
                yield b"".join((*begun, whole[0]))
                yield from whole[1:]
                begun, n_begun = [], 0
            begun.append(rest)
            n_begun += len(rest)
            if n_begun > MAX_LINE_BYTES:
                raise SourceError(
                    f"{self.path}: a line has more than {MAX_LINE_BYTES} bytes, beginning "
                    f"{b''.join(begun[:2])[:40]!r}; is each record on a line of its own?"
                )
        if last := b"".join(begun):
            yield last


def character_start(text: bytes, at: int) -> int:
    """Find the first position from `at` on where a UTF-8 character starts, or the end."""
    while at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return at


def invalid_utf8(place: str, error: UnicodeDecodeError, offset: int = 0) -> SourceError:
    """Build the error for invalid UTF-8; a note says what can be done in Python.

    Args:
        place: the file, and the place in it.
        error: the decoder's error.
        offset: the offset in `place` of the decoded bytes.
    """
    byte = error.object[error.start]
    invalid = SourceError(
        f"{place}: invalid utf-8 at byte offset {offset + error.start} (byte {byte:#04x}: "
        f"{error.reason}); convert it to utf-8"
    )
    invalid.add_note("or pass an iterator of texts decoded as you like")
    return invalid


def _zstd_parts(file: BinaryIO) -> Iterator[bytes]:
    """Decompress frame after frame.

    Raises:
        EOFError: the last frame is incomplete.
    """
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    frame = decompressor.decompressobj()
    is_begun = False
    while packed := file.read(_ZSTD_INPUT_BYTES):
        while packed:
            part = frame.decompress(packed)
            packed, is_begun = b"", True
            if frame.eof:
                packed, is_begun = frame.unused_data, False
                frame = decompressor.decompressobj()
            if part:
                yield part
    if is_begun:
        raise EOFError("the file ends inside a frame")
