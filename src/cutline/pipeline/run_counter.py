"""Counts of slices where a normalizer changes characters, and texts are counted by their runs.

Where no characters change one another, slices are those of the changed text.
docs/tokenizers.md, "Runs that a normalizer changes", has the proof.
"""

from functools import cached_property
from operator import index

from cutline.kernels.breaks.few_breaks import FewSums
from cutline.kernels.words.run_images import ImagePlaces, change_text
from cutline.pipeline.few_counter import RunCounter
from cutline.pipeline.known_counter import KnownCounter
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.spelled import SpelledCounter
from cutline.text_encoder import TextEncoder

__all__ = ["EntangledCounter", "ImageCounter", "run_counter"]


def run_counter(
    pipeline: Pipeline, encoding: TextEncoder, text: str
) -> "EntangledCounter | ImageCounter | None":
    """Return what counts slices of a text by its runs; None: its runs are not counted."""
    rules = pipeline.images_for(text)
    if rules is None:
        return None
    if not rules.is_entangled(text):
        return ImageCounter(pipeline, encoding, text)
    return EntangledCounter(pipeline, encoding, text)


class EntangledCounter(KnownCounter):
    """Like `KnownCounter`, for a text of which few slices are counted by its runs."""

    @cached_property
    def _runs(self) -> RunCounter:
        return RunCounter(self._pipeline, self._encoding, self._text)

    def _few_sums_for(self, n: int) -> FewSums | None:
        """See `FewCounter`."""
        sums = self._runs._sums_for(n)
        return self._sums_for(n) if sums is None else sums


class ImageCounter(SpelledCounter):
    """Like `SpelledCounter`, for a text of which no characters change one another."""

    @cached_property
    def _spelling(self) -> tuple[str, ImagePlaces]:
        rules = self._pipeline.images
        assert rules is not None
        changed = change_text(rules, self._text)
        assert changed is not None  # there are no surrogates, and none change one another
        return changed

    def split_at(self, start: int, n: int) -> int:
        """Find the longest slice from a start that fits; see `SliceCounter.split_at`."""
        start = index(start)
        # A character may become several: where not all of these fit, those before it need not.
        end = max(start, super().split_at(start, n))
        while end > start and self.count(start, end) > n:
            end -= 1
        # What vanishes between blanks that become one is no token without the next of these.
        while end < len(self._text) and self._becomes_nothing(start, end + 1):
            end += 1
        return end

    def _becomes_nothing(self, start: int, end: int) -> bool:
        first, last = self._spelling[1].span_of(start, end)
        return first == last
