"""Where targets put the files of an input: one folder a process, in memory where there is one.

To make and remove a folder for each input would take longer than all that is checked.
"""

import tempfile
from functools import cache
from pathlib import Path

MEMORY = Path("/dev/shm")


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    parent = MEMORY if MEMORY.is_dir() else None
    return tempfile.TemporaryDirectory(prefix="cutline-fuzz-", dir=parent)


def scratch(name: str) -> Path:
    """Return the path of a file that the next input writes anew."""
    return Path(_folder().name, name)
