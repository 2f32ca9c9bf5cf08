"""Where may a text be cut? Paragraphs, lines, sentences, words, graphemes, characters.

A level finds boundaries near a place, and looks at no text before the chunk's start nor far
behind the place: so a chunk does not depend on what lies further away, and a text that comes
in parts is cut like the whole.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from itertools import accumulate, takewhile
from operator import index
from types import ModuleType
from typing import Final, TypeAlias
from unicodedata import category

import regex
from bitarray import bitarray

from cutline.kernels.breaks import (
    CHARACTER,
    LINE,
    PARAGRAPH,
    SENTENCE,
    find_breaks,
    find_last_break,
)

__all__ = [
    "LOOK_AHEAD",
    "BreakLevel",
    "CharacterLevel",
    "FunctionLevel",
    "GraphemeLevel",
    "Level",
    "LevelLike",
    "LineLevel",
    "MarkLevel",
    "ParagraphLevel",
    "PatternLevel",
    "SentenceLevel",
    "WordLevel",
    "make_levels",
]

LOOK_AHEAD: Final = 256
"""Characters behind a place that may be looked at, to decide on a boundary there."""

_WIDER: Final = 4
_FIRST_WINDOW: Final = 40  # characters, of words
_WORD_LOOK_AHEAD: Final = 32

_GRAPHEME: Final = regex.compile(r"\X")
# What belongs to what stands before it.
_ATTACHED: Final = regex.compile(r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]")
# Between two of these there is always a boundary of graphemes: none of them joins another.
_APART: Final = regex.compile(r"\p{GCB=Other}(?=\p{GCB=Other})")
_OPENING: Final = ("Ps", "Pi")
_CLOSING: Final = ("Pe", "Pf", "Pd")
_CLOSING_MARKS: Final = ".,;:!?%…。、，．：；？！・ー々"
_PAIRS_REMEMBERED: Final = 1 << 14


class Level(ABC):
    """One kind of boundary.

    Attributes:
        name: what a chunk that is cut there says.
        is_vital: a finer level is only for texts that have no boundary of this one.
    """

    name: str
    is_vital = False

    @abstractmethod
    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield boundaries in text[start:end], rising, `end` among them, `start` not.

        Looks at text[start:limit] only.
        """

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last boundary b with after < b <= until; -1 if there is none.

        Args:
            text: the text.
            start: where the chunk starts; nothing before it counts.
            after: `start` or more, in code points.
            until: `after` or more.

        Cost: linear in the distance from start.
        """
        found = max(self.find(text, start, until, until + LOOK_AHEAD), default=-1)
        return found if found > after else -1

    def every(self, text: str, start: int, after: int, until: int) -> Sequence[int]:
        """List all boundaries b with after < b <= until; otherwise like `last`."""
        found = self.find(text, start, until, until + LOOK_AHEAD)
        return [place for place in found if place > after]


class PatternLevel(Level):
    """Boundaries at the ends of a regular expression's matches.

    Args:
        name: see `Level`.
        pattern: compiled, of `re` or `regex`. It is searched in a part of the text, from the
            start of a chunk at the earliest. A lookahead puts a boundary before something:
            `(?=^Chapter )`.
    """

    def __init__(self, name: str, pattern: "re.Pattern[str] | regex.Pattern[str]") -> None:
        self.name = name
        self._pattern = pattern

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield the ends of matches: see `Level`."""
        for match in self._pattern.finditer(text[start:limit]):
            place = start + match.end()
            if place > end:
                return
            if place > start:
                yield place


class BreakLevel(Level):
    """A level that a kernel finds: see `kernels/breaks.pyx`."""

    kind: int

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """List boundaries: see `Level`."""
        return find_breaks(text, self.kind, start, start, end)

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last boundary: see `Level`. Cost: linear in the distance to it."""
        return find_last_break(text, self.kind, start, after, until)

    def every(self, text: str, start: int, after: int, until: int) -> Sequence[int]:
        """List all boundaries: see `Level`."""
        return find_breaks(text, self.kind, start, after, until)


class ParagraphLevel(BreakLevel):
    """The ends of runs of blank lines."""

    name = "paragraph"
    kind = PARAGRAPH


class LineLevel(BreakLevel):
    """The ends of lines, but for those that only wrap a long paragraph.

    A line is taken for a wrapped one if it has 50 characters or more and neither it nor the
    next one has anything but letters and digits at the line end.
    """

    name = "line"
    kind = LINE


class SentenceLevel(BreakLevel):
    """The ends of sentences by UAX #29, but not behind abbreviations.

    Lines that only wrap are read as one.
    """

    name = "sentence"
    kind = SENTENCE


@cache
def _breakers() -> ModuleType:
    """Load ICU's, when they are first needed: 40 ms, for a library of 40 MB."""
    return import_module("icu4py.breakers")


