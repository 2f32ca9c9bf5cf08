"""Counting slices of a text and growing texts; cutting and truncating."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutline.counting import cutting, limits, together, truncating
    from cutline.counting.appender import Appender
    from cutline.counting.intervals import IntervalCounter
    from cutline.counting.prepender import Prepender

__all__ = [
    "Appender",
    "IntervalCounter",
    "Prepender",
    "cutting",
    "limits",
    "together",
    "truncating",
]

# Imported when first asked for: few programs need more than one of them.
_LATE = {"Appender": "appender", "IntervalCounter": "intervals", "Prepender": "prepender"}
_MODULES = ("cutting", "limits", "together", "truncating")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    return found
