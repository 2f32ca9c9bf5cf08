"""Levels of boundaries: paragraphs, lines, sentences, phrases, words, graphemes, characters.

A level finds boundaries near a place, and reads no text before the chunk's start or far after
the place. So a chunk does not depend on distant text, and a text that comes in parts is cut
like the whole.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from operator import index
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from bitarray import bitarray

from cutline.chunking import break_tables
from cutline.kernels.breaks.breaks import (
    CHARACTER,
    ENTRY,
    GRAPHEME,
    LINE,
    PARAGRAPH,
    PHRASE,
    SENTENCE,
    WORD,
    find_breaks,
    find_last_break,
    keep_graphemes,
)
from cutline.kernels.breaks.wrapping import LINES_AUTO, LINES_JOIN, LINES_KEEP

if TYPE_CHECKING:
    import regex

__all__ = [
    "LOOK_AHEAD",
    "BitmapLevel",
    "BreakLevel",
    "CharacterLevel",
    "EntryLevel",
    "FunctionLevel",
    "GraphemeLevel",
    "Level",
    "LineLevel",
    "Lines",
    "ParagraphLevel",
    "PatternLevel",
    "PhraseLevel",
    "SentenceLevel",
    "WholeGraphemes",
    "WordLevel",
    "leading_breaks",
]

break_tables.load_tables()

LOOK_AHEAD: Final = 256
"""How many characters after a place may be read to decide on a boundary there."""

Lines: TypeAlias = Literal["auto", "keep", "join"]

_LINES: Final[dict[str, int]] = {"auto": LINES_AUTO, "keep": LINES_KEEP, "join": LINES_JOIN}


class Level(ABC):
    """One kind of boundary.

    Attributes:
        name: shown in the metadata of chunks that are cut there.
        is_vital: finer levels are only used if a text has no boundary of this one.
    """

    name: str
    is_vital = False

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def _key(self) -> object:
        """Return what decides whether two levels of a class are equal."""
        return vars(self)

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    @abstractmethod
    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield boundaries in text[start:end], ascending, `end` included, `start` excluded.

        Reads text[start:limit] only.
        """

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last boundary b with after < b <= until; -1 if there is none.

        Args:
            text: the text.
            start: the start of the chunk; text before it is ignored.
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
        pattern: compiled by `re` or `regex`. It is searched in a part of the text, from the
            start of a chunk at the earliest. A lookahead puts a boundary before its match:
            `(?=^Chapter )`.
    """

    def __init__(self, name: str, pattern: "re.Pattern[str] | regex.Pattern[str]") -> None:
        self.name = name
        self._pattern = pattern

    def _key(self) -> object:
        # Patterns of `regex` are equal only to themselves.
        pattern = self._pattern
        lists = getattr(pattern, "named_lists", None)
        return self.name, type(pattern), pattern.pattern, pattern.flags, lists

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield the ends of matches: see `Level`."""
        for match in self._pattern.finditer(text[start:limit]):
            place = start + match.end()
            if place > end:
                return
            if place > start:
                yield place


class BreakLevel(Level):
    """A level whose boundaries a kernel finds: see `kernels/breaks/`."""

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
    """The ends of runs of blank lines, but not after a heading."""

    name = "paragraph"
    kind = PARAGRAPH


class _WrappedLevel(BreakLevel):
    """A level that reads line ends that only wrap the text as blanks.

    Args:
        lines: "auto", the text tells which ones; "keep", none; "join", all within a paragraph.
    """

    def __init__(self, lines: Lines = "auto") -> None:
        self.kind = type(self).kind | _LINES[lines]
        self.lines = lines


class EntryLevel(_WrappedLevel):
    """The ends of entries, as of logs and chats: before lines that begin with a time or a date."""

    name = "entry"
    kind = ENTRY


class LineLevel(_WrappedLevel):
    """The ends of lines that do not only wrap the text."""

    name = "line"
    kind = LINE


