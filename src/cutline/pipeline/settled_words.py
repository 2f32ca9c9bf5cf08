"""The settled beginning of a text that grows, for models that encode words apart.

A beginning is settled if nothing that comes after it changes what it is normalized to. Its words
are read once; of the last one, which may go on, the kernel keeps what decides. Proof:
docs/words.md, "Growing texts".
"""

from functools import partial
from typing import Any

from cutline.counting.recounted import RecountedAppender, Settled
from cutline.kernels.words.growing import GrowingWords
from cutline.normalizing import SPACE, Strip, normalize
from cutline.pipeline.settled_sections import are_plain, settled_sections
from cutline.pipeline.settled_text import Sections, SettledText
from cutline.pipeline.words import WordPipeline
from cutline.text_encoder import TextEncoder
from cutline.words.growing_form import GrowingForm

__all__ = ["SettledWords", "ends_sections", "has_plain_sections", "settled_words"]


class SettledWords:
    """See `counting.recounted.Settled`.

    Args:
        pipeline: normalizes and splits; it has no added tokens to find.
        words: has read the beginning.
        begins: nothing is read yet.
    """

    reach = 1  # the character after a beginning decides whether it is settled

    def __init__(self, pipeline: WordPipeline, words: GrowingWords, *, begins: bool) -> None:
        self._pipeline = pipeline
        self._words = words
        self._begins = begins
        steps = pipeline.steps_for(inside=False)
        self._strips = any(isinstance(step, Strip) and step.right for step in steps)
        self.gap = words.window
        self.least = words.least

    def settle(self, more: str) -> "tuple[int, Settled] | None":
        """Settle more of a text; see `Settled`."""
        pipeline, place = self._pipeline, self._last_settled(more)
        if not place:
            form = pipeline.form_at_end if self._begins else pipeline.form_inside
            return _SettledForm(pipeline, self._words, form).settle(more)
        words = self._words.copy()
        for part, is_normal in self._parts(more[:place], ends=False):
            words.go_on(part, is_normal)
        return place, SettledWords(pipeline, words, begins=False)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        kept, _ = self._pipeline.entangled.stripped(rest, self._begins)
        tokens = self._words.count_with(kept, False)
        if tokens >= 0:
            return tokens
        words = self._words.copy()
        *first, (last, is_normal) = self._parts(rest, ends=True)
        for part, is_plain in first:
            words.go_on(part, is_plain)
        return words.count_with(last, is_normal)

    def _parts(self, text: str, *, ends: bool) -> list[tuple[str, bool]]:
        """Cut what comes next, or all of the rest, into parts for the kernel.

        Each is as it is written, or normalized.
        """
        pipeline, begins = self._pipeline, self._begins
        if ends:
            text, _ = pipeline.entangled.stripped(text, begins)
        elif begins and pipeline.rules.first_strip.left:
            text = text.lstrip(SPACE)
        parts = []
        for start, end, is_entangled in pipeline.entangled.few_parts(text):
            part = text[start:end]
            if is_entangled:
                edges = begins and start == 0, ends and end == len(text)
                part = normalize(part, pipeline.entangled.steps_at(*edges))
            parts.append((part, is_entangled))
        return parts

    def _last_settled(self, text: str) -> int:
        """Find the last place up to which what comes next is settled; 0: there is none.

        Where white space is cut off at the end, what is before the place must end in something
        else; or all that comes next is blanks, which the kernel leaves out at the end of a text.
        """
        place = len(text) - 1
        while place > 0:
            if self._pipeline.rules.begins_anew(text, place):
                if not self._strips:
                    return place
                before = place
                while before and self._is_blank(text[before - 1]):
                    before -= 1
                if self._ends_solid(text, before):
                    return before or place
                place = before
            place -= 1
        return 0

    def _is_blank(self, text: str) -> bool:
        made = self._pipeline.normal_of(text)
        return made != "" and made.strip(" ") == ""

    def last_solid(self, text: str) -> int:
        """Find the last place up to which what comes next is settled, and stays; 0: none."""
        begins_anew = self._pipeline.rules.begins_anew
        places = [at for at in range(1, len(text)) if begins_anew(text, at)]
        if not self._strips:
            return max(places, default=0)
        # What is before the first of them may be one with what is before that.
        first, inside = min(places, default=0), text[min(places, default=0) :]
        return next((at for at in places[:0:-1] if self._ends_solid(inside, at - first)), 0)

    def _ends_solid(self, text: str, place: int) -> bool:
        """Whether what is before a place stays at the end, wherever the text is cut."""
        if place == 0:
            return not self._begins
        if not self._pipeline.rules.begins_anew(text, place):
            return False
        start = place - 1
        while start > 0 and not self._pipeline.rules.begins_anew(text, start):
            start -= 1
        made = self._pipeline.normal_of(text[start:place])
        white = self._pipeline.rules.white
        return made != "" and text[place - 1] not in white and made[-1] not in white


