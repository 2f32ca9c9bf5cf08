"""Optional packages: imported when needed, with an error that says how to install them."""

from importlib import import_module
from typing import Any

__all__ = ["need"]


def need(module: str, what: str, extra: str) -> Any:
    """Import a module that an extra installs.

    Args:
        module: its dotted name.
        what: what needs it, for the error.
        extra: the extra's name.

    Raises:
        ImportError: it is not installed; says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise ImportError(
            f"{what} needs the package {package}: pip install 'cutline[{extra}]'"
        ) from error