class SentenceLevel(_WrappedLevel):
    """The ends of sentences by UAX #29, but not after abbreviations."""

    name = "sentence"
    kind = SENTENCE


class PhraseLevel(BreakLevel):
    """The ends of words after which a reader pauses, as after a comma.

    In Thai, Lao, Khmer and Burmese these are blanks, in data without blanks commas and tags.
    """

    name = "phrase"
    kind = PHRASE


class WordLevel(BreakLevel):
    """Boundaries of words by UAX #29.

    No chunk begins with a closing bracket, a comma or the like, and none ends with an opening
    bracket, if another boundary is near. The rules do not find words in Chinese, Japanese, Thai,
    Lao, Khmer and Burmese: for these, see `DictionaryWordLevel`.
    """

    name = "word"
    kind = WORD


class GraphemeLevel(BreakLevel):
    """Boundaries of grapheme clusters, the user-perceived characters, by UAX #29."""

    name = "grapheme"
    kind = GRAPHEME
    is_vital = True


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
    """Boundaries found by a user's function.

    Args:
        name: see `Level`.
        function: takes a text, the part from a chunk's start to beyond its end, and returns
            offsets into it, in any order.
    """

    def __init__(self, name: str, function: Callable[[str], Iterable[int]]) -> None:
        self.name = name
        self._function = function

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield the function's offsets: see `Level`."""
        part = text[start:limit]
        offsets = self._offsets(part)
        for offset in offsets:
            if not 0 <= offset <= len(part):
                raise ValueError(
                    f"level {self.name!r} gave the offset {offset!r} for a text of {len(part)} "
                    "characters: offsets must lie in the text that the function is given"
                )
        yield from (start + place for place in sorted(set(offsets)) if 0 < place <= end - start)

    def _offsets(self, part: str) -> list[int]:
        found = self._function(part)
        try:
            return [index(offset) for offset in found]
        except TypeError as error:
            raise TypeError(f"level {self.name!r} must give offsets, integers: {error}") from None


class WholeGraphemes(Level):
    """A level's boundaries that split no grapheme.

    Args:
        level: any.
    """

    def __init__(self, level: Level) -> None:
        self.name = level.name
        self._level = level

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """List boundaries: see `Level`."""
        return keep_graphemes(text, start, self._level.find(text, start, end, limit))

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last boundary: see `Level`."""
        while (place := self._level.last(text, start, after, until)) > after:
            if keep_graphemes(text, start, (place,)):
                return place
            until = place - 1
        return -1

    def every(self, text: str, start: int, after: int, until: int) -> Sequence[int]:
        """List all boundaries: see `Level`."""
        return keep_graphemes(text, start, self._level.every(text, start, after, until))


class BitmapLevel(Level):
    """Precomputed boundaries of the whole text.

    Args:
        name: see `Level`.
        bitmap: one bit for each place in the text and its end, little-endian.
    """

    def __init__(self, name: str, bitmap: bitarray) -> None:
        self.name = name
        self._bitmap = bitmap

    def little_endian(self) -> bytes:
        """Return the bits, the first of eight the lowest of a byte."""
        return self._bitmap.tobytes()

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """Yield the set bits: see `Level`."""
        return self._bitmap.search(1, start + 1, end + 1)

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last set bit: see `Level`."""
        return int(self._bitmap.find(1, after + 1, until + 1, right=True))


_IN_KERNELS: Final = frozenset(
    {
        *(ParagraphLevel, EntryLevel, LineLevel, SentenceLevel, PhraseLevel),
        *(WordLevel, GraphemeLevel, CharacterLevel),
    }
)


def leading_breaks(levels: Iterable[Level]) -> tuple[BreakLevel, ...]:
    """Return the levels before the first that kernels do not know; a subclass may differ."""
    known = takewhile(lambda level: type(level) in _IN_KERNELS, levels)
    return tuple(level for level in known if isinstance(level, BreakLevel))