class _SettledForm:
    """The same, where no character of the text begins anew for long; its normal form is read.

    Args:
        pipeline: see `SettledWords`.
        words: has read what is settled of the normal form.
        form: what that is.
    """

    reach = 1  # an empty rest would take nothing back

    def __init__(self, pipeline: WordPipeline, words: GrowingWords, form: GrowingForm) -> None:
        self._pipeline = pipeline
        self._words = words
        self._form = form
        self.gap = words.window + form.n_held
        self.least = words.least

    def settle(self, more: str) -> "tuple[int, Settled] | None":
        """Settle more of a text; see `Settled`."""
        if len(more) < 2:
            return None
        words = self._words.copy()
        if place := SettledWords(self._pipeline, words, begins=False).last_solid(more):
            words.go_on(self._form.ended(more[:place]), True)
            return place, SettledWords(self._pipeline, words, begins=False)
        found = self._form.grow(more[:-1])
        if found is None:
            return None
        made, form = found
        words.go_on(made, True)
        return len(more) - 1, _SettledForm(self._pipeline, words, form)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        return self._words.count_with(self._form.ended(rest), True)


class _NormalWords:
    """What is settled of a normalized text without added tokens.

    Args:
        words: has read it.
    """

    reach = 1

    def __init__(self, words: GrowingWords) -> None:
        self._words = words
        self.gap = words.window
        self.least = words.least

    def settle(self, more: str) -> "tuple[int, _NormalWords] | None":
        """Settle more of a text; see `Settled`."""
        if len(more) < 2:
            return None
        words = self._words.copy()
        words.go_on(more[:-1], True)
        return len(more) - 1, _NormalWords(words)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        return self._words.count_with(rest, True)


def settled_words(pipeline: WordPipeline, encoder: TextEncoder) -> Settled | None:
    """Begin a text that grows; None: it is counted from safe split points."""
    raw = pipeline.finder_of_raw, pipeline.ordinary_of_raw
    searches = bool(pipeline.ordinary_of_normalized.texts)
    if not are_plain(*raw) or (searches and not has_plain_sections(pipeline)):
        return None

    def begin(prefixes: bool = not pipeline.rules.only_first) -> Settled:
        if not searches:
            words = GrowingWords(pipeline.kernel, prefixes=prefixes)
            return SettledWords(pipeline, words, begins=True)
        return SettledText(encoder, pipeline.form_at_end, RecountedAppender(sections))

    def begin_normal() -> Settled:
        return _NormalWords(GrowingWords(pipeline.kernel, keeps_end=True))

    sections: Any = Sections(pipeline, begin_normal, begin_normal, pipeline.count_kept)
    return settled_sections(*raw, begin, partial(pipeline.count_section, encoder), begin(True))


def has_plain_sections(pipeline: WordPipeline) -> bool:
    """Return whether normalized text between added tokens has tokens as on its own."""
    if pipeline.rules.only_first:
        return False
    return are_plain(pipeline.finder_of_normalized, pipeline.ordinary_of_normalized)


def ends_sections(pipeline: WordPipeline) -> bool:
    """Return whether what is beside an added token of the given text has tokens as on its own."""
    ordinary = pipeline.ordinary_of_raw
    if not are_plain(pipeline.finder_of_raw, ordinary):
        return False
    return not (ordinary.texts and pipeline.rules.only_first)
