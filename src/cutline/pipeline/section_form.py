"""The normal form of a section of a text, between two added tokens, and how much of it fits."""

from bisect import bisect_left
from functools import cached_property
from typing import Final

from cutline.pipeline.decided_tokens import DecidedTokens
from cutline.pipeline.longest_beginning import LongestBeginning
from cutline.pipeline.longest_fit import GrownPrefixes
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder
from cutline.words.beginnings import BeginsAnew
from cutline.words.prefixes import Prefixes

__all__ = ["FormMaker", "SectionForm"]

_NEAR: Final = 64  # characters that are looked at one by one


class FormMaker:
    """Makes `SectionForm`s.

    Args:
        pipeline: changes texts.
        encoder: counts what they become.

    Attributes:
        pipeline: see above.
        encoder: see above.
        tokens: are searched for in normalized text.
        beginning: finds the longest beginning of what is between these.
    """

    def __init__(self, pipeline: Pipeline, encoder: TextEncoder) -> None:
        self.pipeline = pipeline
        self.encoder = encoder
        self.tokens = DecidedTokens(pipeline.finder_of_normalized)
        self.beginning = LongestBeginning(pipeline, encoder)
        self._beginnings = BeginsAnew.inside(pipeline.spec.normalizer)

    def prefixes_of(self, text: str, *, inside: bool) -> "Prefixes | _Unchanged":
        """Return what prefixes of a section become; `inside`: it begins at a safe split point."""
        pipeline = self.pipeline
        if (inside or not pipeline.changes_starts) and all(
            step.keeps_slices(text) for step in pipeline.steps_for(inside=True)
        ):
            return _Unchanged(text, self._beginnings)
        return pipeline.prefixes_for(text, inside=inside)


class SectionForm:
    """The normal form of a section.

    Args:
        maker: knows the tokenizer.
        prefixes: what prefixes of the section become.
        n: the budget.
        goes_on: the section may be longer.
        is_plain: no added token may count at the end of a prefix of the section as it is written.

    Attributes:
        is_known: the others hold; else finding them would take long.
        fits: the characters of the longest beginning of the form that fits.
        is_text: the form is the text as it is written, and so is that of each prefix.
    """

    def __init__(
        self, maker: FormMaker, prefixes: "Prefixes | _Unchanged", n: int, *, goes_on: bool,
        is_plain: bool,
    ) -> None:  # fmt: skip
        self._maker = maker
        self._prefixes = prefixes
        self._n = n
        self._text = text = prefixes.known if goes_on else prefixes.normalized
        self._part = part = maker.tokens.section_over(text, n, self._count)
        ordinary = text[part.start : part.end]
        self._is_plain = not maker.tokens.finder.may_find(ordinary)
        self.is_text = is_plain and self._is_plain and isinstance(prefixes, _Unchanged)
        self.is_known = part.is_last or self._is_plain or maker.tokens.have_none(ordinary)
        self.fits, self._over = part.start, None
        if self.is_known:
            asks_over = goes_on or not self.is_text
            fits, self._over = maker.beginning.find(
                ordinary, part.left, asks_over=asks_over, goes_on=goes_on and part.is_last
            )
            self.is_known = fits is not None
            self.fits += fits or 0

    def _count(self, start: int, end: int) -> int:
        return self._maker.pipeline.count_between(self._maker.encoder, self._text[start:end])

    def first_over(self) -> int:
        """Return a length such that texts are over the budget that begin with so much of it.

        More than the section's length: none is known.
        """
        part, text = self._part, self._text
        if self._over is None and part.is_last:
            return self._prefixes.first_beyond(len(self._prefixes.normalized) + 1)
        place = part.end + 1 if self._over is None else part.start + self._over
        return self._prefixes.first_beyond(
            min(self._maker.tokens.decided(text, place), len(self._prefixes.normalized) + 1)
        )

    def prefix(self, length: int) -> tuple[int, str]:
        """Return what a prefix of the section becomes: so much of the form, and some more."""
        return self._prefixes.of(length)

    def is_over(self, kept: int, more: str) -> bool:
        """Return whether so much of the form, and some more, is known to be over the budget."""
        return not more and kept > self.fits and not self._may_end(kept, "")

    def count(self, kept: int, more: str) -> int | None:
        """Count the tokens of so much of the form and some more; None: it may have other tokens."""
        maker, part = self._maker, self._part
        if not part.start <= kept <= part.end or self._may_end(kept, more):
            return None
        if maker.beginning.by_kernel:
            tokens = self._grown.with_more(kept - part.start, more)
        else:
            text = self._prefixes.normalized[part.start : kept] + more
            tokens = maker.pipeline.count_between(maker.encoder, text)
        return None if tokens is None else self._n - part.left + tokens

    @cached_property
    def _grown(self) -> GrownPrefixes:
        text = self._prefixes.normalized[self._part.start : self._part.end]
        return GrownPrefixes(self._maker.encoder, text)

    def _may_end(self, kept: int, more: str) -> bool:
        """Return whether an added token may count there that the whole form has not."""
        if self._is_plain and not more:
            return False
        return self._maker.tokens.may_end(self._prefixes.normalized, kept, more)


class _Unchanged:
    """Like `Prefixes`, of a text that no step changes, nor a slice of it.

    Args:
        text: the text.
        beginnings: which of its characters begin anew.
    """

    def __init__(self, text: str, beginnings: BeginsAnew) -> None:
        self.normalized = text
        self._beginnings = beginnings

    @property
    def known(self) -> str:
        """See `Prefixes`."""
        text, last = self.normalized, len(self.normalized) - 1
        for end in range(last, max(0, last - _NEAR), -1):
            if self._beginnings.at(text, end):
                return text[:end]
        return text[: self._places[-1]] if self._places else ""

    def first_beyond(self, place: int) -> int:
        """See `Prefixes`: the character at the place, or behind it, begins anew."""
        text = self.normalized
        if place <= 0:
            return 1
        for near in range(place, min(place + _NEAR, len(text))):
            if self._beginnings.at(text, near):
                return near + 1
        after = bisect_left(self._places, place)
        return (self._places[after] if after < len(self._places) else len(text)) + 1

    @cached_property
    def _places(self) -> list[int]:
        """All that begin anew, where none is near."""
        return self._beginnings.places(self.normalized)

    def of(self, end: int) -> tuple[int, str]:
        """See `Prefixes`."""
        return end, ""
