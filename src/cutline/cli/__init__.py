"""The `cutline` command, on files, folders and standard input."""

from cutline.cli.commands import main

__all__ = ["main"]
