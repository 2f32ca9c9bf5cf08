"""The longest fitting slice without safe split points, section by section among added tokens.

A prefix of a text has the added tokens of the text that end in it. So the tokens of whole sections
add up; in the one that is over the budget, one search finds the longest beginning of its normal
form. Only ends that steps change otherwise than in the whole text are tried. The proof:
docs/tokenizers.md, "Section by section".
"""

from typing import Final

from cutline.pipeline.decided_tokens import DecidedTokens, Section
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.section_form import FormMaker, SectionForm
from cutline.pipeline.settled_sections import are_plain
from cutline.text_encoder import TextEncoder

__all__ = ["SectionFit"]

_CHARACTERS_A_TOKEN: Final = 4  # of the first window, and
_WINDOW: Final = 128  # characters more
_GROWTH: Final = 4
_WINDOWS: Final = 3
_TRIES: Final = 64  # ends that are counted
_MANY_MARKS: Final = 32  # `UpperBound` knows more of these
_counts = Pipeline.counting(frozenset())


class SectionFit:
    """Finds the longest prefixes of texts within a budget.

    Args:
        pipeline: changes the texts; one that `applies`.
        encoder: counts what they become.
    """

    def __init__(self, pipeline: Pipeline, encoder: TextEncoder) -> None:
        self._maker = FormMaker(pipeline, encoder)
        self._tokens = DecidedTokens(pipeline.finder_of_raw)

    @staticmethod
    def applies(pipeline: Pipeline) -> bool:
        """Return whether what follows an added token is a text of its own."""
        spec = pipeline.spec
        if spec.prefix_first or pipeline.steps_after_search:
            return False
        if spec.prefix_space and pipeline.finder_of_normalized.texts:
            return False
        return are_plain(pipeline.finder_of_raw, pipeline.ordinary_of_raw) and are_plain(
            pipeline.finder_of_normalized, pipeline.ordinary_of_normalized
        )

    def longest(self, text: str, start: int, end: int, n: int, *, inside: bool) -> int | None:
        """Find the greatest end, up to `end`, of a slice that has at most n tokens.

        Args:
            text: the text.
            start: of the slice.
            end: at most the text's length.
            n: the budget.
            inside: it begins at a safe split point.

        Returns:
            The end; None: to find it would take long, for added tokens overlap, or much of the text
            may be changed by what comes next.

        Cost: linear in the slice that fits; with a pattern without an automaton, it is counted for
            some of the ends after it.
        """
        width = _CHARACTERS_A_TOKEN * min(n, end - start) + _WINDOW
        for _ in range(_WINDOWS):
            stop = min(end, start + width)
            window = _Window(
                self._maker, self._tokens, text[start:stop], inside=inside, goes_on=stop < end
            )
            found = window.longest(n)
            if found is not None:
                return start + found
            if stop == end:
                return None
            width *= _GROWTH
        return None


class _Window:
    """The beginning of what is cut.

    Args:
        maker: knows what sections become.
        tokens: are searched for in given texts.
        text: the window.
        inside: it begins at a safe split point.
        goes_on: slices may be longer.
    """

    def __init__(
        self, maker: FormMaker, tokens: DecidedTokens, text: str, *, inside: bool, goes_on: bool
    ) -> None:
        self._maker, self._tokens = maker, tokens
        self._text = text
        self._inside = inside
        self._goes_on = goes_on

    def longest(self, n: int) -> int | None:
        """Find the longest prefix that fits; None: a longer window decides, or it takes long."""
        tokens = self._tokens
        section = tokens.section_over(self._text, n, self._count)
        text = self._text[section.start : section.end]
        if not section.is_last and not (tokens.have_none(text) and self._is_decided(section.end)):
            return None
        goes_on = section.is_last and self._goes_on
        is_plain = not tokens.finder.may_find(text)
        prefixes = self._maker.prefixes_of(text, inside=self._inside and not section.start)
        form = SectionForm(self._maker, prefixes, section.left, goes_on=goes_on, is_plain=is_plain)
        if not form.is_known:
            return None
        over = form.first_over()
        if over <= len(text):
            over = tokens.decided(self._text, section.start + over) - section.start
        if over > len(text) and goes_on:
            return None
        if form.is_text:
            return section.start + form.fits
        length = self._longest_in(section, form, min(over - 1, len(text)), is_plain=is_plain)
        return None if length is None else section.start + length

    def _is_decided(self, last: int) -> bool:
        """Return whether the token whose last character this is counts, whatever comes next."""
        return not self._goes_on or self._tokens.decided(self._text, last + 1) <= len(self._text)

    def _longest_in(
        self, section: Section, form: SectionForm, end: int, *, is_plain: bool
    ) -> int | None:
        """Find the longest prefix of a section that fits, up to an end; None: it takes long."""
        text, tries = self._text[section.start : section.end], 0
        for length in range(end, 0, -1):
            tokens = None
            if is_plain or not self._tokens.may_end(text, length):
                kept, more = form.prefix(length)
                if form.is_over(kept, more):
                    continue
                if len(more) > _MANY_MARKS:
                    return None
                tokens = form.count(kept, more)
            if tokens is None:
                tokens = self._count_to(section.start, section.start + length)
            if tokens <= section.left:
                return length
            tries += 1
            if tries == _TRIES:
                return None
        return 0

    def _count(self, start: int, end: int) -> int:
        """Count the tokens of a section."""
        pipeline, text = self._maker.pipeline, self._text[start:end]
        if start or not self._inside:
            return pipeline.count_section(self._maker.encoder, text)
        return pipeline.count_section_inside(self._maker.encoder, text)

    def _count_to(self, start: int, end: int) -> int:
        """Count the tokens of a prefix from the start of a section on; it may end in a token."""
        around = self._text[max(0, start - 1) : start], ""
        parts = self._tokens.finder.cut(self._text[start:end], _counts, around)
        return sum(
            self._count(start + first, start + last) if token is None else 1
            for first, last, token in parts
        )
