"""The settled beginning of a text that grows, for models that encode words apart.

A beginning is settled if nothing that comes after it changes what it is normalized to. Its words
are read once; of the last one, which may go on, the kernel keeps what decides. Proof:
docs/words.md, "Growing texts".
"""

from functools import partial
from typing import Any

from cutline.counting.recounted import RecountedAppender, Settled
from cutline.kernels.words.growing import GrowingWords
from cutline.normalizing import SPACE, normalize
from cutline.pipeline.settled_sections import are_plain, settled_sections
from cutline.pipeline.settled_text import Rules, Sections, SettledText
from cutline.pipeline.words import WordPipeline
from cutline.text_encoder import TextEncoder

__all__ = ["SettledWords", "ends_sections", "settled_words"]


class SettledWords:
    """See `counting.recounted.Settled`.

    Args:
        pipeline: normalizes and splits; it has no added tokens to find.
        words: has read the beginning.
        held: what of it is not read yet: it goes before what comes next.
        begins: nothing is read yet.
        context: stands for the beginning, where what comes next joins its last cluster.
    """

    reach = 1  # the character after a beginning decides whether it is settled

    def __init__(
        self,
        pipeline: WordPipeline,
        words: GrowingWords,
        held: str = "",
        *,
        begins: bool,
        context: str = "",
    ) -> None:
        self._pipeline = pipeline
        self._words = words
        self._held = held
        self._context = context
        self._begins = begins
        rules = pipeline.rules
        raw_strip = pipeline._strips_raw and rules.strips_raw[1]
        self._strips = rules.last_strip.right or raw_strip
        self.gap = words.window
        self.least = words.least

    def settle(self, more: str) -> "tuple[int, SettledWords] | None":
        """Settle more of a text; see `Settled`."""
        pipeline, text = self._pipeline, self._held + more
        place = self._last_settled(self._context + text) - len(self._context)
        if place <= 0 or place < len(self._held):
            if (inside := self._inside_cluster(text)) is not None:
                return len(more), inside
            held = self._shortened(text)
            if 2 * len(held) > len(text):
                return None
            return len(more), SettledWords(
                pipeline, self._words, held, begins=self._begins, context=self._context
            )
        return place - len(self._held), SettledWords(
            pipeline, self._gone_on(text[:place]), begins=False
        )

    def _gone_on(self, text: str) -> GrowingWords:
        """Read what is settled next."""
        words = self._words.copy()
        for part, is_normal in self._parts(text, ends=False):
            words.go_on(part, is_normal)
        return words

    def _inside_cluster(self, text: str) -> "SettledWords | None":
        """Settle all of a text that ends inside a long cluster, whatever joins that."""
        pipeline, whole = self._pipeline, self._context + text
        context = pipeline.rules.stand_in(whole)
        if context is None or 2 * len(context) > len(whole):
            return None
        if self._strips and normalize(whole[-1], pipeline.rules.char_steps).strip(SPACE) == "":
            return None
        return SettledWords(pipeline, self._gone_on(text), begins=False, context=context)

    def _shortened(self, text: str) -> str:
        """Return a text that stands for another one, in which nothing can be settled."""
        if not self._strips:
            return self._pipeline.rules.without_vanished(text)
        # Of a run of blanks, which is cut off or not as a whole, the last ones stand for all.
        alike = len({one in SPACE for one in text}) == 1
        return text[-2:] if alike and all(map(self._is_blank, (text, text[-2:]))) else text

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        rest = self._held + rest
        kept, _ = self._pipeline._stripped(rest, self._begins)
        tokens = -1 if self._context else self._words.count_with(kept, False)
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
            text, _ = pipeline._stripped(text, begins)
        elif begins and pipeline._strips_raw and pipeline.rules.strips_raw[0]:
            text = text.lstrip(SPACE)
        parts, steps = [], pipeline.rules.char_steps
        text, done = self._context + text, len(self._context)
        known = len(normalize(self._context, steps))  # characters that are read already
        for start, end, is_entangled in pipeline._parts(text):
            if done and end <= done and end < len(text):
                continue
            is_joined = start < done
            part = text[0 if is_joined else start : end]
            if is_entangled or is_joined:
                strip = pipeline.strip_at(begins and start == 0, ends and end == len(text))
                part = strip.apply(normalize(part, steps)[known if is_joined else 0 :])
            parts.append((part, is_entangled or is_joined))
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
        return made != "" and text[place - 1] not in SPACE and made[-1] not in SPACE


class _NormalWords:
    """What is settled of a normalized text without added tokens, from which nothing is cut off.

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
    if not ends_sections(pipeline):
        return None
    searches = bool(pipeline.ordinary_of_normalized.texts)
    if searches and not _has_plain_sections(pipeline):
        return None
    rules = Rules(pipeline, encoder)

    def begin() -> Settled:
        if not searches:
            return SettledWords(pipeline, GrowingWords(pipeline.kernel), begins=True)
        return SettledText(rules, RecountedAppender(sections), 0, begins=True)

    def begin_normal() -> Settled:
        return _NormalWords(GrowingWords(pipeline.kernel))

    sections: Any = Sections(
        pipeline, begin_normal, begin_normal, partial(pipeline.count_normalized, begins=True)
    )
    raw = pipeline.finder_of_raw, pipeline.ordinary_of_raw
    return settled_sections(*raw, begin, partial(pipeline.count_section, encoder))


def _has_plain_sections(pipeline: WordPipeline) -> bool:
    """Return whether normalized text between added tokens has tokens as on its own."""
    if pipeline._only_first or pipeline.strips:
        return False
    return are_plain(pipeline.finder_of_normalized, pipeline.ordinary_of_normalized)


def ends_sections(pipeline: WordPipeline) -> bool:
    """Return whether what is beside an added token of the given text has tokens as on its own."""
    ordinary = pipeline.ordinary_of_raw
    if not are_plain(pipeline.finder_of_raw, ordinary):
        return False
    return not (ordinary.texts and pipeline._only_first)
