"""Modules that are imported on first use: most programs count, and count without numpy."""

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

__all__ = ["Late", "numpy"]


class Late:
    """A module that is imported on first use; each name is looked up once.

    Args:
        module: its name.
        apart: an interrupt must not end its import; see `_import_apart`.
    """

    def __init__(self, module: str, *, apart: bool = False) -> None:
        self._module = module
        self._apart = apart

    def __getattr__(self, name: str) -> Any:
        if self._apart and self._module not in sys.modules:
            _import_apart(self._module)
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)
        return found


def _import_apart(module: str) -> None:
    """Import in a thread of its own, where no handler of a signal can raise.

    Of a module whose import was interrupted half would stay, and compiled ones load only once.
    """
    from threading import Thread

    def work() -> None:
        with suppress(Exception):  # who imports it next gets the error
            import_module(module)

    # No thread starts while the interpreter ends, or where there are none.
    with suppress(RuntimeError):
        thread = Thread(target=work)
        thread.start()
        thread.join()


numpy: Any = Late("numpy", apart=True)
