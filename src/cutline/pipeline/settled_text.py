"""What is settled of a text that grows, where a normalizer changes it before BPE.

A beginning is settled if nothing that comes after it changes its normal form, which an `Appender`
counts with that of the rest; an end, with a `Prepender`, if nothing that comes before it does.
Proof: docs/counting.md, "Growing texts that are changed".
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from cutline.counting.appender import Appender
from cutline.counting.prepender import Prepender
from cutline.counting.recounted import RecountedAppender, RecountedPrepender, Settled
from cutline.pipeline.added import AddedFinder
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.settled_sections import are_plain, sections_at_end, settled_sections
from cutline.text_encoder import TextEncoder
from cutline.words.growing_form import GrowingForm

__all__ = ["Sections", "SettledText", "settled_text", "text_at_end"]

_Grown = Appender | Prepender | RecountedAppender | RecountedPrepender


class SettledText:
    """See `counting.recounted.Settled`; the text grows at its end, or at its beginning.

    Args:
        encoder: counts.
        form: what of the normal form is settled.
        grown: that, and perhaps more.
        length: the length of it.
    """

    reach = 1  # an empty rest would take nothing back

    def __init__(
        self, encoder: TextEncoder, form: GrowingForm, grown: _Grown, length: int = 0
    ) -> None:
        self._encoder = encoder
        self._form = form
        self._grown = grown
        self._length = length
        self.gap = form.n_held + 1
        self.least = grown.least if isinstance(grown, RecountedAppender) else 0

    def settle(self, more: str) -> "tuple[int, SettledText] | None":
        """Settle more of a text; see `Settled`."""
        n = len(more) - 1
        found = self._form.grow(more[:-1] if _grows_at_end(self._grown) else more[1:])
        if n < 1 or found is None:
            return None
        made, form = found
        self._grown.truncate(self._length)
        _add(self._grown, made)
        return n, SettledText(self._encoder, form, self._grown, self._grown.text_length)

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if its other end is this."""
        self._grown.truncate(self._length)
        more = self._form.ended(rest)
        if isinstance(self._grown, RecountedAppender | RecountedPrepender):
            return self._grown._count_with(more)
        if not self._length:
            return self._encoder._count_normalized(more)
        _add(self._grown, more)
        return self._grown.count


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


def _grows_at_end(grown: _Grown) -> bool:
    return isinstance(grown, Appender | RecountedAppender)


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
        return settled_sections(*self._finders, self._begin, self.count, self._begin())

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

    def begin(form: GrowingForm = pipeline.form_after_token) -> Settled:
        grown: Appender | RecountedAppender
        if pipeline.ordinary_of_normalized.texts:
            grown = RecountedAppender(_sections(pipeline, encoder))
        else:
            grown = Appender._of_normalized(encoder)
        return SettledText(encoder, form, grown)

    raw = pipeline.finder_of_raw, pipeline.ordinary_of_raw
    count, first = partial(pipeline.count_section, encoder), begin(pipeline.form_at_end)
    return settled_sections(*raw, begin, count, first)


def text_at_end(pipeline: Pipeline, encoder: TextEncoder) -> Settled | None:
    """Begin a text that grows at its beginning; None: it is counted up to safe split points."""
    # What is put before a section depends on where it begins.
    is_led = pipeline.spec.prefix_first and pipeline.ordinary_finders
    if is_led or not _can_settle(pipeline, encoder):
        return None

    def begin() -> Settled:
        grown: Prepender | RecountedPrepender
        if pipeline.ordinary_of_normalized.texts:
            grown = RecountedPrepender(_sections(pipeline, encoder))
        else:
            grown = Prepender._of_normalized(encoder)
        return SettledText(encoder, pipeline.form_at_beginning, grown)

    count = partial(pipeline.count_section, encoder)
    return sections_at_end(pipeline.finder_of_raw, pipeline.ordinary_of_raw, begin, count)


def _can_settle(pipeline: Pipeline, encoder: TextEncoder) -> bool:
    """Return whether parts of a text can be normalized for good."""
    spec = pipeline.spec
    if spec.splittings or spec.marks_words or not encoder._has_automaton:
        return False
    raw = pipeline.finder_of_raw, pipeline.ordinary_of_raw
    if not (are_plain(*raw) and are_plain(*_of_normalized(pipeline))):
        return False
    return not (spec.prefix_space and pipeline.ordinary_of_normalized.texts)


def _of_normalized(pipeline: Pipeline) -> tuple[AddedFinder, AddedFinder]:
    return pipeline.finder_of_normalized, pipeline.ordinary_of_normalized
