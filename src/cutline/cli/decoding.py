"""How the bytes of files become text."""

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import click

from cutline.checks import without_surrogates
from cutline.cli.declared import declared_codec
from cutline.errors import CutlineError
from cutline.kernels.base.utf8 import has_surrogates, valid_bytes

__all__ = ["InputError", "TextReader", "reads_text"]

_UTF8: Final = "utf-8"
_READ_BYTES: Final = 1 << 19
_CHARACTER_BYTES: Final = 4  # the longest in UTF-8
_MARK_BYTES: Final = 4  # the longest byte order mark
_HEAD_BYTES: Final = 8192
_BINARY: Final = {
    b"PAR1": "is Parquet, not text: `cutline chunk` and `cutline count` read the texts in one of "
    "its columns with --column NAME",
    b"\x1f\x8b": "is compressed by gzip: unpack it first, as `gzip -dc FILE` does",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd: unpack it first, as `zstd -dc FILE` does",
    b"PK\x03\x04": "is a zip archive, as documents of Office and EPUB are: extract its text first",
    b"%PDF-": "is a PDF document: extract its text first, as `pdftotext` does",
}
"""What a file is by its first bytes, and what to do."""
_NO_ROWS: Final = _BINARY | {
    b"PAR1": "is Parquet, which is read from a file whose name ends in .parquet"
}
# That of UTF-32 begins with that of UTF-16.
_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

Command = TypeVar("Command", bound=Callable[..., Any])


class InputError(CutlineError, ValueError):
    """An input with content that the command does not support."""


