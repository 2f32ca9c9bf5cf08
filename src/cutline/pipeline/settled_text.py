"""The settled beginning of a text that grows, where a normalizer changes it before BPE.

A beginning is settled if nothing that comes after it changes its normal form, which an `Appender`
counts with that of the rest. Proof: docs/counting.md, "Growing texts that are changed".
"""

from cutline.counting.appender import Appender
from cutline.normalizing import Form, Lower, Prepend, Replace, Spell, Step, Unknown, normalize
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder
from cutline.words.beginnings import BeginsAnew

__all__ = ["SettledText", "settled_text"]

_KNOWN = Form | Lower | Prepend | Replace | Spell | Unknown


class _Rules:
    """What is the same for all beginnings of a text."""

    def __init__(self, pipeline: Pipeline, encoder: TextEncoder) -> None:
        steps = tuple(step for step in pipeline.spec.normalizer if not isinstance(step, Prepend))
        self.pipeline = pipeline
        self.encoder = encoder
        self.begins_anew = BeginsAnew(steps, [*map(_looks, steps)])
        # An added token that begins before a place ends within so many characters after it.
        texts = pipeline.ordinary_of_raw.texts
        self.after = max((len(text) for text in texts), default=1) - 1


class SettledText:
    """See `counting.recounted.Settled`.

    Args:
        rules: how the text is changed.
        tokens: of what is before the last safe split point behind an added token.
        grown: the normal form of what follows it, and perhaps more.
        length: the length of that normal form.
        begins: whether there is no beginning yet.
    """

    reach = 1  # the character after a beginning decides whether it is settled
    gap = 1

    def __init__(
        self, rules: _Rules, tokens: int, grown: Appender, length: int, *, begins: bool
    ) -> None:
        self._rules = rules
        self._tokens = tokens
        self._grown = grown
        self._length = length
        self._begins = begins

    def settle(self, more: str) -> "tuple[int, SettledText] | None":
        """Settle more of a text; see `Settled`."""
        rules = self._rules
        if rules.pipeline.ordinary_of_raw.may_find(more):
            return self._settle_parts(more)
        place = len(more) - 1 - rules.after
        while place > 0 and not rules.begins_anew[more[place]]:
            place -= 1
        if place <= 0:
            return None
        made = self._normal(more[:place])
        if self._begins and not made:
            return None  # what comes next is the start of the text
        self._go_back()
        self._grown.append(made)
        length = self._grown.text_length
        return place, SettledText(rules, self._tokens, self._grown, length, begins=False)

    def _settle_parts(self, more: str) -> "tuple[int, SettledText] | None":
        """Settle up to the last safe split point."""
        rules = self._rules
        points = rules.pipeline.safe_points.find(more)
        place = max((at for at in points if at < len(more)), default=0)
        if not place:
            return None
        grown = Appender._of_normalized(rules.encoder)
        tokens = self.count_with(more[:place])
        return place, SettledText(rules, tokens, grown, 0, begins=False)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        pipeline, tokens = self._rules.pipeline, self._tokens
        self._go_back()
        for start, end, token in pipeline.finder_of_raw.cut(rest, pipeline.counting(frozenset())):
            if token is not None:
                tokens += 1
            elif start == 0:
                self._grown.append(self._normal(rest[:end]))
            else:
                tokens += pipeline.count(self._rules.encoder, rest[start:end])
        return tokens + self._grown.count

    def _go_back(self) -> None:
        """Drop what was added to the settled normal form to count with it."""
        self._grown.truncate(self._length)

    def _normal(self, text: str) -> str:
        """Normalize what comes next."""
        pipeline = self._rules.pipeline
        if not self._begins:
            return normalize(text, pipeline.spec.normalizer, at_start=False)
        pieces = pipeline.pieces(text, frozenset())
        return "".join(piece for piece in pieces if isinstance(piece, str))  # all are


def settled_text(pipeline: Pipeline, encoder: TextEncoder) -> SettledText | None:
    """Begin a text that grows; None: it is counted from safe split points."""
    spec, ordinary = pipeline.spec, pipeline.ordinary_of_raw.texts.values()
    if spec.splittings or spec.marks_words or not encoder._has_automaton:
        return None
    if not all(isinstance(step, _KNOWN) for step in spec.normalizer):
        return None
    # Tokens in normalized text, and those that look around, could reach into a settled beginning.
    if pipeline.ordinary_of_normalized.texts or (ordinary and spec.prefix_first):
        return None
    if any(token.lstrip or token.rstrip or token.single_word for token in ordinary):
        return None
    grown = Appender._of_normalized(encoder)
    return SettledText(_Rules(pipeline, encoder), 0, grown, 0, begins=True)


def _looks(step: Step) -> bool:
    """Return whether what a step makes of a character may depend on its neighbours."""
    match step:
        case Replace(old=old):
            return len(old) != 1
        case Unknown(fuses=fuses):
            return fuses
    return not isinstance(step, Lower | Spell)
