"""The standard streams, which may be missing when a process starts."""

import errno
import os
import sys
from typing import BinaryIO, Final, Literal, TextIO

STDIN: Final = "-"


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
