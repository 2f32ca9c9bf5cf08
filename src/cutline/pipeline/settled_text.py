"""What is settled of a text that grows, where a normalizer changes it before BPE.

A beginning is settled if nothing that comes after it changes its normal form, which an `Appender`
counts with that of the rest; an end, with a `Prepender`, if nothing that comes before it does.
Proof: docs/counting.md, "Growing texts that are changed".
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from cutline.counting.appender import Appender
from cutline.counting.prepender import Prepender
from cutline.counting.recounted import RecountedAppender, RecountedPrepender, Settled
from cutline.normalizing import (
    SPACE,
    Step,
    Strip,
    normalize,
)
from cutline.pipeline.added import AddedFinder
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.settled_sections import are_plain, sections_at_end, settled_sections
from cutline.text_encoder import TextEncoder
from cutline.words.beginnings import BeginsAnew

__all__ = ["Rules", "Sections", "SettledText", "TextAtEnd", "settled_text", "text_at_end"]

_TRIES: Final = 4  # places next to white space that is stripped

_Grown = Appender | Prepender | RecountedAppender | RecountedPrepender


class Rules:
    """What is the same for all that is settled of a text."""

    def __init__(self, pipeline: Pipeline, encoder: TextEncoder) -> None:
        steps = pipeline.spec.normalizer
        self.pipeline = pipeline
        self.encoder = encoder
        self._steps = {
            (starts, ends): tuple(_inside(step, starts, ends) for step in steps)
            for starts in (False, True)
            for ends in (False, True)
        }
        self._prefix = " " if pipeline.spec.prefix_space else ""
        self.begins_anew = BeginsAnew.inside(steps)

    def normal(self, text: str, *, starts: bool, ends: bool) -> str:
        """Normalize a part of a text that starts or ends with it."""
        made = normalize(text, self._steps[starts, ends], at_start=starts)
        return self._prefix + made if starts and made and not made.startswith(" ") else made

    def count_with(self, grown: _Grown, length: int, more: str) -> int:
        """Count the tokens of a normal form of which so much is settled, with more."""
        if isinstance(grown, RecountedAppender | RecountedPrepender):
            return grown._count_with(more)
        if not length:
            return self.encoder._count_normalized(more)
        _add(grown, more)
        return grown.count


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
    least = 0

    def __init__(
        self, rules: Rules, grown: Appender | RecountedAppender, length: int, *, begins: bool
    ) -> None:
        self._rules = rules
        self._grown = grown
        self._length = length
        self._begins = begins
        if isinstance(grown, RecountedAppender):
            self.least = grown.least

    def settle(self, more: str) -> "tuple[int, SettledText] | None":
        """Settle more of a text; see `Settled`."""
        rules = self._rules
        place = len(more)
        for _ in range(_TRIES):
            place -= 1
            while place > 0 and not rules.begins_anew.at(more, place):
                place -= 1
            if place <= 0:
                return None
            made = rules.normal(more[:place], starts=self._begins, ends=False)
            if self._begins and not made:
                return None  # what comes next is the start of the text
            if not rules.pipeline.strips or made == rules.normal(
                more[:place], starts=self._begins, ends=True
            ):
                self._go_back()
                self._grown.append(made)
                return place, SettledText(rules, self._grown, self._grown.text_length, begins=False)
            stop = place
            while place > 0 and more[place - 1] in SPACE:
                place -= 1
            place += place < stop
        return None

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        self._go_back()
        made = self._rules.normal(rest, starts=self._begins, ends=True)
        return self._rules.count_with(self._grown, self._length, made)

    def _go_back(self) -> None:
        """Drop what was added to the settled normal form to count with it."""
        self._grown.truncate(self._length)


class TextAtEnd:
    """The end of a text that grows at its beginning; see `counting.recounted.Settled`.

    Args:
        rules: how the text is changed.
        grown: the normal form of it, and perhaps more.
        length: the length of that normal form.
        reach: see `Settled`.
    """

    gap = 1
    least = 0

    def __init__(
        self, rules: Rules, grown: Prepender | RecountedPrepender, length: int, reach: int = 1
    ) -> None:
        self._rules = rules
        self._grown = grown
        self._length = length
        self.reach = reach

    def settle(self, more: str) -> "tuple[int, TextAtEnd] | None":
        """Settle more of a text; see `Settled`."""
        rules = self._rules
        # What is before the place does not vanish as a whole, or else what is settled would be the
        # start of the text.
        place = self._next_beginning(more, self._next_beginning(more, 0) or len(more))
        for _ in range(_TRIES):
            if not place:
                return None
            made = self._normal(more[place:], starts=False)
            # Blanks that begin it would be stripped after others.
            if not rules.pipeline.strips or (
                made and made == self._normal(more[place:], starts=True)
            ):
                self._go_back()
                self._grown.prepend(made)
                length = self._grown.text_length
                return len(more) - place, TextAtEnd(rules, self._grown, length, place)
            place += 1
            while place < len(more) and more[place] in SPACE:
                place += 1
            place = self._next_beginning(more, place - 1)
        return None

    def _next_beginning(self, text: str, place: int) -> int:
        """Find the next character that begins anew; 0: there is none."""
        begins_anew = self._rules.begins_anew.at
        return next((at for at in range(place + 1, len(text)) if begins_anew(text, at)), 0)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it begins like this."""
        self._go_back()
        made = self._normal(rest, starts=True)
        return self._rules.count_with(self._grown, self._length, made)

    def _normal(self, text: str, *, starts: bool) -> str:
        """Normalize what comes before the settled normal form."""
        return self._rules.normal(text, starts=starts, ends=not self._length)

    def _go_back(self) -> None:
        """Drop what was added to the settled normal form to count with it."""
        self._grown.truncate(self._length)


