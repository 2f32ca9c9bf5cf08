"""What is settled of a text that grows, where a normalizer changes it before BPE.

A beginning is settled if nothing that comes after it changes its normal form, which an `Appender`
counts with that of the rest; an end, with a `Prepender`, if nothing that comes before it does.
Proof: docs/counting.md, "Growing texts that are changed".
"""

from typing import Any, cast

from cutline.counting.appender import Appender
from cutline.counting.prepender import Prepender
from cutline.counting.recounted import RecountedAppender, Settled
from cutline.normalizing import Form, Lower, Prepend, Replace, Spell, Step, Unknown, normalize
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.settled_sections import looks_around, settled_sections
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
        self._prefix = " " if pipeline.spec.prefix_space else ""
        self.begins_anew = BeginsAnew(steps, [*map(_looks, steps)])
        # An added token that begins before a place ends within so many characters after it. A
        # special one is none, but hides others inside it.
        finder = pipeline.finder_of_raw if pipeline.ordinary_of_raw.texts else None
        self.may_find = finder.may_find if finder is not None else lambda text: False
        texts = finder.texts if finder is not None else ()
        self.after = max((len(text) for text in texts), default=1) - 1

    def normal_start(self, text: str) -> str:
        """Normalize the start of a text."""
        made = normalize(text, self.pipeline.spec.normalizer)
        return self._prefix + made if made and not made.startswith(" ") else made


class SettledText:
    """See `counting.recounted.Settled`.

    Args:
        rules: how the text is changed.
        grown: the normal form of it, and perhaps more.
        length: the length of that normal form.
        begins: whether there is no beginning yet.
    """

    reach = 1  # the character after a beginning decides whether it is settled
    gap = 1

    def __init__(
        self, rules: _Rules, grown: Appender | RecountedAppender, length: int, *, begins: bool
    ) -> None:
        self._rules = rules
        self._grown = grown
        self._length = length
        self._begins = begins

    def settle(self, more: str) -> "tuple[int, SettledText] | None":
        """Settle more of a text; see `Settled`."""
        rules = self._rules
        place = len(more) - 1
        while place > 0 and not rules.begins_anew[more[place]]:
            place -= 1
        if place <= 0:
            return None
        made = self._normal(more[:place])
        if self._begins and not made:
            return None  # what comes next is the start of the text
        self._go_back()
        self._grown.append(made)
        return place, SettledText(rules, self._grown, self._grown.text_length, begins=False)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        self._go_back()
        made = self._normal(rest)
        if isinstance(self._grown, RecountedAppender):
            return self._grown._count_with(made)
        self._grown.append(made)
        return self._grown.count

    def _go_back(self) -> None:
        """Drop what was added to the settled normal form to count with it."""
        self._grown.truncate(self._length)

    def _normal(self, text: str) -> str:
        """Normalize what comes next."""
        if self._begins:
            return self._rules.normal_start(text)
        return normalize(text, self._rules.pipeline.spec.normalizer, at_start=False)


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
                self._grown.prepend(self._rules.normal_start(rest[start:]))
            else:
                tokens += pipeline.count(self._rules.encoder, rest[start:end])
        return tokens + self._grown.count

    def _go_back(self) -> None:
        """Drop what was added to the settled normal form to count with it."""
        self._grown.truncate(self._length)


class _AppendedText:
    """The settled beginning of a normalized text without added tokens: all that there is."""

    reach = 1  # an empty rest would take nothing back
    gap = 1

    def __init__(self, grown: Appender, length: int = 0) -> None:
        self._grown = grown
        self._length = length

    def settle(self, more: str) -> "tuple[int, _AppendedText] | None":
        """Settle more of a text; see `Settled`."""
        if len(more) < 2:
            return None
        self._grown.truncate(self._length)
        self._grown.append(more[:-1])
        return len(more) - 1, _AppendedText(self._grown, self._grown.text_length)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        self._grown.truncate(self._length)
        self._grown.append(rest)
        return self._grown.count


class _AmongTokens(RecountedAppender):
    """A normalized text that grows, with added tokens.

    Args:
        pipeline: finds them.
        encoder: counts what is between them.
    """

    def __init__(self, pipeline: Pipeline, encoder: TextEncoder) -> None:
        self._pipeline = pipeline
        self._encoder = encoder
        super().__init__(cast("Any", encoder))  # nothing else is asked

    def _begin(self) -> Settled:
        finder, ordinary = (
            self._pipeline.finder_of_normalized,
            self._pipeline.ordinary_of_normalized,
        )
        count = self._encoder._count_normalized
        return settled_sections(finder, ordinary, self._begin_section, count)

    def _begin_section(self) -> Settled:
        return _AppendedText(Appender._of_normalized(self._encoder))


def settled_text(pipeline: Pipeline, encoder: TextEncoder) -> Settled | None:
    """Begin a text that grows at its end; None: it is counted from safe split points."""
    spec, of_normalized = pipeline.spec, pipeline.ordinary_of_normalized
    if not _can_settle(pipeline, encoder):
        return None
    # What is put before a section may depend on where it begins.
    if (spec.prefix_first and pipeline.ordinary_finders) or (
        spec.prefix_space and of_normalized.texts
    ):
        return None
    rules = _Rules(pipeline, encoder)

    def begin() -> Settled:
        grown: Appender | RecountedAppender
        if of_normalized.texts:
            grown = _AmongTokens(pipeline, encoder)
        else:
            grown = Appender._of_normalized(encoder)
        return SettledText(rules, grown, 0, begins=True)

    return settled_sections(pipeline.finder_of_raw, pipeline.ordinary_of_raw, begin, encoder.count)


def text_at_end(pipeline: Pipeline, encoder: TextEncoder) -> TextAtEnd | None:
    """Begin a text that grows at its beginning; None: it is counted up to safe split points."""
    # Tokens in normalized text could reach into what is settled; it would be changed like a start
    # if an added token is found right before it.
    if not _can_settle(pipeline, encoder) or pipeline.ordinary_of_normalized.texts:
        return None
    if pipeline.changes_starts and pipeline.ordinary_of_raw.texts:
        return None
    return TextAtEnd(_Rules(pipeline, encoder), 0, Prepender._of_normalized(encoder), 0)


def _can_settle(pipeline: Pipeline, encoder: TextEncoder) -> bool:
    """Return whether parts of a text can be normalized for good."""
    spec = pipeline.spec
    if spec.splittings or spec.marks_words or not encoder._has_automaton:
        return False
    if any(
        looks_around(token) for one in pipeline.ordinary_finders for token in one.texts.values()
    ):
        return False
    return all(isinstance(step, _KNOWN) for step in spec.normalizer)


def _looks(step: Step) -> bool:
    """Return whether what a step makes of a character may depend on its neighbours."""
    match step:
        case Replace(old=old):
            return len(old) != 1
        case Unknown(fuses=fuses):
            return fuses
    return not isinstance(step, Lower | Spell)
