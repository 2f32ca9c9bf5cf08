"""Optional packages: imported when needed, with an error that says how to install them."""

from importlib import import_module
from typing import Any

__all__ = ["check", "need"]


def check(package: str, what: str, extra: str) -> None:
    """Check, as `need`, that a package is installed, but leave its import for later."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ImportError(_hint(package, what, extra))


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
        raise ImportError(_hint(module, what, extra)) from error


def _hint(module: str, what: str, extra: str) -> str:
    package = module.partition(".")[0].replace("_", "-")
    return f"{what} needs the package {package}: pip install 'cutline[{extra}]'"
