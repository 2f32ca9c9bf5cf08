"""`GrowingCount`: the tokens of a text with special tokens that grows at its end.

A special token is found before anything else happens to a text, so that the tokens of a text
are those before it followed by those from it on: what lies before is counted once. Which special
tokens can serve as such a cut is worked out by `Cuts`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, Final, Self, cast

from cutline.errors import SurrogateError
from cutline.special import shared_prefix

if TYPE_CHECKING:
    from cutline.counting import Appender
    from cutline.encoding import Encoding

__all__ = ["Cuts", "GrowingCount", "count_with_special"]

_LONG: Final = 4096  # characters, from which on an open end is kept in an `Appender`


def count_with_special(encoding: Encoding, text: str) -> int:
    """Count the tokens of a text whose special tokens are meant as such."""
    if encoding._pipeline is not None:
        return len(encoding.encode_to_numpy(text, allowed_special="all"))
    total = done = 0
    for start, token in Cuts.of(encoding).find_all(text):
        total += (encoding.count(text[done:start]) if start > done else 0) + 1
        done = start + len(token)
    return total + encoding.count(text[done:]) if done < len(text) else total


class Cuts:
    """Finds the special tokens of an encoding in texts, and which of them are cuts."""

    def __init__(self, encoding: Encoding) -> None:
        cuts: set[str] = set()
        if encoding._pipeline is None:
            raw = [text for text in encoding._special_tokens if text]
            cuts.update(raw)
        else:
            added = [t for t in encoding._spec.added_tokens if t.content and not t.normalized]
            raw = [token.content for token in added]
            # One that matches whole words only may not match, and then others may.
            if not any(token.single_word for token in added):
                cuts.update(t.content for t in added if not (t.lstrip or t.content[0].isspace()))
        # More text must not turn it into a part of another one.
        self._cuts = frozenset(
            text for text in cuts if not any(text != other and text in other for other in raw)
        )
        firsts: dict[str, list[str]] = {}
        for text in sorted(raw, key=len, reverse=True):
            firsts.setdefault(text[0], []).append(text)
        self._groups = [(shared_prefix(texts), texts) for texts in firsts.values()]
        texts = sorted(raw, key=len, reverse=True)
        self._search = re.compile("|".join(map(re.escape, texts)) or "(?!)").finditer

    @classmethod
    def of(cls, encoding: Encoding) -> Self:
        """Return those of an encoding, made once."""
        return cast("Self", encoding._remember("chat cuts", partial(cls, encoding)))

    def is_cut(self, token: str) -> bool:
        """Return whether a text can be counted apart before and from this token on."""
        return token in self._cuts

    def find_all(self, text: str) -> Iterable[tuple[int, str]]:
        """Find the special tokens of a text: their starts and texts, leftmost, longest, in order.

        Cost: linear in the text, at the speed of `str.find` where their first characters are rare.
        """
        if len(text) < _LONG:
            return [(match.start(), match[0]) for match in self._search(text)]
        return self._find_in_long(text)

    def _find_in_long(self, text: str) -> Iterator[tuple[int, str]]:
        """Find without keeping other threads from running, as regular expressions would.

        Yield start and text of each special token: leftmost, longest, without overlaps.
        """
        waiting = [(text.find(prefix), place) for place, (prefix, _) in enumerate(self._groups)]
        waiting = [find for find in waiting if find[0] >= 0]
        heapify(waiting)
        done = 0
        while waiting:
            start, group = waiting[0]
            prefix, tokens = self._groups[group]
            if start >= done:
                token = next((t for t in tokens if text.startswith(t, start)), None)
                if token is not None:
                    yield start, token
                    done = start + len(token)
            if (again := text.find(prefix, max(start + 1, done))) >= 0:
                heapreplace(waiting, (again, group))
            else:
                heappop(waiting)


class GrowingCount:
    """A text that grows at its end, cut back now and then, and its tokens.

    Args:
        encoding: whose special tokens in the text are meant as such.

    Attributes:
        length: the length of the text.

    Cost: `append` is linear in the text that it adds, and in what follows the last cut, which is
    counted with it; from 4,096 characters on that is kept in an `Appender`, where no step of the
    tokenizer changes texts.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._cuts = Cuts.of(encoding)
        self._texts: list[str] = []
        self._starts: list[int] = []
        self.length = 0
        # Each cut: the characters and tokens before it, and where its special token ends. The text
        # from the last one on is open.
        self._counted = [(0, 0, 0)]
        self._open = ""
        # Where the open end begins, its appender, and what that contains.
        self._tail: tuple[int, Appender, str] | None = None

    def copy(self) -> Self:
        """Return an independent one with the same text."""
        twin = type(self)(self._encoding)
        twin._texts, twin._starts = self._texts.copy(), self._starts.copy()
        twin.length, twin._counted, twin._open = self.length, self._counted.copy(), self._open
        return twin

    def append(self, text: str) -> None:
        """Add text at the end."""
        if not text:
            return
        self._texts.append(text)
        self._starts.append(self.length)
        self.length += len(text)
        place, tokens, _ = self._counted[-1]
        section = self._open + text if self._open else text
        encoding, is_cut = self._encoding, self._cuts.is_cut
        is_plain = encoding._pipeline is None
        begin = done = 0  # of the section: the last cut, and what is counted if plain
        for start, token in self._cuts.find_all(section):
            if start and is_cut(token):
                if not is_plain:
                    tokens += count_with_special(encoding, section[begin:start])
                elif begin == 0 and (count := self._by_tail(section[:start])) is not None:
                    tokens = self._counted[-1][1] + count
                elif start > done:
                    tokens += encoding.count(section[done:start])
                end = place + start + len(token)
                self._counted.append((place + start, tokens, end))
                begin = start
            elif is_plain and start > done:
                tokens += encoding.count(section[done:start])
            if is_plain:
                tokens += 1
                done = start + len(token)
        self._open = section[begin:] if begin else section

    def truncate(self, length: int) -> None:
        """Keep the first `length` characters."""
        if length >= self.length:
            return
        keep = bisect_right(self._starts, length - 1)
        del self._texts[keep:], self._starts[keep:]
        self.length = length
        if keep:
            self._texts[-1] = self._texts[-1][: length - self._starts[-1]]
        while self._counted[-1][2] > length:
            self._counted.pop()
        place = self._counted[-1][0]
        first = max(bisect_right(self._starts, place) - 1, 0)
        kept = "".join(self._texts[first:])
        self._open = kept[place - self._starts[first] :] if kept else ""

    def keep_common(self, text: str) -> int:
        """Keep what the text and another have in common at the start; return its length."""
        done = 0
        for part in self._texts:
            if not text.startswith(part, done):
                done += _common(part, text[done : done + len(part)])
                break
            done += len(part)
        self.truncate(done)
        return done

    def count_with(self, tail: str = "") -> int:
        """Count the tokens of the text with more at its end."""
        tokens = self._counted[-1][1]
        text = self._open + tail
        if (count := self._by_tail(text)) is not None:
            return tokens + count
        return tokens + count_with_special(self._encoding, text)

    def _by_tail(self, text: str) -> int | None:
        """Count an open end that is long, in an appender; None if that cannot be done."""
        if len(text) < _LONG or self._encoding._pipeline is not None:
            return None
        place = self._counted[-1][0]
        if self._tail is None or self._tail[0] != place:
            self._tail = None
        begin = 0
        for start, token in self._cuts.find_all(text):
            if start:
                return None  # one that is no cut
            begin = len(token)
        if self._tail is None:
            if len(self._open) < _LONG:
                return None
            self._tail = place, self._encoding.appender(), ""
        _, appender, known = self._tail
        wanted = text[begin:]
        self._tail = None
        shared = len(known) if wanted.startswith(known) else _common(known, wanted)
        try:
            appender.truncate(shared)
            appender.append(wanted[shared:])
        except SurrogateError:
            return None
        self._tail = place, appender, wanted
        return (begin > 0) + appender.count


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at the start.

    Cost: linear in that, at the speed of memory.
    """
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
