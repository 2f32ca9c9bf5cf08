"""Making levels from users' arguments: names, patterns and functions."""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from cutline.chunking.levels import (
    BreakLevel,
    CharacterLevel,
    EntryLevel,
    FunctionLevel,
    GraphemeLevel,
    Level,
    LineLevel,
    Lines,
    ParagraphLevel,
    PatternLevel,
    PhraseLevel,
    SentenceLevel,
    WholeGraphemes,
    WordLevel,
)
from cutline.errors import shown

if TYPE_CHECKING:
    import regex

__all__ = ["LevelLike", "level_as_given", "make_levels"]

LevelLike: TypeAlias = (
    "str | re.Pattern[str] | regex.Pattern[str] | Callable[[str], Iterable[int]] | Level"
)

_FINEST: Final = ("grapheme", "character")


def _dictionary_words() -> Level:
    from cutline.chunking.dictionary_words import DictionaryWordLevel  # takes an extra

    return DictionaryWordLevel()


_LINES: Final = ("auto", "keep", "join")
_BY_LINES: Final = {"entry": EntryLevel, "line": LineLevel, "sentence": SentenceLevel}
_BY_NAME: Final[dict[str, Callable[[], Level]]] = {
    "paragraph": ParagraphLevel,
    **_BY_LINES,
    "phrase": PhraseLevel,
    "word": WordLevel,
    "dictionary word": _dictionary_words,
    "grapheme": GraphemeLevel,
    "character": CharacterLevel,
}


def make_levels(
    levels: Sequence[LevelLike], boundary: str, lines: Lines = "auto"
) -> tuple[Level, ...]:
    """Make levels from names, patterns and functions; characters always come last.

    Args:
        levels: the best first: names, compiled regular expressions, or functions.
        boundary: "grapheme" keeps graphemes whole unless one has more tokens than the budget;
            or "character".
        lines: which line ends only wrap the text, for the levels "entry", "line" and "sentence".

    Raises:
        TypeError, ValueError: an item is none of these.
        ImportError: "dictionary word" needs an extra: pip install 'cutline[icu]'.

    >>> [level.name for level in make_levels(["paragraph", re.compile("; ")], "character")]
    ['paragraph', '; ', 'character']
    """
    if isinstance(levels, str):
        raise TypeError(f"levels must be several, got one str, {shown(levels)}: put it into a list")
    if not isinstance(levels, Iterable):
        raise TypeError(f"levels must be several, in a list, got {shown(levels)}")
    if boundary not in _FINEST:
        raise ValueError(f"boundary must be 'grapheme' or 'character', got {shown(boundary)}")
    if lines not in _LINES:
        raise ValueError(f"lines must be 'auto', 'keep' or 'join', got {shown(lines)}")
    made = [_make_level(level, lines) for level in levels if level not in _FINEST]
    if boundary == "grapheme":
        made = [level if isinstance(level, BreakLevel) else WholeGraphemes(level) for level in made]
    finest = _FINEST if boundary == "grapheme" else _FINEST[1:]
    return (*made, *(_BY_NAME[name]() for name in finest))


def _make_level(level: LevelLike, lines: Lines) -> Level:
    if isinstance(level, Level):
        return level
    if isinstance(level, str):
        if level not in _BY_NAME:
            known = ", ".join(map(repr, _BY_NAME))
            raise ValueError(
                f"there is no level {shown(level)}: there are {known}; for a regular expression "
                "pass re.compile(...)"
            )
        return _BY_LINES[level](lines) if level in _BY_LINES else _BY_NAME[level]()
    if _is_pattern(level):
        if isinstance(level.pattern, bytes):
            raise TypeError(f"the pattern of a level must be str, got bytes {level.pattern!r}")
        return PatternLevel(level.pattern, level)
    if callable(level):
        return FunctionLevel(getattr(level, "__name__", type(level).__name__), level)
    raise TypeError(
        "a level must be a name, a compiled regular expression or a function, "
        f"got {type(level).__name__}"
    )


def level_as_given(level: Level, lines: Lines) -> LevelLike:
    """Return what `make_levels` makes a level of: a name, a pattern or a function, if it can be."""
    given = level._level if isinstance(level, WholeGraphemes) else level
    found: LevelLike = given
    if given.name in _BY_NAME:
        found = given.name
    elif isinstance(given, PatternLevel):
        found = given._pattern
    elif isinstance(given, FunctionLevel):
        found = given._function
    return found if _make_level(found, lines) == given else given


def _is_pattern(level: Any) -> "TypeGuard[re.Pattern[str] | regex.Pattern[str]]":
    # A module that is not loaded has made no pattern.
    other = getattr(sys.modules.get("regex"), "Pattern", re.Pattern)
    return isinstance(level, (re.Pattern, other))
