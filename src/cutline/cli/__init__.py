"""The command line: `cutline chunk|count|encode|decode|encodings`."""

from cutline.cli.commands import main

__all__ = ["main"]
