"""Finding special tokens in a text, for `Encoding.encode`."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any, Literal

from cutline.errors import SpecialTokenError, shown

if TYPE_CHECKING:
    import ahocorasick

__all__ = [
    "AllowedSpecial",
    "DisallowedSpecial",
    "SpecialFinder",
    "disallowed_error",
    "shared_prefix",
    "texts_of",
]

AllowedSpecial = Literal["all"] | Set[str]
DisallowedSpecial = Literal["all"] | Collection[str]

_LONG = 1 << 14  # characters: what is shorter needs no other module


def texts_of(texts: object, argument: str, every: frozenset[str]) -> frozenset[str]:
    """Return the texts of special tokens that an argument names; "all": `every`.

    Raises:
        TypeError: it is another str, or no collection of them.
    """
    if isinstance(texts, str):
        if texts == "all":
            return every
        got = f"the str {shown(texts)}"
    else:
        found: list[Any] = [*texts] if isinstance(texts, Iterable) else [texts]
        if all(isinstance(text, str) for text in found):
            return frozenset(found)
        got = shown(texts)
    raise TypeError(f"{argument} must be a set of str or 'all', got {got}")


class _Alternation:
    """Finds what an automaton does, without it: each find costs a comparison with every string."""

    __slots__ = ("_pattern",)

    def __init__(self, texts: Collection[str]) -> None:
        import re

        longest_first = sorted(texts, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def iter(self, text: str, begin: int) -> Iterator[tuple[int, str]]:
        """Yield the last place and the text of each match: leftmost, longest, without overlaps."""
        for found in self._pattern.finditer(text, begin):
            yield found.end() - 1, found[0]


def shared_prefix(texts: Collection[str]) -> str:
    """Return the longest text with which all begin.

    >>> shared_prefix(["<|end|>", "<|im_start|>"])
    '<|'
    """
    # All others lie between these two, and so does what they begin with.
    first, last = min(texts, default=""), max(texts, default="")
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((place for place, (a, b) in pairs if a != b), len(first))]


class SpecialFinder:
    """Finds occurrences of several strings in a text, in one pass however many they are.

    Nearly all texts contain none of them, and the special tokens of a tokenizer usually
    share a prefix (`<|`), so a plain search for that prefix comes first.
    """

    __slots__ = ("_automaton", "_longest", "_prefix", "_texts")

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = [text for text in texts if text]
        self._longest = max(map(len, self._texts), default=0)
        self._prefix = shared_prefix(self._texts)
        self._automaton: ahocorasick.Automaton | _Alternation | None = None

    @property
    def prefix(self) -> str | None:
        """What all of them begin with, which may be nothing; None: there are none."""
        return self._prefix if self._texts else None

    def _build(self) -> ahocorasick.Automaton | _Alternation:
        """Build the automaton on first use; most encodings never need it."""
        if self._automaton is None and not getattr(sys, "_is_gil_enabled", lambda: True)():
            self._automaton = _Alternation(self._texts)  # pyahocorasick would turn the GIL on
        elif self._automaton is None:
            import ahocorasick

            automaton = ahocorasick.Automaton()
            for text in self._texts:
                automaton.add_word(text, text)
            automaton.make_automaton()
            self._automaton = automaton
        return self._automaton

    def _find_prefix(self, text: str) -> int:
        if len(text) < _LONG:
            return text.find(self._prefix)
        from cutline.kernels.base.find import find

        return find(text, self._prefix)

    def find_all(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield start and text of each match: leftmost, longest, without overlaps.

        Cost: linear in the text; a substring search if the common prefix does not occur.

        >>> list(SpecialFinder({"<a>", "<ab>"}).find_all("x<ab><a>"))
        [(1, '<ab>'), (5, '<a>')]
        """
        begin = self._find_prefix(text)
        if begin < 0 or not self._texts:
            return
        # Ends only rise, so of several finds with one start the last is the longest.
        longest = {last + 1 - len(found): found for last, found in self._build().iter(text, begin)}
        covered = 0
        for start in sorted(longest):
            if start >= covered:
                yield start, longest[start]
                covered = start + len(longest[start])

    def cut(self, text: str) -> Iterator[tuple[int, int, str | None]]:
        """Yield the spans of a text in order: those of finds, and those between them (None).

        >>> list(SpecialFinder({"<a>"}).cut("x<a>"))
        [(0, 1, None), (1, 4, '<a>')]
        """
        done = 0
        for start, found in self.find_all(text):
            if start > done:
                yield done, start, None
            done = start + len(found)
            yield start, done, found
        if done < len(text):
            yield done, len(text), None

    def first(self, text: str) -> str | None:
        """Return the leftmost-longest match, or None. Stops as soon as it is known."""
        begin = self._find_prefix(text)
        if begin < 0 or not self._texts:
            return None
        best: tuple[int, int, str] | None = None
        for last, found in self._build().iter(text, begin):
            if best is not None and last + 1 - self._longest > best[0]:
                break
            find = (last + 1 - len(found), -len(found), found)
            best = find if best is None else min(best, find)
        return best[2] if best is not None else None


def disallowed_error(token: str) -> SpecialTokenError:
    """Build the error for text that contains a disallowed special token."""
    return SpecialTokenError(
        f"the text contains {token!r}, which is a disallowed special token; "
        f"to encode it as that token, pass allowed_special={{{token!r}, ...}} or 'all'; "
        "to encode it as ordinary text, pass "
        f"disallowed_special=(enc.special_tokens_set - {{{token!r}}}), "
        "or disallowed_special=() for all special tokens"
    )