class WordLevel(Level):
    """Boundaries of words by UAX #29, as ICU finds them with its dictionaries.

    No chunk begins with a closing bracket, a comma or the like, and none ends with an opening
    bracket, if another boundary is near.
    """

    name = "word"

    def find(self, text: str, start: int, end: int, limit: int) -> list[int]:
        """List boundaries of words: see `Level`; these, `_accepts` may refuse."""
        part = text[start : min(limit, end + _WORD_LOOK_AHEAD)]
        places = accumulate(map(len, _breakers().WordBreaker(part, "en")), initial=start)
        return [*takewhile(end.__ge__, places)][1:]

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last boundary: see `Level`. Cost: linear in the distance to it."""
        width, searched = _FIRST_WINDOW, until + 1
        while True:
            begin = until - width
            if begin - start < width:
                begin = start  # at once: a second look costs more
            for place in reversed(self.find(text, begin, until, until + LOOK_AHEAD)):
                if place <= begin:
                    break
                if after < place < searched and self._accepts(text, start, place):
                    return place
            if begin <= after:
                return -1
            # What the context of a later beginning refuses is refused again.
            searched = begin + 1
            width *= _WIDER

    def every(self, text: str, start: int, after: int, until: int) -> list[int]:
        """List all boundaries: see `Level`."""
        places = self.find(text, max(start, after - _FIRST_WINDOW), until, until + LOOK_AHEAD)
        return [place for place in places if place > after and self._accepts(text, start, place)]

    def _accepts(self, text: str, start: int, place: int) -> bool:
        """Refuse places before a closing mark or behind an opening one."""
        accepted = _accepts_between(text[place - 1 : place + 1])
        if accepted is not None:
            return accepted
        return GraphemeLevel().last(text, start, place - 1, place) == place


@lru_cache(_PAIRS_REMEMBERED)
def _accepts_between(pair: str) -> bool | None:
    """Tell whether a word may end between two characters; None: unless a grapheme goes on there.

    Of one character, the text's last, it may.
    """
    before, following = pair[0], pair[1:]
    if not following:
        return True
    if category(before) in _OPENING or category(following) in _CLOSING:
        return False
    if following in _CLOSING_MARKS:
        return False
    # Where letters of Hangul or flags follow signs that join them, a word ends in one.
    return True if before.isascii() or following.isascii() else None


class GraphemeLevel(Level):
    """Boundaries of grapheme clusters, what a reader takes for a character: UAX #29."""

    name = "grapheme"
    is_vital = True

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield boundaries of graphemes: see `Level`; `start` must be one."""
        part = text[start:limit]  # where a grapheme ends may depend on all before it
        matches = _GRAPHEME.finditer(part)
        if _ATTACHED.match(part):
            next(matches)  # a chunk begins inside of a grapheme: it may go on behind this
        for match in matches:
            if start + match.end() > end:
                return
            yield start + match.end()

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last boundary: see `Level`."""
        anchor = self._anchor(text, start, until)
        found = max(anchor, super().last(text, anchor, anchor, until))
        return found if found > after else -1

    def every(self, text: str, start: int, after: int, until: int) -> list[int]:
        """List all boundaries: see `Level`."""
        anchor = self._anchor(text, start, after)
        first = [anchor] if anchor > after else []
        return [*first, *super().every(text, anchor, after, until)]

    def _anchor(self, text: str, start: int, until: int) -> int:
        """Find a boundary near a place. In a run of flags or joined emoji none is, but `start`."""
        width = 16
        while (begin := until - width) > start:
            if found := _APART.search(text, begin, until):
                return int(found.end())
            width *= _WIDER
        return start


