"""Shortened JSON that is valid JSON."""

import json
import re
from typing import Final

from cutline.shortening.drafts import Draft, fair_share
from cutline.shortening.json_index import JsonIndex

__all__ = ["JsonDrafts", "is_json"]

_MOST_DEEP: Final = 64  # containers that are deeper are whole or empty
_OF_ROOM: Final = 4  # an element takes at most this part of its array's room
_LEAST_VALUE: Final = 12  # of a value, before keys are left out
_LEAST_MEMBER: Final = 6  # "a":1 and a comma
_MARKER_ROOM: Final = 20
_MOST_NUMBER: Final = 32
_MOST_BLANKS: Final = 256
_KEY: Final = re.compile(r'\s*+"(?:[^"\\]++|\\.)*+"\s*+:\s*+', re.S)
_FIRST: Final = re.compile(r"\s*+").match
_HIGH_HALF: Final = re.compile(r"\\u[dD][89abAB]").match
_LOW_HALF: Final = re.compile(r"\\u[dD][c-fC-F]").match


def is_json(text: str) -> bool:
    """Return whether a text is valid JSON that Python's reader reads, NaN and Infinity included.

    It is not if it is nested too deep for that reader.
    """
    try:
        json.loads(text, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        return False
    return True


class JsonDrafts:
    """Makes shortened drafts of valid JSON.

    Args:
        text: valid JSON.
        marker: stands where something is missing.
    """

    def __init__(self, text: str, marker: str) -> None:
        self._text = text
        self._index = JsonIndex(text)
        self._marker = json.dumps(marker, ensure_ascii=False)[1:-1]

    def render(self, size: int) -> Draft:
        """Make a draft of about so many characters."""
        draft = Draft(self._text)
        start, end = self._trimmed(0, len(self._text))
        self._value(draft, start, end, size, 1)
        return draft

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Return a span without the white space around it; an empty one is at its end."""
        text = self._text
        start = _FIRST(text, start, end).end()  # type: ignore[union-attr]  # matches always
        while end > start and text[end - 1] in " \t\r\n":
            end -= 1
        return start, end

    def _value(self, draft: Draft, start: int, end: int, room: int, depth: int) -> None:
        first = self._text[start]
        if end - start <= room:
            draft.keep(start, end)
        elif first == '"':
            self._string(draft, start, end, room)
        elif first in "[{" and len(set(self._trimmed(start + 1, end - 1))) == 1:
            draft.keep(start, start + 1)
            draft.keep(end - 1, end)
        elif first in "[{" and depth > _MOST_DEEP:
            missing = f'"{self._marker}"' if first == "[" else f'"{self._marker}":"{self._marker}"'
            draft.keep(start, start + 1)
            draft.insert(missing)
            draft.keep(end - 1, end)
        elif first == "[":
            self._array(draft, start, end, room, depth)
        elif first == "{":
            self._object(draft, start, end, room, depth)
        elif end - start <= _MOST_NUMBER:
            draft.keep(start, end)
        else:  # a number that is no longer one
            draft.insert('"')
            draft.keep(start, start + max(room - 3, 1))
            draft.insert(f'{self._marker}"')

    def _string(self, draft: Draft, start: int, end: int, room: int) -> None:
        """Keep two thirds of the room at the start of a string, and a third at its end."""
        room = max(room - 2 - len(self._marker), 0)
        tail = room // 3
        first = self._cut(start + 1, start + 1 + room - tail)[0]
        last = min(self._cut(start + 1, end - 1 - tail)[1], end - 1)
        if last - first <= len(self._marker):
            draft.keep(start, end)
            return
        draft.keep(start, first)
        draft.insert(self._marker)
        draft.keep(last, end)

    def _cut(self, low: int, place: int) -> tuple[int, int]:
        """Return the last place up to one, and the first from it on, inside no escape sequence.

        Two sequences that are halves of a character count as one.
        """
        start, end = self._escape(low, place)
        if start >= low + 6 and _LOW_HALF(self._text, start) and _HIGH_HALF(self._text, start - 6):
            start -= 6
        if _LOW_HALF(self._text, end):
            end += 6
        return start, end

    def _escape(self, low: int, place: int) -> tuple[int, int]:
        """Return the escape sequence that a place is inside; an empty span if it is in none."""
        for back in range(min(5, place - low)):
            at = place - back  # the escaped character?
            is_unicode = self._text[at] == "u"
            if (back == 0 or is_unicode) and self._slashes_before(low, at) % 2:
                return at - 1, at + (5 if is_unicode else 1)
        return place, place

    def _slashes_before(self, low: int, place: int) -> int:
        near = self._text[max(low, place - 64) : place]
        slashes = len(near) - len(near.rstrip("\\"))
        if slashes < len(near) or len(near) < 64:
            return slashes
        text = self._text[low:place]
        return len(text) - len(text.rstrip("\\"))

    def _array(self, draft: Draft, start: int, end: int, room: int, depth: int) -> None:
        """Keep elements from the start and the end in turn.

        One that takes more than a part of the room counts as shortened to that; in the end, all
        that are kept share the room.
        """
        bounds = self._bounds(start, depth)
        budget, cap = room - _MARKER_ROOM, max(room // _OF_ROOM, _LEAST_VALUE)
        lengths: list[int] = []
        left, head, tail = budget, 0, len(bounds) - 1
        while head < tail:
            at = head if head <= len(bounds) - 1 - tail else tail - 1
            lengths.append(bounds[at + 1] - bounds[at])
            left -= min(lengths[-1], cap)
            if left < 0:
                lengths.pop()
                break
            head, tail = (head + 1, tail) if at == head else (head, tail - 1)
        share = fair_share(lengths, budget)
        draft.keep(start, start + 1)
        for at in range(head):
            if at:
                draft.keep(bounds[at], bounds[at] + 1)
            self._slot(draft, bounds[at] + 1, bounds[at + 1], share, depth)
        if head < tail:
            draft.insert("," if head else "")
            draft.insert(self._blanks(bounds[head] + 1))
            draft.insert(f'"{self._marker} {tail - head:,} more"')
        for at in range(tail, len(bounds) - 1):
            draft.keep(bounds[at], bounds[at] + 1)
            self._slot(draft, bounds[at] + 1, bounds[at + 1], share, depth)
        draft.keep(end - 1, end)

    def _object(self, draft: Draft, start: int, end: int, room: int, depth: int) -> None:
        """Keep as many keys as there is room for, from the first on; their values share the rest.

        A member that alone is too long for what is left is passed over.
        """
        bounds = self._bounds(start, depth)
        left = room - _MARKER_ROOM
        kept: list[tuple[int, int]] = []  # the number of a member, and where its value begins
        lengths: list[int] = []
        for at in range(len(bounds) - 1):
            found = _KEY.match(self._text, bounds[at] + 1)
            if found is None or left < _LEAST_MEMBER:
                break
            value, length = found.end(), bounds[at + 1] - found.end()
            least = value - bounds[at] + min(length, _LEAST_VALUE)
            if least <= left:
                left -= least
                kept.append((at, value))
                lengths.append(length)
        share = fair_share(lengths, left + sum(min(length, _LEAST_VALUE) for length in lengths))
        draft.keep(start, start + 1)
        before = -1
        for at, value in kept:
            if before >= 0:
                if before == at - 1:
                    draft.keep(bounds[at], bounds[at] + 1)
                else:
                    draft.insert(",")
            draft.keep(bounds[at] + 1, value)
            self._slot(draft, value, bounds[at + 1], share, depth)
            before = at
        if missing := len(bounds) - 1 - len(kept):
            draft.insert("," if kept else "")
            draft.insert(self._blanks(bounds[0] + 1))
            draft.insert(f'"{self._marker}": "{missing:,} more"')
        draft.keep(end - 1, end)

    def _bounds(self, start: int, depth: int) -> memoryview:
        """Return the places of a container's brackets and commas."""
        return self._index.bounds(start, depth).data

    def _blanks(self, place: int) -> str:
        """Return the white space here, for what is inserted beside it."""
        found = _FIRST(self._text, place, place + _MOST_BLANKS)
        return found[0] if found else ""

    def _slot(self, draft: Draft, start: int, end: int, room: int, depth: int) -> None:
        """Add a value with the white space around it."""
        if end - start <= room:
            draft.keep(start, end)
            return
        first, last = self._trimmed(start, end)
        blanks = first - start if first - start <= _MOST_BLANKS else 0
        draft.keep(first - blanks, first)
        self._value(draft, first, last, room - blanks, depth + 1)
