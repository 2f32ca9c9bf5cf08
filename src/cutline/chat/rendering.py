"""`GrowingRequest`: a request of a chat template that grows, rendered as little as can be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from cutline.chat.compiling import render_whole
from cutline.chat.growing import GrowingCount
from cutline.chat.messages import reasoned
from cutline.chat.metering import METER, Meter, value_of
from cutline.chat.plan import (
    WATCH,
    Messages,
    Plan,
    Reads,
    Unplanned,
    Watch,
    changed,
    watched,
)
from cutline.chat.sandbox import TemplateNamespace
from cutline.errors import ChatError

if TYPE_CHECKING:
    from jinja2.environment import Template

    from cutline.encoding import Encoding

__all__ = ["GrowingRequest"]


class _Before(NamedTuple):
    """The part before the loop, as it was rendered."""

    text: str
    variables: dict[str, Any]
    reads: Reads
    message_count: int


class _Turn(NamedTuple):
    """A turn of the loop, as it was rendered.

    Attributes:
        length: of the text before it.
        reads: what it read.
        message_count: how many there were.
        written: what the loop had set in namespaces before it.
    """

    length: int
    reads: Reads
    message_count: int
    written: dict[Any, Any]


class GrowingRequest:
    """The messages of a `Conversation`, as a chat template writes them.

    Args:
        encoding: the model's.
        template: renders a whole request.
        plan: renders parts; None if the template has none.
        given: the template's variables but for the messages.
    """

    def __init__(
        self, encoding: Encoding, template: Template, plan: Plan | None, given: dict[str, Any]
    ) -> None:
        self._template, self._plan, self._given = template, plan, given
        self._messages: list[dict[str, Any]] = []
        self._text = GrowingCount(encoding)
        self._before: _Before | None = None
        self._head = ""
        self._variables: dict[str, Any] = {}
        self._turns: list[_Turn] = []
        self._most_needed: list[int] = []  # messages, by each turn and all before it
        self._offset = 0  # messages that the loop leaves out at the start
        self._exact: list[int] = []  # turns
        self._written: dict[Any, Any] = {}

    def copy(self) -> Self:
        """Return an independent one with the same messages."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._messages, twin._text = self._messages.copy(), self._text.copy()
        twin._turns, twin._most_needed = self._turns.copy(), self._most_needed.copy()
        twin._exact = self._exact.copy()
        return twin

    def extend(self, messages: Iterable[dict[str, Any]]) -> None:
        """Add checked messages."""
        self._messages += map(reasoned, messages)

    def truncate(self, n_messages: int) -> None:
        """Keep the first messages."""
        del self._messages[n_messages:]
        self._keep_turns(bisect_right(self._most_needed, n_messages))
        for index in self._exact:
            if self._turns[index].message_count > n_messages:
                self._keep_turns(index)
                break
        before = self._before
        if before is not None:
            looked = before.message_count if before.reads.exact else before.reads.needs
            if looked > n_messages:
                self._before = None

    def count(self) -> int:
        """Count the tokens of the request.

        Raises:
            ChatError: as `ChatTemplate.render`.
        """
        if not self._messages:
            raise ChatError("a request needs at least one message, got none")
        if self._plan is not None:
            try:
                return self._text.count_with(self._render(self._plan))
            except Unplanned:
                self._leave_plan()
            except Exception:
                count = self._count_whole()  # which says what is wrong
                self._leave_plan()
                return count
        return self._count_whole()

    def _leave_plan(self) -> None:
        self._plan = None
        self._keep_turns(0)

    def _count_whole(self) -> int:
        text = render_whole(self._template, self._messages, self._given)
        done = self._text.keep_common(text)
        self._text.append(text[done:])
        return self._text.count_with()

    def _render(self, plan: Plan) -> str:
        """Render what is new; return what follows the loop."""
        message_count = len(self._messages)
        begin = len(self._turns)
        for index in self._exact:
            if self._turns[index].message_count != message_count:
                begin = index
                break
        before = self._before
        if before is None or (before.reads.exact and before.message_count != message_count):
            before, keys = self._render_before(plan)
            for key in keys:
                begin = min(begin, self._first_reader(plan, key, before.variables))
            if self._head != before.text:
                begin = 0
            self._before, self._variables, self._head = before, before.variables, before.text
        self._keep_turns(begin)
        if not self._turns:
            done = self._text.keep_common(before.text)
            self._text.append(before.text[done:])
        return self._render_turns(plan, before)

    def _render_before(self, plan: Plan) -> tuple[_Before, set[Any]]:
        """Render the part before the loop; name what has changed in its variables."""
        watch = Watch(0)
        watch.reads = reads = Reads()
        meter = Meter((self._messages, self._given), watch.told)
        context = plan.before.new_context(
            {**self._given, "messages": Messages(self._messages, 0, watch), METER: meter}
        )
        text = meter.joined(plan.before.root_render_func(context))
        before = _Before(text, dict(context.vars), reads, len(self._messages))
        return before, changed(self._variables, before.variables)

    def _first_reader(self, plan: Plan, key: Any, variables: dict[str, Any]) -> int:
        """Return the first turn that a changed variable may change."""
        if isinstance(key, tuple):
            name, attribute = key
            if not name or key in self._written:
                return 0
            if key in plan.thresholds:
                both = [value_of(side[name]) for side in (self._variables, variables)]
                values = [v for v in (side.get(attribute) for side in both) if type(v) is int]
                if len(values) == 2:
                    return max(min(values), 0)
        return next(
            (index for index, turn in enumerate(self._turns) if key in turn.reads.names),
            len(self._turns),
        )

    def _render_turns(self, plan: Plan, before: _Before) -> str:
        """Render the turns from the first that is not known on; return what follows them."""
        pieces: list[str] = []
        message_count = len(self._messages)

        def turn(index: int, offset: int) -> None:
            if watch.reads is not None:
                self._add_turn(watch.reads, "".join(pieces), message_count)
                pieces.clear()
                if watch.has_written:
                    self._written, watch.has_written = watch.written.copy(), False
            elif self._turns and offset != self._offset:
                raise Unplanned  # the loop begins elsewhere, by what the plan does not see
            self._offset = offset
            watch.reads = None
            if index >= 0:
                watch.reads = reads = Reads()
                reads.needs = offset + index + 1

        watch = Watch(len(self._turns), turn)
        messages = Messages(self._messages, 0, watch)
        meter = Meter((self._messages, self._given), watch.told)
        given = watched(before.variables, messages)
        for (name, attribute), value in self._written.items():
            TemplateNamespace.__setitem__(given[name], attribute, value)
        watch.written = self._written.copy()
        variables = {**self._given, "messages": messages, **given, METER: meter, WATCH: watch}
        for piece in plan.after.root_render_func(plan.after.new_context(variables)):
            pieces.append(piece)
        return "".join(pieces)

    def _add_turn(self, reads: Reads, text: str, message_count: int) -> None:
        most = max(reads.needs, self._most_needed[-1] if self._most_needed else 0)
        if reads.exact:
            self._exact.append(len(self._turns))
        self._turns.append(_Turn(self._text.length, reads, message_count, self._written))
        self._most_needed.append(most)
        self._text.append(text)

    def _keep_turns(self, count: int) -> None:
        """Forget the turns from one on."""
        if count >= len(self._turns):
            return
        first = self._turns[count]
        self._text.truncate(first.length)
        self._written = first.written
        del self._turns[count:], self._most_needed[count:]
        while self._exact and self._exact[-1] >= count:
            self._exact.pop()
