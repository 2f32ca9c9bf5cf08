"""Which added tokens a text has, and how much of it decides that, whatever comes after it.

Of matches the one that starts first is taken, of those the longest. So a prefix has the matches of
the text that end in it; and those before a place are decided where no token that starts there may
go on beyond what is known.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from cutline.normalizing import SPACE
from cutline.pipeline.added import AddedFinder
from cutline.pipeline.longest_fit import part_with_more
from cutline.pipeline.pipeline import Pipeline

__all__ = ["DecidedTokens", "Section"]

_counts = Pipeline.counting(frozenset())


class Section(NamedTuple):
    """What is between two added tokens of a text: the first that is over a budget, or the last.

    Attributes:
        start: where it starts.
        end: prefixes that end there or before are ordinary text from the start on. Longer ones
            have the token that follows, and are over the budget.
        left: what is left of the budget at the start.
        is_last: no token follows; the section may fit.
    """

    start: int
    end: int
    left: int
    is_last: bool


class DecidedTokens:
    """The added tokens that are searched for in one kind of text.

    Args:
        finder: finds them; what they strip is no part of one.
    """

    def __init__(self, finder: AddedFinder) -> None:
        self.finder = finder
        self._texts = sorted(filter(None, finder.texts))
        self._first = {text[0] for text in self._texts}
        self._longest = max(map(len, self._texts), default=0)
        self._strips_left = any(token.lstrip for token in finder.texts.values())

    def section_over(self, text: str, n: int, count: Callable[[int, int], int]) -> Section:
        """Find the section of a text that is over a budget, with the token after it.

        Args:
            text: the text.
            n: the budget.
            count: counts a section.
        """
        done = 0
        for start, end, token, found in self.finder.matches(text, _counts):
            tokens = (count(done, start) if start > done else 0) + (start < end)
            if tokens > n:
                written = text[found:end]
                length = len(written.rstrip(SPACE) if token.rstrip else written)
                return Section(done, found + length - 1, n, False)
            n -= tokens
            done = end
        return Section(done, len(text), n, True)

    def have_none(self, text: str) -> bool:
        """Return whether none counts in what is ordinary text."""
        return next(self.finder.matches(text, _counts), None) is None

    def may_end(self, text: str, end: int, more: str = "") -> bool:
        """Return whether one may count near the end of a beginning of ordinary text with more."""
        return self.finder.may_count(*part_with_more(text, end - self._longest, end, more))

    def decided(self, text: str, place: int) -> int:
        """Return a length such that texts that begin so have the same tokens before a place.

        One that starts after it, but strips white space before it, is one of these. More than the
        text's length: all of it does not decide.

        Cost: at worst quadratic in the length of the longest token.
        """
        found = last = place
        if self._strips_left and place and text[place - 1] in SPACE:
            found = last = 1 + len(text) - len(text[place:].lstrip(SPACE))
        for start in range(max(0, place - self._longest), min(last, len(text))):
            if found > len(text):
                break
            if text[start] in self._first and self._begins(text[start:found]):
                begun = self._begun(text[start : start + self._longest], found - start)
                found = start + begun + 1
        return found

    def _begins(self, text: str) -> bool:
        """Return whether a token begins with a text."""
        at = bisect_left(self._texts, text)
        return at < len(self._texts) and self._texts[at].startswith(text)

    def _begun(self, text: str, low: int) -> int:
        """Return with how many characters of a text a token begins at most, of which `low` do."""
        high = len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self._begins(text[:middle]):
                low = middle
            else:
                high = middle - 1
        return low
