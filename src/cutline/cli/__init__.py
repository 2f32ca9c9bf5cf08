"""The `cutline` command, on files, folders and standard input."""

from cutline.cli import chunks, counts, training, truncation, views  # noqa: F401 (add commands)
from cutline.cli.commands import main

__all__ = ["main"]
