"""Finding added tokens in a text: `tokenizers` does this before anything else."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cutline.normalizing import SPACE
from cutline.pretokenize.unicode import WORD, find_property
from cutline.spec import AddedToken
from cutline.special import SpecialFinder

__all__ = ["AddedFinder", "is_of_word"]

_FEW = 64
_span_of = re.Match[str].span
_NO_SPACE = re.compile(f"[^{SPACE}]")


class AddedFinder:
    """Finds tokens in a text the way `tokenizers` does.

    Matches are leftmost-longest and do not overlap. Whether a match counts is checked only
    afterwards: one that does not count still hides the matches inside it.

    Args:
        tokens: the tokens by the text that is searched for.
    """

    def __init__(self, tokens: Mapping[str, AddedToken]) -> None:
        self._by_text = tokens
        self._has_single_words = any(token.single_word for token in tokens.values())
        written = sorted(filter(None, self._by_text), key=len, reverse=True)
        self._finder = SpecialFinder(written) if len(written) > _FEW else None
        # For few texts a pattern is faster, especially if some contain others, such as blanks.
        few = _longest_of(written) if self._finder is None else ""
        self._pattern = re.compile(few or r"\Z.")
        self._first = {text[0] for text in written} if self._finder is not None else set()

    @property
    def texts(self) -> Mapping[str, AddedToken]:
        """The tokens by the text that is searched for."""
        return self._by_text

    def may_find(self, text: str) -> bool:
        """Return whether any token occurs, whether it counts or not."""
        if not self._by_text:
            return False
        if self._finder is not None:
            return self._may_begin(text) and self._finder.first(text) is not None
        return self._pattern.search(text) is not None

    def finds(self, text: str) -> bool:
        """Return whether any token counts in a text."""
        if not self._has_single_words:
            return self.may_find(text)
        return next(self.matches(text, lambda _: True), None) is not None

    def may_count(self, text: str, first: int) -> bool:
        """Return whether a token may count that starts at a place or after it.

        Even if a longer one hides it, which the text might not have.
        """
        for written, token in self._by_text.items() if self.may_find(text) else ():
            start = text.find(written, first) if written else -1
            while start >= 0:
                end = start + len(written)
                beside = text[max(0, start - 1) : start] + text[end : end + 1]
                if not token.single_word or not any(map(is_of_word, beside)):
                    return True
                start = text.find(written, start + 1)
        return False

    def _find_all(self, text: str) -> Iterator[tuple[int, str]]:
        if not self._by_text:
            return iter(())
        if self._finder is not None:
            if not self._may_begin(text):
                return iter(())
            return self._finder.find_all(text)
        return ((found.start(), found.group()) for found in self._pattern.finditer(text))

    def plain_spans(self, text: str) -> NDArray[np.int64] | None:
        """Find where tokens start and end: int64, shape (tokens, 2).

        None: whether one counts, and its ends, depends on what is around it or is allowed.
        """
        ends: Iterable[tuple[int, int]]
        if self._are_plain and self._finder is None:
            ends = map(_span_of, self._pattern.finditer(text))
        else:
            found = [*self._find_all(text)]
            if not all(_is_plain(self._by_text[one]) for one in {written for _, written in found}):
                return None
            ends = ((start, start + len(written)) for start, written in found)
        return np.fromiter(chain.from_iterable(ends), dtype=np.int64).reshape(-1, 2)

    @cached_property
    def shortest(self) -> int:
        """The characters of the shortest token."""
        return min(map(len, filter(None, self._by_text)), default=0)

    @cached_property
    def surest(self) -> int:
        """The fewest characters so many of which, of any plain token, begin with a plain token.

        That is with the longest token there, whether it counts or not.
        """
        texts = sorted(filter(None, self._by_text), key=len)
        plain = {text for text in texts if _is_plain(self._by_text[text])}

        def least(token: str) -> int:
            begins = [text for text in texts if token.startswith(text)]
            others = [place for place, text in enumerate(begins) if text not in plain]
            return len(begins[others[-1] + 1 if others else 0])

        return max(map(least, plain), default=0)

    @cached_property
    def strips_right(self) -> bool:
        """Whether a token strips what is after it."""
        return any(token.rstrip for token in self._by_text.values())

    @cached_property
    def has_spaces(self) -> bool:
        """Whether there is white space in a token."""
        return any(space in text for text in self._by_text for space in SPACE)

    @cached_property
    def _are_plain(self) -> bool:
        return all(map(_is_plain, self._by_text.values()))

    def _may_begin(self, text: str) -> bool:
        """Return whether a text has the first character of a token: often it has none."""
        return len(self._first) > _FEW or any(first in text for first in self._first)

    def hides(self, text: str, place: int) -> int:
        """Return where the match starts that a place lies inside, whether it counts or not.

        Returns:
            The place itself if it lies in none.
        """
        for start, written in self._find_all(text):
            if start >= place:
                break
            if place < start + len(written):
                return start
        return place

    def cut(
        self, text: str, counts: Callable[[AddedToken], bool], around: tuple[str, str] = ("", "")
    ) -> Iterator[tuple[int, int, AddedToken | None]]:
        """Yield the spans of a text: tokens, and the text between them (None).

        Args:
            text: not empty.
            counts: whether a token may be found; the text of others is ordinary text.
            around: the characters before and after the text, if it is a part of one.
        """
        done = 0
        for start, end, token, _ in self.matches(text, counts, around):
            if done < start:
                yield done, start, None
            if start < end:
                yield start, end, token
            done = end
        if done < len(text):
            yield done, len(text), None

    def matches(
        self, text: str, counts: Callable[[AddedToken], bool], around: tuple[str, str] = ("", "")
    ) -> Iterator[tuple[int, int, AddedToken, int]]:
        """Yield the spans of tokens, which may be empty, the tokens, and where their texts start.

        Args: see `cut`.
        """
        done = 0
        for place, written in self._find_all(text):
            token = self._by_text[written]
            start, end = place, place + len(written)
            if not counts(token):
                continue
            if token.single_word:
                before = text[start - 1] if start else around[0]
                after = text[end] if end < len(text) else around[1]
                if any(map(is_of_word, before + after)):
                    continue
            if token.lstrip:  # what is before `done` may belong to the token before
                start = max(done, done + len(text[done:start].rstrip(SPACE)))
            if token.rstrip:
                other = _NO_SPACE.search(text, end)
                end = other.start() if other else len(text)
            yield start, end, token, place
            done = end


def _longest_of(texts: Iterable[str]) -> str:
    """Write a pattern for the longest of some texts that begins at a place.

    What texts have in common at the start is compared once.
    """
    begun: dict[str, list[str]] = {}
    for text in texts:
        begun.setdefault(text[0], []).append(text)
    branches = []
    for several in begun.values():
        first, last = min(several), max(several)  # what these share, all do
        shared = zip(first, last, strict=False)
        same = next((at for at, (one, other) in enumerate(shared) if one != other), len(first))
        rests = {text[same:] for text in several}
        longer = _longest_of(rests - {""})
        rest = f"(?:{longer}){'?' if '' in rests else ''}" if longer else ""
        branches.append(re.escape(first[:same]) + rest)
    return "|".join(branches)


def _is_plain(token: AddedToken) -> bool:
    """Return whether a token counts wherever it is found, and is no more than that."""
    return not (token.special or token.single_word or token.lstrip or token.rstrip)


@lru_cache(1 << 12)
def is_of_word(character: str) -> bool:
    """Return whether no token for single words may be beside a character."""
    word = find_property(WORD)
    assert word is not None
    return ord(character) in word
