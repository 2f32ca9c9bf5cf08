"""The command line: `cutline chunk|count|decode|encode|encodings|train`."""

from cutline.cli import training  # noqa: F401 (adds its command)
from cutline.cli.commands import main

__all__ = ["main"]
