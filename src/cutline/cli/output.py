"""Writing the output: to stdout, or atomically to a file."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from cutline.atomic import remove_abandoned, replacing
from cutline.cli.failure import Failure, message_of
from cutline.cli.streams import abandon_stdout, binary_stream

STDOUT = "-"
_CLOSED_PIPE = errno.EINVAL if os.name == "nt" else errno.EPIPE


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """Open stdout ("-") or a file for writing bytes.

    Raises:
        Failure: it cannot be opened or written; names it.
        BrokenPipeError: the reader of a pipe has gone.
    """
    try:
        with _stdout() if path == STDOUT else _file(Path(path)) as sink:
            yield sink
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if path == STDOUT else click.format_filename(path)
        raise Failure(f"{name}: {message_of(error)}") from error


@contextmanager
def _stdout() -> Iterator[BinaryIO]:
    sink = binary_stream("stdout")
    try:
        yield sink
        sink.flush()
    except OSError as error:
        abandon_stdout()
        if error.errno == _CLOSED_PIPE:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from error
        raise


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    """Write under a temporary name next to `path`, then rename it."""
    target = path.resolve()
    if _is_device(path) or (target.exists() and not target.is_file()):
        # A rename would replace a device or a named pipe by a file. Append mode: /dev/stdout may
        # be a file with content.
        with path.open("ab") as sink:
            yield sink
        return
    remove_abandoned(target)
    with replacing(target) as sink:
        yield sink


def _is_device(path: Path) -> bool:
    """Return whether a path is a device, even one such as /dev/stdout that leads to a file."""
    return path.absolute().parts[:2] in (("/", "dev"), ("/", "proc"))