class _Ungrown:
    """What is settled of a normalized text without added tokens: all that there is.

    Args:
        grown: it, and perhaps more.
        length: of it.
    """

    reach = 1  # an empty rest would take nothing back
    gap = 1
    least = 0

    def __init__(self, grown: Appender | Prepender, length: int = 0) -> None:
        self._grown = grown
        self._length = length

    def settle(self, more: str) -> "tuple[int, _Ungrown] | None":
        """Settle more of a text; see `Settled`."""
        if len(more) < 2:
            return None
        self._grown.truncate(self._length)
        _add(self._grown, more[:-1] if isinstance(self._grown, Appender) else more[1:])
        return len(more) - 1, _Ungrown(self._grown, self._grown.text_length)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if its other end is this."""
        self._grown.truncate(self._length)
        _add(self._grown, rest)
        return self._grown.count


def _add(grown: _Grown, text: str) -> None:
    if isinstance(grown, Appender | RecountedAppender):
        grown.append(text)
    else:
        grown.prepend(text)


class Sections:
    """Normalized texts with added tokens, as a tokenizer whose texts grow.

    Args:
        pipeline: finds the tokens.
        begin: begins what is between two of them, growing at its end;
        begin_end: or at its beginning.
        count: counts it.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        begin: Callable[[], Settled],
        begin_end: Callable[[], Settled],
        count: Callable[[str], int],
    ) -> None:
        self._finders = _of_normalized(pipeline)
        self._begin = begin
        self._begin_end = begin_end
        self.count = count

    def _settled_start(self) -> Settled:
        return settled_sections(*self._finders, self._begin, self.count)

    def _settled_end(self) -> Settled:
        return sections_at_end(*self._finders, self._begin_end, self.count)


def _sections(pipeline: Pipeline, encoder: TextEncoder) -> Any:
    return Sections(
        pipeline,
        lambda: _Ungrown(Appender._of_normalized(encoder)),
        lambda: _Ungrown(Prepender._of_normalized(encoder)),
        encoder._count_normalized,
    )


def settled_text(pipeline: Pipeline, encoder: TextEncoder) -> Settled | None:
    """Begin a text that grows at its end; None: it is counted from safe split points."""
    if not _can_settle(pipeline, encoder):
        return None
    rules = Rules(pipeline, encoder)

    def begin() -> Settled:
        grown: Appender | RecountedAppender
        if pipeline.ordinary_of_normalized.texts:
            grown = RecountedAppender(_sections(pipeline, encoder))
        else:
            grown = Appender._of_normalized(encoder)
        return SettledText(rules, grown, 0, begins=True)

    count = partial(pipeline.count_section, encoder)
    return settled_sections(pipeline.finder_of_raw, pipeline.ordinary_of_raw, begin, count)


def text_at_end(pipeline: Pipeline, encoder: TextEncoder) -> Settled | None:
    """Begin a text that grows at its beginning; None: it is counted up to safe split points."""
    if not _can_settle(pipeline, encoder):
        return None
    rules = Rules(pipeline, encoder)
    if pipeline.strips and pipeline.changes_starts:  # no end would do without a prefix
        return None

    def begin() -> Settled:
        grown: Prepender | RecountedPrepender
        if pipeline.ordinary_of_normalized.texts:
            grown = RecountedPrepender(_sections(pipeline, encoder))
        else:
            grown = Prepender._of_normalized(encoder)
        return TextAtEnd(rules, grown, 0)

    count = partial(pipeline.count_section, encoder)
    return sections_at_end(pipeline.finder_of_raw, pipeline.ordinary_of_raw, begin, count)


def _can_settle(pipeline: Pipeline, encoder: TextEncoder) -> bool:
    """Return whether parts of a text can be normalized for good."""
    spec = pipeline.spec
    if spec.splittings or spec.marks_words or not encoder._has_automaton:
        return False
    if sum(isinstance(step, Strip) for step in spec.normalizer) > 1:
        return False
    raw = pipeline.finder_of_raw, pipeline.ordinary_of_raw
    if not (are_plain(*raw) and are_plain(*_of_normalized(pipeline))):
        return False
    # What is put before a section may depend on where it begins.
    if spec.prefix_first and pipeline.ordinary_finders:
        return False
    return not (spec.prefix_space and pipeline.ordinary_of_normalized.texts)


def _of_normalized(pipeline: Pipeline) -> tuple[AddedFinder, AddedFinder]:
    return pipeline.finder_of_normalized, pipeline.ordinary_of_normalized


def _inside(step: Step, starts: bool, ends: bool) -> Step:
    """Return what a step does to a part of a text that starts or ends with it."""
    if isinstance(step, Strip):
        return type(step)(step.left and starts, step.right and ends)
    return step
