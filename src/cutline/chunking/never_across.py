"""`Barriers`: the places in a text that no chunk crosses, such as its chapters or pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Final, TypeAlias

from cutline.chunking.level_choice import make_levels
from cutline.chunking.levels import Level, Lines, PatternLevel
from cutline.chunking.outline import Outline
from cutline.chunking.stretch import END, Stretch
from cutline.errors import shown

if TYPE_CHECKING:
    import regex

__all__ = ["Barriers", "NeverAcross", "barrier_names", "make_barriers"]

NeverAcross: TypeAlias = (
    "str | Sequence[int] | re.Pattern[str] | regex.Pattern[str] | Callable[[str], Iterable[int]]"
    " | None"
)

PAGE: Final = "page"
_OFFSETS: Final = "limit"
_OF_TEXTS: Final = ("paragraph", "entry", "line", "sentence")


class Barriers:
    """Where a text is divided into stretches that are cut apart.

    Args:
        given: what the caller gave: a name, offsets, a pattern or a function.
        name: the name of the boundary at the end of a chunk that ends there.
        places: finds the offsets in a text, in any order; those that are not inside it are
            ignored.
    """

    def __init__(
        self,
        given: NeverAcross,
        name: str,
        places: Callable[[str, Outline], Iterable[int]],
    ) -> None:
        self.given: Final = given
        self.name: Final = name
        self._places = places

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Barriers) and self.given == other.given

    def __hash__(self) -> int:
        return hash(self.given)

    def stretches(self, text: str, outline: Outline) -> Iterator[Stretch]:
        """Yield the stretches of a text with some structure; an empty text is one.

        Raises:
            ValueError, TypeError: the caller's offsets are none of this text.
        """
        for start, end in pairwise(self.places(text, outline)):
            yield Stretch(start, end, self.name if end < len(text) else END)

    def places(self, text: str, outline: Outline) -> list[int]:
        """Return the ends of a text, and the barriers in it: see `stretches`."""
        length = len(text)
        inside = {place for place in self._places(text, outline) if 0 < place < length}
        return [0, *sorted(inside), length]


def barrier_names(names: Sequence[str]) -> list[str]:
    """Return the names that barriers can have in texts whose structure has levels of some names."""
    return list(dict.fromkeys((*names, PAGE, *_OF_TEXTS)))


def make_barriers(given: NeverAcross, names: Sequence[str], lines: Lines) -> Barriers | None:
    """Make the barriers that a caller asked for.

    Args:
        given: the name of a level of the structure; "page", "paragraph", "entry", "line" or
            "sentence"; offsets in code points; a compiled regular expression, at the ends of
            whose matches the barriers are; or a function from a text to offsets in it.
        names: the levels of the structure.
        lines: which line ends only wrap the text.

    Raises:
        TypeError, ValueError: it is none of these.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given in names:
            return Barriers(given, given, _OfStructure(given))
        if given == PAGE:
            return Barriers(given, given, _OfLevel(PatternLevel(PAGE, re.compile("\f"))))
        if given not in _OF_TEXTS:
            known = ", ".join(map(repr, barrier_names(names)))
            raise ValueError(
                f"never_across cannot be {shown(given)}: there are {known}; otherwise pass "
                "offsets, a compiled regular expression, or a function from a text to offsets in it"
            )
    elif not (callable(given) or hasattr(given, "finditer")):
        offsets = _checked(given)
        return Barriers(offsets, _OFFSETS, _Offsets(offsets))
    level, *_ = make_levels((given,), "character", lines)
    return Barriers(given, level.name, _OfLevel(level))


def _checked(given: object) -> tuple[int, ...]:
    try:
        if isinstance(given, (bytes, bytearray)):
            raise TypeError(f"got {type(given).__name__}")
        found = tuple(index(offset) for offset in given)  # type: ignore[attr-defined]
    except TypeError as error:
        raise TypeError(
            "never_across must be one name, offsets (integers), a compiled regular expression or "
            f"a function: {error}"
        ) from None
    if any(offset < 0 for offset in found):
        raise ValueError(f"offsets of never_across must be 0 or more, got {shown(min(found))}")
    return found


# Classes, not closures: chunkers are pickled.


class _OfStructure:
    """The cuts of a level of the structure."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, text: str, outline: Outline) -> Iterable[int]:
        return outline.cuts(self._name)


class _OfLevel:
    """The boundaries of a level in the whole text."""

    def __init__(self, level: Level) -> None:
        self._level = level

    def __call__(self, text: str, outline: Outline) -> Iterable[int]:
        return self._level.every(text, 0, 0, len(text))


class _Offsets:
    """The same offsets in each text."""

    def __init__(self, offsets: tuple[int, ...]) -> None:
        self._offsets = offsets

    def __call__(self, text: str, outline: Outline) -> Iterable[int]:
        if max(self._offsets, default=0) > len(text):
            raise ValueError(
                f"never_across has the offset {max(self._offsets)}, and the text has {len(text)} "
                "characters: for texts of different lengths pass a function"
            )
        return self._offsets
