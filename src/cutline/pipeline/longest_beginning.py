"""The longest beginning within a budget of a changed text without added tokens.

And how much of the text is over the budget, whatever comes after that.
"""

from typing import Final

from cutline.checks import utf8_of
from cutline.kernels.cut.windows import Cutter
from cutline.kernels.words.splitting import end_over_budget
from cutline.pipeline.longest_fit import KnownPrefixes
from cutline.pipeline.pipeline import Pipeline
from cutline.pretokenize.splitting import prefix_counts
from cutline.text_encoder import TextEncoder

__all__ = ["LongestBeginning"]

_LOOK: Final = 32  # bytes behind what fits that may decide, at first
_GROWTH: Final = 4
_TRIES: Final = 64  # ends that are counted, each from the start


class LongestBeginning:
    """Finds the longest beginnings of texts.

    Args:
        pipeline: splits them.
        encoder: counts.

    Attributes:
        by_kernel: one automaton splits texts, and nothing marks the pieces.
    """

    def __init__(self, pipeline: Pipeline, encoder: TextEncoder) -> None:
        self._pipeline, self._encoder = pipeline, encoder
        self.by_kernel = not pipeline.changes_all and encoder._has_automaton

    def find(
        self, text: str, n: int, *, asks_over: bool, goes_on: bool
    ) -> tuple[int | None, int | None]:
        """Find the longest beginning of a text that has at most n tokens.

        Args:
            text: the text.
            n: the budget.
            asks_over: it is asked how much is over the budget, too.
            goes_on: the text may be longer, so that nothing else helps where this is not known.

        Returns:
            The length of the longest beginning; None: to find it would take long. And a length such
            that texts are over the budget that begin with so much; None: not known, or not asked.

        Cost: linear in what n tokens cover, if a kernel knows the splittings.
        """
        if not self.by_kernel:
            return self._find_split(text, n, goes_on=goes_on)
        owner = utf8_of(text)
        end, over = self._fit(owner, n, goes_on=False), None
        if asks_over and end < len(owner):
            over = self._over(owner, end, n)
        if isinstance(owner, str):
            return end, over
        return len(owner[:end].decode()), None if over is None else len(owner[:over].decode())

    def _find_split(self, text: str, n: int, *, goes_on: bool) -> tuple[int | None, int | None]:
        """Find it where several splittings cut texts, or their pieces are marked."""
        pipeline, encoder = self._pipeline, self._encoder
        bound = pipeline.upper_bound.end_over(encoder, text, n)
        end = len(text) if bound is None else bound
        over = None if end == len(text) else end + 1  # so much may fit
        if over is None and goes_on:
            return None, None
        known = self._known(text[:end], n)
        tries = 0
        for length in range(end, 0, -1):
            tokens = None if known is None else known.with_more(length, "")
            if tokens is None:
                tokens = pipeline.count_between(encoder, text[:length])
                tries += 1
            if tokens <= n:
                return length, over
            if tries == _TRIES:
                return None, over
        return 0, over

    def _known(self, text: str, n: int) -> KnownPrefixes | None:
        """Return the counts of all prefixes of a text; None: each is counted."""
        if self._pipeline.spec.marks_words:
            return None
        counts = prefix_counts(self._pipeline.spec.splittings, self._encoder, text.encode(), n)
        return None if counts is None else KnownPrefixes(counts, text)

    def _over(self, owner: str | bytes, end: int, n: int) -> int | None:
        """Return how much of a text is over the budget, of which so much fits."""
        if self._pipeline.spec.pat_str is None:
            utf8 = owner.encode() if isinstance(owner, str) else owner
            over = end_over_budget(self._encoder, utf8, n)
            return None if over < 0 else _character_end(owner, over)
        look = _LOOK
        while True:
            over = _character_end(owner, min(end + look, len(owner)))
            if self._fit(owner[:over], n, goes_on=True) >= 0:
                return over
            if over == len(owner):
                return None
            look *= _GROWTH

    def _fit(self, owner: str | bytes, n: int, *, goes_on: bool) -> int:
        """Return where the longest beginning ends in UTF-8; -1: a longer text decides."""
        cutter = Cutter(self._encoder, owner)
        end: int = cutter.longest_fit(0, min(n, len(owner)), goes_on)
        cutter.close()
        return end


def _character_end(owner: str | bytes, place: int) -> int:
    """Return where the character ends that a place in UTF-8 lies in."""
    if isinstance(owner, bytes):
        while place < len(owner) and owner[place] & 0xC0 == 0x80:
            place += 1
    return place