class CharacterLevel(BreakLevel):
    """Any place between two code points."""

    name = "character"
    kind = CHARACTER
    is_vital = True

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield all places: see `Level`."""
        return range(start + 1, end + 1)

    def every(self, text: str, start: int, after: int, until: int) -> range:
        """List all places: see `Level`."""
        return range(after + 1, until + 1)


class FunctionLevel(Level):
    """Boundaries that a function of the user's finds.

    Args:
        name: see `Level`.
        function: takes a text, the part from a chunk's start to behind its end, and gives
            offsets into it, in any order.
    """

    def __init__(self, name: str, function: Callable[[str], Iterable[int]]) -> None:
        self.name = name
        self._function = function

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield the function's offsets: see `Level`."""
        part = text[start:limit]
        marks = bitarray(len(part) + 1)
        for offset in self._offsets(part):
            if not 0 <= offset <= len(part):
                raise ValueError(
                    f"level {self.name!r} gave the offset {offset!r} for a text of {len(part)} "
                    "characters: offsets must lie in the text that the function is given"
                )
            marks[offset] = 1
        for offset in marks.search(1, 1, end - start + 1):
            yield start + offset

    def _offsets(self, part: str) -> list[int]:
        found = self._function(part)
        try:
            return [index(offset) for offset in found]
        except TypeError as error:
            raise TypeError(f"level {self.name!r} must give offsets, integers: {error}") from None


class MarkLevel(Level):
    """Boundaries that are known for the whole text.

    Args:
        name: see `Level`.
        marks: a bit for each place in the text and its end.
    """

    def __init__(self, name: str, marks: bitarray) -> None:
        self.name = name
        self._marks = marks

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield the places of marks: see `Level`."""
        return self._marks.search(1, start + 1, end + 1)

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last mark: see `Level`."""
        return int(self._marks.find(1, after + 1, until + 1, right=True))


LevelLike: TypeAlias = (
    "str | re.Pattern[str] | regex.Pattern[str] | Callable[[str], Iterable[int]] | Level"
)

_FINEST: Final = ("grapheme", "character")
_BY_NAME: Final[dict[str, Callable[[], Level]]] = {
    "paragraph": ParagraphLevel,
    "line": LineLevel,
    "sentence": SentenceLevel,
    "word": WordLevel,
    "grapheme": GraphemeLevel,
    "character": CharacterLevel,
}


def make_levels(levels: Sequence[LevelLike], boundary: str) -> tuple[Level, ...]:
    """Make levels of names, patterns and functions; characters always come last.

    Args:
        levels: the best first: names, compiled regular expressions, or functions.
        boundary: "grapheme": these stay whole but where one has more tokens than the budget;
            or "character".

    Raises:
        TypeError, ValueError: an item is none of these.

    >>> [level.name for level in make_levels(["paragraph", re.compile("; ")], "character")]
    ['paragraph', '; ', 'character']
    """
    if isinstance(levels, str):
        raise TypeError(f"levels must be several, got one str, {levels!r}: put it into a list")
    if boundary not in _FINEST:
        raise ValueError(f"boundary must be 'grapheme' or 'character', got {boundary!r}")
    made = [_make_level(level) for level in levels if level not in _FINEST]
    finest = _FINEST if boundary == "grapheme" else _FINEST[1:]
    return (*made, *(_BY_NAME[name]() for name in finest))


def _make_level(level: LevelLike) -> Level:
    if isinstance(level, Level):
        return level
    if isinstance(level, str):
        if level not in _BY_NAME:
            known = ", ".join(map(repr, _BY_NAME))
            raise ValueError(
                f"there is no level {level!r}: there are {known}; for a regular expression pass "
                "re.compile(...)"
            )
        return _BY_NAME[level]()
    if isinstance(level, (re.Pattern, regex.Pattern)):
        if isinstance(level.pattern, bytes):
            raise TypeError(f"the pattern of a level must be str, got bytes {level.pattern!r}")
        return PatternLevel(level.pattern, level)
    if callable(level):
        return FunctionLevel(getattr(level, "__name__", type(level).__name__), level)
    raise TypeError(
        "a level must be a name, a compiled regular expression or a function, "
        f"got {type(level).__name__}"
    )
