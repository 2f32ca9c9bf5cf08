"""Drafts: texts of source spans and insertions, and the search for the fullest that fits."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from cutline.counting.truncating import Growing

__all__ = ["Draft", "Render", "fair_share", "fullest"]


class Draft:
    """A text that is put together from spans of a source and from inserted text.

    Args:
        source: the source.

    Attributes:
        kept: the half-open spans of the source, in order; none follows directly on another.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._texts: list[str] = []
        self.kept: list[tuple[int, int]] = []
        self._inserted = True  # after the last span

    def keep(self, start: int, end: int) -> None:
        """Add a span of the source."""
        if end <= start:
            return
        if self.kept and not self._inserted and self.kept[-1][1] == start:
            self.kept[-1] = self.kept[-1][0], end
        else:
            self._flush()
            self.kept.append((start, end))
        self._inserted = False

    def insert(self, text: str) -> None:
        """Add text that is not of the source."""
        if text:
            self._flush()
            self._texts.append(text)

    def add(self, draft: "Draft", at: int) -> None:
        """Add a draft of a part of the source, which begins there."""
        draft._flush()
        self._flush()
        self._texts.append(draft.text)
        self.kept += ((start + at, end + at) for start, end in draft.kept)

    def _flush(self) -> None:
        if not self._inserted:
            self._texts.append(self._source[slice(*self.kept[-1])])
            self._inserted = True

    @property
    def text(self) -> str:
        """The text."""
        self._flush()
        return "".join(self._texts)


def fair_share(lengths: Iterable[int], room: int) -> int:
    """Return the greatest length such that all, none longer than this, are within the room."""
    rising = sorted(lengths)
    for at, length in enumerate(rising):
        left = len(rising) - at
        if length * left > room:
            return max(room // left, 0)
        room -= length
    return rising[-1] if rising else 0


Render: TypeAlias = Callable[[int], Draft]
"""Makes a draft of about so many characters: more for more, though not strictly."""

_NEAR = 0.98  # of the budget: near enough


def fullest(render: Render, length: int, measure: Growing, max_tokens: int) -> Draft | None:
    """Find a size at which the draft fits, and a little more does not.

    Args:
        render: makes the drafts.
        length: that of the source, which does not fit.
        measure: counts them.
        max_tokens: the budget.

    Returns:
        The draft with the most tokens of those tried that fit; None if the smallest does not.

    Cost: some twenty drafts, of up to twice the characters that fit.
    """
    best: Draft | None = None
    most = -1
    low, high = 0, None
    size = 4 * max_tokens
    while high is None or high - low > 1 + low // 512:
        draft = render(size)
        tokens = measure.count_till_limit(draft.text, max_tokens)
        if tokens is None:
            high = size
        else:
            low = size
            if tokens > most:
                best, most = draft, tokens
            if tokens >= _NEAR * max_tokens or size > 16 * length + 64:
                break
        if high is None:
            size = 2 * size + 16
        elif best is None and high > 64:
            size = high // 4
        else:
            size = (low + high) // 2
    if best is None:
        draft = render(0)
        if measure.count_till_limit(draft.text, max_tokens) is not None:
            return draft
    return best
