"""Drafts of a text's lines, or records: the most important ones, with markers between them."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from cutline.shortening.drafts import Draft

__all__ = ["Clip", "LineDrafts", "both_ends", "clip_middle", "line_starts", "wide_cut"]

_OF_ROOM: Final = 4  # a line takes at most this part of the room
_LEAST_LINE: Final = 24  # of a line that is cut
_NEAR: Final = 48  # characters to a better place for a cut
_JOINERS: Final = "\u200d\ufe0f\u20e3"


class Clip(Protocol):
    """Makes a draft of one line, which is too long."""

    def __call__(self, text: str, start: int, end: int, room: int, /) -> Draft:
        """Make a draft of text[start:end] for some room."""


def line_starts(text: str) -> NDArray[np.int64]:
    """Return where each line begins, and the text's end. Cost: linear."""
    characters = np.frombuffer(text.encode("latin-1", "replace"), dtype=np.uint8)
    starts = np.concatenate([[0], np.flatnonzero(characters == ord("\n")) + 1, [len(text)]])
    return starts[:-1] if len(starts) > 2 and starts[-2] == starts[-1] else starts


class LineDrafts:
    """Makes drafts of lines.

    Args:
        text: the text.
        starts: where each line begins, and the text's end.
        order: gives the lines in the order of their importance; each once.
        gap: makes the line that stands for so many missing ones, without its line end.
        clip: shortens a line.
    """

    def __init__(
        self,
        text: str,
        starts: NDArray[np.int64],
        order: Callable[[], Iterable[int]],
        gap: Callable[[int], str],
        clip: Clip,
    ) -> None:
        self._text = text
        self._starts = np.ascontiguousarray(starts, dtype=np.int64).data
        self._order = order
        self._gap = gap
        self._clip = clip
        first_end = text.find("\n")
        self._line_end = "\r\n" if first_end > 0 and text[first_end - 1] == "\r" else "\n"

    def render(self, size: int) -> Draft:
        """Make a draft of about so many characters."""
        rooms: dict[int, int] = {}
        left, cap = size, max(size // _OF_ROOM, 4 * _LEAST_LINE)
        for line in self._order():
            length = min(self._starts[line + 1] - self._starts[line], cap)
            if length > left:
                if left >= _LEAST_LINE:
                    rooms[line] = left
                break
            rooms[line] = length
            left -= length
        return self._draft(rooms)

    def _draft(self, rooms: dict[int, int]) -> Draft:
        draft, before, starts = Draft(self._text), -1, self._starts
        for line in sorted(rooms):
            self._skip(draft, before, line)
            start, end = starts[line], starts[line + 1]
            if end - start <= rooms[line]:
                draft.keep(start, end)
            else:
                content = end
                while content > start and self._text[content - 1] in "\r\n":
                    content -= 1
                draft.add(self._clip(self._text, start, content, rooms[line]), 0)
                draft.keep(content, end)
            before = line
        self._skip(draft, before, len(starts) - 1)
        return draft

    def _skip(self, draft: Draft, before: int, line: int) -> None:
        missing = line - before - 1
        if missing:
            ends_line = before < 0 or self._text[self._starts[before + 1] - 1] == "\n"
            is_last = line == len(self._starts) - 1 and not self._text.endswith("\n")
            draft.insert("" if ends_line else self._line_end)
            draft.insert(self._gap(missing) + ("" if is_last else self._line_end))


def both_ends(first: int, last: int) -> Iterator[int]:
    """Yield the numbers from `first` to before `last`, from both ends in turn."""
    while first < last:
        yield first
        first += 1
        if first < last:
            last -= 1
            yield last


def clip_middle(marker: str) -> Clip:
    """Make a clip that keeps the two ends of a line."""

    def clip(text: str, start: int, end: int, room: int) -> Draft:
        draft = Draft(text)
        room = max(room - len(marker), 0)
        first = wide_cut(text, start, start + room - room // 3, -1)
        last = wide_cut(text, end - room // 3, end, 1) if room // 3 else end
        if first >= last:
            draft.keep(start, end)
            return draft
        draft.keep(start, first)
        draft.insert(marker)
        draft.keep(last, end)
        return draft

    return clip


def wide_cut(text: str, start: int, end: int, step: int) -> int:
    """Return a cut near the end (step -1) or the start (step 1) of a span, at a good place.

    The best place is a line end, then white space, both only near; then no character is cut from
    the combining ones after it.
    """
    place = end if step < 0 else start
    near = min(_NEAR, (end - start) // 2)
    for marks in ("\n", " "):
        if step < 0:
            found = text.rfind(marks, place - near, place)
        else:
            found = text.find(marks, place, place + near)
        if found >= 0:
            return found + 1
    while start < place < end + (step < 0) and place < len(text) and _joins(text, place):
        place += step
    return place


def _joins(text: str, place: int) -> bool:
    """Whether the character here belongs to the one before."""
    import unicodedata

    here, before = text[place], text[place - 1]
    if here.isascii():
        return here == "\n" and before == "\r"
    if before == "\u200d" or here in _JOINERS or "\U0001f3fb" <= here <= "\U0001f3ff":
        return True
    return unicodedata.combining(here) > 0


def lines_with(text: str, starts: Sequence[int], words: Iterable[str]) -> list[int]:
    """Return the lines that contain one of the words, in order."""
    found: set[int] = set()
    for word in words:
        place = text.find(word)
        while place >= 0:
            line = bisect_right(starts, place) - 1
            found.add(line)
            place = text.find(word, starts[line + 1])
    return sorted(found)
