"""The standard streams, which a process can also be started without."""

import errno
import os
import sys
from typing import BinaryIO, Literal, TextIO


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
    """Whether a person sees what is written to `stream`."""
    return stream is not None and stream.isatty()


def writes_to_terminal(output: str) -> bool:
    """Whether a person sees what is written to `output`, "-" for stdout."""
    return output == "-" and is_terminal(sys.stdout)


def abandon_stdout() -> None:
    """Send what stdout still buffers to nowhere.

    After a failed write the interpreter would try again at exit, fail again
    and print a second message.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
