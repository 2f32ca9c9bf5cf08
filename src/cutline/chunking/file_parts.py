"""The parts of a text in a file, which is read in blocks."""

import os
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Final

__all__ = ["file_parts"]

_READ_BYTES: Final = 1 << 20


class _WrongByteError(UnicodeDecodeError):
    """Of a file that is read in blocks: `start` is an offset in one, the message has the file's."""

    message = ""

    def __str__(self) -> str:
        return self.message


def file_parts(path: os.PathLike[str]) -> Iterator[str]:
    """Yield the text of a file in UTF-8, in parts.

    Raises:
        UnicodeDecodeError: it is not; says at which byte of the file.
        OSError: it cannot be read.
    """
    decoder = getincrementaldecoder("utf-8")()
    n_bytes = 0
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (loads pathlib)
        while True:
            block = file.read(_READ_BYTES)
            n_bytes += len(block)
            try:
                part = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                wrong = _WrongByteError(*error.args)
                offset = n_bytes - len(error.object) + error.start
                wrong.message = (
                    f"{os.fspath(path)}: invalid utf-8 at byte offset {offset} (byte "
                    f"{error.object[error.start]:#04x}: {error.reason}); pass parts decoded as you "
                    "like, such as open(..., errors='replace', newline='')"
                )
                raise wrong from None
            if part:
                yield part
            if not block:
                return
