"""`Stretch`: a part of a text that is cut by itself."""

from typing import Final, NamedTuple

__all__ = ["END", "Stretch"]

END: Final = "end"
"""The name of the boundary at the end of a text."""


class Stretch(NamedTuple):
    """A half-open span in code points; `end_name` is the name of the boundary at its end."""

    start: int
    end: int
    end_name: str
