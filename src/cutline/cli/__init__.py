"""The command line: `cutline chunk|count|decode|encode|encodings|train|truncate|view`."""

from cutline.cli import chunks, counts, training, truncation, views  # noqa: F401 (add commands)
from cutline.cli.commands import main

__all__ = ["main"]
