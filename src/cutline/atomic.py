"""Atomic writing of files."""

import os
from binascii import crc32
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

__all__ = ["remove_abandoned", "replace_file", "replacing"]

_BUFFER_BYTES = 1 << 18  # a third of the time of small ones, for rows of kilobytes


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file under a temporary name in the same folder, then rename it into place.

    A reader of the path sees the old file or the new one, even if writing is interrupted.
    An existing file keeps its permissions, and a symbolic link keeps pointing to it.
    The file can be read back before it is in place.
    """
    target = Path(path).resolve()
    temporary = target.with_name(f"{_prefix(target)}{os.urandom(8).hex()}.tmp")
    try:
        # Opened inside `try`: Ctrl-C may come as soon as the file exists.
        with _held(temporary) as sink:
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


def remove_abandoned(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files for a path whose writers were killed; none that is written."""
    target = Path(path).resolve()
    with suppress(OSError):
        for left in target.parent.glob(f"{_prefix(target)}*.tmp"):
            with suppress(OSError):
                if fcntl is None:
                    left.unlink()  # fails while it is open, here or elsewhere
                    continue
                with left.open("rb") as file:
                    _lock(file, wait=False)
                    left.unlink()


def _prefix(target: Path) -> str:
    """Return the beginning of the temporary names for a file: hidden, and short."""
    return f".cutline-{crc32(os.fsencode(target.name)):08x}-"


def _held(temporary: Path) -> BinaryIO:
    """Make a file that `remove_abandoned` leaves alone while it is open."""
    while True:
        sink = temporary.open("x+b", buffering=_BUFFER_BYTES)
        with suppress(OSError):  # no locks on this file system
            _lock(sink, wait=True)
        if temporary.exists():  # not removed before it was locked
            return sink
        sink.close()


def _lock(file: BinaryIO, *, wait: bool) -> None:
    """Lock a file as long as it is open.

    Raises:
        OSError: another process has locked it, and this one is not to wait.
    """
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


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
