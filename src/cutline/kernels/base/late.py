"""Modules that are imported on first use: most programs count, and count without numpy."""

from importlib import import_module
from typing import Any

__all__ = ["Late", "numpy"]


class Late:
    """A module that is imported on first use; each name is looked up once."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)
        return found


numpy: Any = Late("numpy")