@dataclass(frozen=True)
class TextReader:
    """Reads texts.

    Attributes:
        encoding: the name of a codec; None: UTF-8, or UTF-16 or UTF-32 by their byte order mark,
            and what is none of these by the encoding that it declares.
        errors: "strict" or "replace", for bytes that are none of it.
    """

    encoding: str | None = None
    errors: str = "strict"

    def _codec_of(self, head: bytes) -> str:
        if self.encoding is not None:
            return self.encoding
        return next((codec for mark, codec in _MARKS.items() if head.startswith(mark)), _UTF8)

    def _codec_for(self, content: bytes) -> str:
        codec = self._codec_of(content[:_MARK_BYTES])
        if self.encoding is None and codec == _UTF8 and valid_bytes(content) < len(content):
            return declared_codec(content[:_HEAD_BYTES]) or codec
        return codec

    def is_binary(self, head: bytes) -> bool:
        """Return whether a file's first bytes are no text: as for grep and git, by a NUL.

        In UTF-16 and UTF-32, letters have them.
        """
        codec = codecs.lookup(self._codec_of(head)).name
        return b"\0" in head and not codec.startswith(("utf-16", "utf-32"))

    def text(self, content: bytes) -> str:
        r"""Decode a file's content; line ends stay as they are, and so does UTF-8's mark.

        Raises:
            InputError: the content is not in the encoding, and `errors` is "strict".

        >>> TextReader().text(b"a\r\n\xef\xbb\xbf"), TextReader("latin-1").text(b"\xff")
        ('a\r\n\ufeff', '\xff')
        >>> TextReader(errors="replace").text(b"a\xff"), TextReader().text("a".encode("utf-16"))
        ('a\ufffd', 'a')
        """
        codec = self._codec_for(content)
        try:
            text = content.decode(codec, self.errors)
        except UnicodeDecodeError as error:
            if self.encoding is None and codec != _UTF8:
                codec += ", which the file declares,"
            raise _wrong_bytes(error, 0, content[:_HEAD_BYTES], codec) from error
        except UnicodeError as error:  # of other codecs: no mark where there must be one, say
            raise InputError(f"the file is not in {self.encoding}: {error}") from error
        if codec == _UTF8 or not has_surrogates(text):  # which utf-7 may write, say
            return text
        if self.errors == "replace":
            return without_surrogates(text)
        raise InputError(
            f"the file has a lone surrogate in {codec}, which no UTF-8 has: pass --errors replace "
            "to read it as U+FFFD"
        )

    def utf8(self, content: bytes) -> bytes:
        r"""Return a file's content as valid UTF-8: `text`, mostly without the str.

        Raises:
            InputError: as `text`.

        >>> TextReader(errors="replace").utf8(b"a\xff").decode()
        'a\ufffd'
        """
        is_utf8 = self._codec_of(content[:_MARK_BYTES]) == _UTF8
        if is_utf8 and valid_bytes(content) == len(content):
            return content
        return self.text(content).encode()

    def reads_blocks(self, path: Path) -> bool:
        """Return whether a file can be read by `utf8_blocks`.

        Raises:
            OSError: it cannot be read.
        """
        if self.errors != "strict":
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if self.encoding is None and declared_codec(head) is not None:
            return False
        return self._codec_of(head) == _UTF8

    def utf8_blocks(self, path: Path) -> Iterator[bytes]:
        """Yield a file's content in blocks, each of whole characters in UTF-8.

        Raises:
            InputError: it is not UTF-8, with the message of `text`.
            OSError: it cannot be read.
        """
        done, rest, head = 0, b"", b""
        with path.open("rb", buffering=0) as file:
            while read := file.read(_READ_BYTES):
                head = head or read[:_HEAD_BYTES]
                block = rest + read
                n_valid = valid_bytes(block)
                done, rest = done + n_valid, block[n_valid:]
                if len(rest) >= _CHARACTER_BYTES:
                    break  # no character whose end comes later
                if n_valid:
                    yield block[:n_valid] if rest else block
        try:
            rest.decode()
        except UnicodeDecodeError as error:
            raise _wrong_bytes(error, done, head, _UTF8) from error

    def beginning(self, file: BinaryIO, is_enough: Callable[[str], bool]) -> str | None:
        """Read a file in parts until they are enough; a pipe as its bytes come.

        Args:
            file: the file, at its beginning.
            is_enough: gets each part of the text, in order, the last one at the file's end.

        Returns:
            None; or the text of the whole file, where parts of it cannot be decoded alone.

        Raises:
            InputError: as `text`, for the bytes that were read.
        """
        read: Callable[[int], bytes] = getattr(file, "read1", file.read)
        blocks = [b""]
        while len(blocks[0]) < _HEAD_BYTES and (block := read(_READ_BYTES)):
            blocks[0] += block
        if (decoder := self._decoder_for(blocks[0])) is None:
            return self.text(blocks[0] + file.read())
        while True:
            block = blocks[-1]
            try:
                part = decoder.decode(block, not block)
            except UnicodeError:
                return self.text(b"".join(blocks))  # raises it, with the place in the file
            if has_surrogates(part):
                return self.text(b"".join([*blocks, file.read()]))
            if is_enough(part) or not block:
                return None
            blocks.append(read(_READ_BYTES))

    def _decoder_for(self, head: bytes) -> codecs.IncrementalDecoder | None:
        """Return what decodes a file in parts; None: its encoding depends on the whole."""
        if self.encoding is None and declared_codec(head) is not None:
            return None
        try:
            return codecs.getincrementaldecoder(self._codec_of(head[:_MARK_BYTES]))(self.errors)
        except LookupError:  # the codec has none
            return None

    def recoded(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        r"""Yield the content of a file of rows in UTF-8; where it says to be that, as it is.

        Raises:
            InputError: it is compressed, or Parquet; or it is not in the encoding, and `errors` is
                "strict".

        >>> b"".join(TextReader("latin-1").recoded(iter([b"a", b"\xe4"]))).decode()
        'aä'
        """
        first = b""
        while len(first) < _MARK_BYTES and (block := next(blocks, b"")):
            first += block
        for magic, what in _NO_ROWS.items():
            if first.startswith(magic):
                raise InputError(f"the file {what}")
        codec = self._codec_of(first[:_MARK_BYTES])
        if codec == _UTF8 and self.errors == "strict":
            yield from chain([first], blocks)
            return
        decoder = codecs.getincrementaldecoder(codec)(self.errors)
        done = 0
        try:
            for block in chain([first], blocks):
                yield decoder.decode(block).encode("utf-8", "surrogatepass")
                done += len(block)
            yield decoder.decode(b"", True).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            # The decoder had kept the beginning of a character.
            begun = max(done - len(decoder.getstate()[0]), 0)
            raise _wrong_bytes(error, begun, b"", codec) from error
        except UnicodeError as error:
            raise InputError(f"the file is not in {self.encoding}: {error}") from error


def _wrong_bytes(error: UnicodeDecodeError, offset: int, head: bytes, codec: str) -> InputError:
    """Build the error for invalid bytes at an offset of a file that begins with `head`."""
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            return InputError(f"the file {what}")
    if codec == _UTF8 and b"\0" in head:
        return InputError(
            "the file is binary, not text: there is a NUL in its first bytes, and "
            f"{error.object[error.start]:#04x} at byte offset {offset + error.start}, which is not "
            "utf-8; --input-encoding names another encoding, such as utf-16-le"
        )
    advice = (
        "convert the file to utf-8, name its encoding, such as --input-encoding latin-1,"
        if codec == _UTF8
        else "name another --input-encoding,"
    )
    return InputError(
        f"invalid {codec} at byte offset {offset + error.start} (byte "
        f"{error.object[error.start]:#04x}: {error.reason}); {advice} "
        "or pass --errors replace to read such bytes as U+FFFD"
    )


def _codec(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    try:
        b"a".decode(value)  # of nothing, some codecs are not looked up
    except UnicodeError:
        pass  # it is one, in which this is no text
    except (LookupError, ValueError) as error:
        raise click.BadParameter(
            f"{value!r} is no encoding of text that Python knows, such as latin-1, cp1252, "
            "utf-16 or shift_jis"
        ) from error
    return codecs.lookup(value).name


_input_encoding = click.option(
    "--input-encoding",
    metavar="NAME",
    callback=_codec,
    help="How the files are encoded, such as latin-1, cp1252 or utf-8-sig (which leaves out a "
    "byte order mark).  [default: utf-8, or utf-16 or utf-32 by their byte order mark; what is "
    "none of these, as it declares: <meta charset>, <?xml encoding>, coding: in a comment]",
)
_errors = click.option(
    "--errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    help="Bytes that are not in the encoding, and lone surrogates in rows: refuse the file or the "
    "row, or read them as U+FFFD.",
)


def reads_text(command: Command) -> Command:
    """Add --input-encoding and --errors; the command gets them as `reader`."""

    @wraps(command)
    def with_reader(*, input_encoding: str | None, errors: str, **values: Any) -> Any:
        return command(reader=TextReader(input_encoding, errors), **values)

    wrapped: Any = _input_encoding(_errors(with_reader))
    return wrapped  # type: ignore[no-any-return]
