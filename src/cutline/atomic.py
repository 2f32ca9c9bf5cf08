"""Atomic writing of files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["replace_file", "replacing"]

_BUFFER_BYTES = 1 << 18  # a third of the time of small ones, for rows of kilobytes


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file under a temporary name in the same folder, then rename it into place.

    A reader of the path sees the old file or the new one, even if writing is interrupted.
    An existing file keeps its permissions, and a symbolic link keeps pointing to it.
    The file can be read back before it is in place.
    """
    target = Path(path).resolve()
    temporary = target.with_name(f".cutline-{os.urandom(8).hex()}.tmp")
    try:
        # Opened inside `try`: Ctrl-C may come as soon as the file exists.
        with temporary.open("x+b", buffering=_BUFFER_BYTES) as sink:
            yield sink
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            # The temporary name means nothing to a user.
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file as `replacing` does.

    Raises:
        OSError: names the path that cannot be written.
    """
    try:
        with replacing(path) as sink:
            sink.write(data)
    except OSError as error:
        # The temporary name means nothing to a user.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
