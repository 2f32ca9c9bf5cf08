"""Files that appear whole or not at all."""

import os
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write a file under a temporary name beside it, then rename it into place.

    Whoever reads the path gets the old file or the new one, whatever stops the writing.
    An existing file keeps its permissions, and a symbolic link goes on leading to it.

    Raises:
        OSError: names the path that cannot be written.
    """
    target = Path(path).resolve()
    temporary = target.with_name(f".{target.name}-{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as sink:
            sink.write(data)
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # The temporary name tells a user nothing.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
