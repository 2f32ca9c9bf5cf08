"""What is settled of a text that grows, where a normalizer changes it before BPE.

A beginning is settled if nothing that comes after it changes its normal form, which an `Appender`
counts with that of the rest; an end, with a `Prepender`, if nothing that comes before it does.
Proof: docs/counting.md, "Growing texts that are changed".
"""

from cutline.counting.appender import Appender
from cutline.counting.prepender import Prepender
from cutline.normalizing import Form, Lower, Prepend, Replace, Spell, Step, Unknown, normalize
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder
from cutline.words.beginnings import BeginsAnew

__all__ = ["SettledText", "TextAtEnd", "settled_text", "text_at_end"]

_KNOWN = Form | Lower | Prepend | Replace | Spell | Unknown


class _Rules:
    """What is the same for all that is settled of a text."""

    def __init__(self, pipeline: Pipeline, encoder: TextEncoder) -> None:
        steps = tuple(step for step in pipeline.spec.normalizer if not isinstance(step, Prepend))
        self.pipeline = pipeline
        self.encoder = encoder
        self.begins_anew = BeginsAnew(steps, [*map(_looks, steps)])
        # An added token that begins before a place ends within so many characters after it. A
        # special one is none, but hides others inside it.
        finder = pipeline.finder_of_raw if pipeline.ordinary_of_raw.texts else None
        self.may_find = finder.may_find if finder is not None else lambda text: False
        texts = finder.texts if finder is not None else ()
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
        if rules.may_find(more):
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


class TextAtEnd:
    """The end of a text that grows at its beginning; see `counting.recounted.Settled`.

    Args:
        rules: how the text is changed.
        tokens: of what is after the first safe split point before an added token.
        grown: the normal form of what precedes it, and perhaps more.
        length: the length of that normal form.
        reach: see `Settled`.
    """

    gap = 1

    def __init__(
        self, rules: _Rules, tokens: int, grown: Prepender, length: int, reach: int = 1
    ) -> None:
        self._rules = rules
        self._tokens = tokens
        self._grown = grown
        self._length = length
        self.reach = reach

    def settle(self, more: str) -> "tuple[int, TextAtEnd] | None":
        """Settle more of a text; see `Settled`."""
        rules = self._rules
        if rules.may_find(more):
            return self._settle_parts(more)
        # No added token begins before the place and ends after it. What is before it does not
        # vanish as a whole, or else what is settled would be the start of the text.
        place = first = self._next_beginning(more, 0)
        while first and place and place < max(first + 1, rules.after):
            place = self._next_beginning(more, place)
        if not place:
            return None
        self._go_back()
        self._grown.prepend(normalize(more[place:], rules.pipeline.spec.normalizer, at_start=False))
        length = self._grown.text_length
        return len(more) - place, TextAtEnd(rules, self._tokens, self._grown, length, place)

    def _next_beginning(self, text: str, place: int) -> int:
        """Find the next character that begins anew; 0: there is none."""
        begins_anew = self._rules.begins_anew
        return next((at for at in range(place + 1, len(text)) if begins_anew[text[at]]), 0)

    def _settle_parts(self, more: str) -> "tuple[int, TextAtEnd] | None":
        """Settle from the first safe split point on."""
        rules = self._rules
        place = next(iter(rules.pipeline.safe_points.find(more)), 0)
        if not place:
            return None
        tokens = self.count_with(more[place:])
        grown = Prepender._of_normalized(rules.encoder)
        return len(more) - place, TextAtEnd(rules, tokens, grown, 0)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it begins like this."""
        pipeline, tokens = self._rules.pipeline, self._tokens
        self._go_back()
        for start, end, token in pipeline.finder_of_raw.cut(rest, pipeline.counting(frozenset())):
            if token is not None:
                tokens += 1
            elif end == len(rest):
                pieces = pipeline.pieces(rest[start:], frozenset())
                made = "".join(piece for piece in pieces if isinstance(piece, str))  # all are
                self._grown.prepend(made)
            else:
                tokens += pipeline.count(self._rules.encoder, rest[start:end])
        return tokens + self._grown.count

    def _go_back(self) -> None:
        """Drop what was added to the settled normal form to count with it."""
        self._grown.truncate(self._length)


def settled_text(pipeline: Pipeline, encoder: TextEncoder) -> SettledText | None:
    """Begin a text that grows at its end; None: it is counted from safe split points."""
    if not _can_settle(pipeline, encoder):
        return None
    if pipeline.spec.prefix_first and pipeline.ordinary_of_raw.texts:
        return None
    grown = Appender._of_normalized(encoder)
    return SettledText(_Rules(pipeline, encoder), 0, grown, 0, begins=True)


def text_at_end(pipeline: Pipeline, encoder: TextEncoder) -> TextAtEnd | None:
    """Begin a text that grows at its beginning; None: it is counted up to safe split points."""
    if not _can_settle(pipeline, encoder):
        return None
    # What is settled would be changed like a start if an added token is found right before it.
    if pipeline.changes_starts and pipeline.ordinary_of_raw.texts:
        return None
    return TextAtEnd(_Rules(pipeline, encoder), 0, Prepender._of_normalized(encoder), 0)


def _can_settle(pipeline: Pipeline, encoder: TextEncoder) -> bool:
    """Return whether parts of a text can be normalized for good."""
    spec, ordinary = pipeline.spec, pipeline.ordinary_of_raw.texts.values()
    if spec.splittings or spec.marks_words or not encoder._has_automaton:
        return False
    if not all(isinstance(step, _KNOWN) for step in spec.normalizer):
        return False
    # Tokens in normalized text, and those that look around, could reach into what is settled.
    if pipeline.ordinary_of_normalized.texts:
        return False
    return not any(token.lstrip or token.rstrip or token.single_word for token in ordinary)


def _looks(step: Step) -> bool:
    """Return whether what a step makes of a character may depend on its neighbours."""
    match step:
        case Replace(old=old):
            return len(old) != 1
        case Unknown(fuses=fuses):
            return fuses
    return not isinstance(step, Lower | Spell)
