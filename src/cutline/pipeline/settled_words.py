"""The settled beginning of a text that grows, for models that encode words apart.

A beginning is settled if nothing that comes after it changes what it is normalized to. Its words are
read once; of the last one, which may go on, the kernel keeps what decides. Proof: docs/words.md,
"Growing texts".
"""

from cutline.kernels.words.growing import GrowingWords
from cutline.normalizing import SPACE, normalize
from cutline.pipeline.words import WordPipeline

__all__ = ["SettledWords"]


class SettledWords:
    """See `counting.recounted.Settled`.

    Args:
        pipeline: normalizes and splits; it has no added tokens to find.
        words: has read the beginning; None: there is none yet.
    """

    reach = 1  # the character after a beginning decides whether it is settled

    def __init__(self, pipeline: WordPipeline, words: GrowingWords | None = None) -> None:
        self._pipeline = pipeline
        self._begins = words is None
        self._words = GrowingWords(pipeline.kernel) if words is None else words
        self.gap = self._words.window

    def settle(self, more: str) -> "tuple[int, SettledWords] | None":
        """Settle more of a text; see `Settled`."""
        place = self._last_settled(more)
        if not place:
            return None
        words = self._words.copy()
        for part, is_normal in self._parts(more[:place], ends=False):
            words.go_on(part, is_normal)
        return place, SettledWords(self._pipeline, words)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        kept, _ = self._pipeline._stripped(rest, self._begins)
        tokens = self._words.count_with(kept, False)
        if tokens >= 0:
            return tokens
        words = self._words.copy()
        *first, (last, is_normal) = self._parts(rest, ends=True)
        for part, is_plain in first:
            words.go_on(part, is_plain)
        return words.count_with(last, is_normal)

    def _parts(self, text: str, *, ends: bool) -> list[tuple[str, bool]]:
        """Cut what comes next, or all of the rest, into parts for the kernel; are they normalized?"""
        pipeline, begins = self._pipeline, self._begins
        if ends:
            text, _ = pipeline._stripped(text, begins)
        elif begins and pipeline._strips_raw and pipeline.rules.strips_raw[0]:
            text = text.lstrip(SPACE)
        parts = []
        for start, end, is_entangled in pipeline._parts(text):
            part = text[start:end]
            if is_entangled:
                strip = pipeline.strip_at(begins and start == 0, ends and end == len(text))
                part = strip.apply(normalize(part, pipeline.rules.char_steps))
            parts.append((part, is_entangled))
        return parts

    def _last_settled(self, text: str) -> int:
        """Find the last place up to which what comes next is settled; 0: there is none.

        Where white space is cut off at the end, what is before the place must end in something
        else, or in blanks after it, which the kernel leaves out at the end of a text.
        """
        pipeline, rules = self._pipeline, self._pipeline.rules
        strips = rules.last_strip.right or (pipeline._strips_raw and rules.strips_raw[1])
        place = len(text) - 1
        while place > 0:
            if rules.begins_anew(text, place):
                if not strips:
                    return place
                before = place
                while before and self._is_blank(text, before - 1):
                    before -= 1
                if self._ends_solid(text, before):
                    return place
                place = before
            place -= 1
        return 0

    def _is_blank(self, text: str, place: int) -> bool:
        if text[place] not in SPACE or (place and not self._pipeline.rules.begins_anew(text, place)):
            return False
        made = self._pipeline.normal_of(text[place])
        return made != "" and made.strip(" ") == ""

    def _ends_solid(self, text: str, place: int) -> bool:
        """Whether the character before a place stays at the end, wherever the text is cut."""
        if place == 0:
            return not self._begins
        character = text[place - 1]
        if place > 1 and not self._pipeline.rules.begins_anew(text, place - 1):
            return False
        made = self._pipeline.normal_of(character)
        return made != "" and character not in SPACE and made[-1] not in SPACE
