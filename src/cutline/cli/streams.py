"""The standard streams, which may be missing, unbuffered or non-blocking when a process starts."""

import errno
import os
import sys
from io import BufferedReader, BufferedWriter, FileIO, RawIOBase, TextIOWrapper
from typing import Any, BinaryIO, Final, Literal, TextIO

STDIN: Final = "-"


class _Whole(RawIOBase):
    """A file that writes all that it is given, and waits where a non-blocking one would not.

    `python -u` makes a standard stream's buffer a `FileIO`, whose `write` can take a part alone,
    as on a disk that fills up. A non-blocking one, as processes that share a terminal or a socket
    leave it, can take or have nothing at all: both are None there.
    """

    def __init__(self, file: FileIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return self._file.readable()

    def writable(self) -> bool:
        return self._file.writable()

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()

    def readinto(self, buffer: Any) -> int:
        n_bytes: int | None
        while (n_bytes := self._file.readinto(buffer)) is None:
            self._wait()
        return n_bytes

    def write(self, content: Any) -> int:
        rest = memoryview(content).cast("B")
        n_bytes = len(rest)
        while rest:
            n_written: int | None = self._file.write(rest)
            if n_written is None:
                self._wait()
            else:
                rest = rest[n_written:]
        return n_bytes

    def _wait(self) -> None:
        """Wait until there is something to read, or room to write, or an error to raise."""
        from select import select

        select([self] if self.readable() else [], [self] if self.writable() else [], [])


def make_whole() -> None:
    """Let no read or write of the standard streams end early, however the process was started."""
    for name in ("stdin", "stdout"):
        stream = getattr(sys, name)
        buffer = getattr(stream, "buffer", None)
        file = getattr(buffer, "raw", buffer)
        if not isinstance(file, FileIO):
            continue  # missing, a console of Windows, or what a test has put there
        whole: Any = _Whole(file)
        if name == "stdin":
            whole = BufferedReader(whole)
        elif buffer is not file:
            whole = BufferedWriter(whole)
        replaced = TextIOWrapper(
            whole,
            stream.encoding,
            stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, replaced)


def binary_stream(name: Literal["stdin", "stdout"]) -> BinaryIO:
    """Return standard input or output as bytes.

    Raises:
        OSError: it was closed before the program started, as by `>&-` in a shell.
    """
    stream: TextIO | None = getattr(sys, name)
    if stream is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return stream.buffer


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal."""
    return stream is not None and stream.isatty()


def writes_to_terminal(output: str) -> bool:
    """Whether `output`, "-" for stdout, is a terminal."""
    return output == "-" and is_terminal(sys.stdout)


def abandon_stdout() -> None:
    """Discard what stdout still buffers.

    After a failed write the interpreter would try again at exit, fail again
    and print a second message.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
