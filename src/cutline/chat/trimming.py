"""`trim`: a conversation within a token budget, by what a chat format counts for the whole of it.

docs/trimming.md says what stays, what goes, and why a prefix cache still hits.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, get_args

from cutline.chat.messages import need_iterable
from cutline.chat.protocols import ChatFormat, Message, Tool, need_chat_format
from cutline.chat.removals import Removals, Unit, first_that_fits
from cutline.chat.turns import check_messages
from cutline.checks import checked_budget, checked_integer, checked_order
from cutline.errors import BudgetError, shown

__all__ = ["Trimmed", "trim"]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A conversation within its budget, and what was removed.

    Attributes:
        messages: what is left, in its order: the given messages themselves, and the summary.
        removed: indices of the given messages that went, in ascending order.
        reasons: for each of them, why it went.
        token_count: what the format counts for `messages`, at most `max_tokens - reserve`.
        tokens_before: what it counts for all messages.
        max_tokens: the budget.
        reserve: what of it is left to the answer.
        summary: the message that stands for those that went, or None.
        too_long: the tokens of the request with a summary that did not fit and was left out; else
            None.
    """

    messages: list[Message]
    removed: tuple[int, ...]
    reasons: tuple[str, ...]
    token_count: int
    tokens_before: int
    max_tokens: int
    reserve: int
    summary: Message | None = None
    too_long: int | None = None

    def report(self) -> str:
        """Return a report: a line for each run of messages that went, and one with the totals."""
        lines = []
        reasons = dict(zip(self.removed, self.reasons, strict=True))
        runs = groupby(enumerate(self.removed), key=lambda one: (one[1] - one[0], reasons[one[1]]))
        for (_, reason), run in runs:
            indices = [i for _, i in run]
            named = (
                f"message {indices[0]}"
                if len(indices) == 1
                else (f"messages {indices[0]} to {indices[-1]}")
            )
            lines.append(f"{named}: removed, {reason}")
        budget = self.max_tokens - self.reserve
        if self.summary is not None:
            lines.append("a summary stands for them")
        if self.too_long is not None:
            lines.append(f"the summary was left out: with it, {self.too_long} tokens")
        total = f"{self.token_count} of {budget} tokens, {self.tokens_before} before"
        if self.reserve:
            total += f"; {self.reserve} more for the answer"
        return "\n".join([*lines, total])


def trim(
    messages: Iterable[Message],
    max_tokens: int,
    chat_format: ChatFormat,
    *,
    tools: Iterable[Tool] | None = (),
    reserve: int = 0,
    unit: Unit = "turn",
    pinned: Collection[int] = (),
    priority: Mapping[int, float] | None = None,
    low_water: float | None = None,
    summarize: Callable[[list[Message]], Message | str] | None = None,
    summary_tokens: int = 0,
) -> Trimmed:
    """Remove the oldest of a conversation until the request fits a token budget.

    A turn is a user's message and all that follows up to the next one; its steps are the
    assistant's messages, each with the results of the tools that it calls. Turns go whole, or step
    by step, the oldest first; a user's message goes with the last step of its turn. Always there
    stay: the system and developer messages at the start, what is pinned, and the last turn; by
    steps, the last user's message and the last step. So every call keeps its results and every
    result its call, and what follows the instructions begins with a user's message. Messages before
    the first user's are the first to go.

    A conversation that fits is returned as it is. The request is counted as a whole, and nothing
    over budget is returned, whatever the format is. If fewer messages never have more tokens, no
    fewer could have gone, and with a larger budget nothing else goes (without `low_water`).

    Args:
        messages: the whole conversation, the oldest first; they are not changed.
        max_tokens: the budget for the request and the answer, 0 or more.
        chat_format: counts requests. If it has a method `message_counts(messages)` that returns the
            tokens of each message, fewer requests are counted; the result is the same, unless
            `low_water` is given.
        tools: the schemas that are sent along; None: there are none.
        reserve: how much of the budget is kept for the answer.
        unit: what goes at once: a "turn", or a "step", for agents that work for long on one
            message.
        pinned: indices of messages that stay, with the turn or step that they are in, and a user's
            message with the last step of its turn; negative ones count from the end.
        priority: by a message's index: turns (or steps) with the lowest go first, and of equal ones
            the oldest. One has the highest that its messages are given, or 0.
        low_water: from 0 to less than 1: how much of the room for messages is left in use when some
            go, so that the next ones fit without another cut, and a cache of the request's
            beginning hits. The cut follows from the messages alone: give the whole conversation
            each time, and what is sent begins in the same way until that is over budget; or until
            a next turn, where the last one, which stays, was alone over that share.
        summarize: makes a summary of the messages that go: a message, or a text, which becomes a
            user's message. It stands where the first of them stood. Called once, if any go.
        summary_tokens: room for the summary. One that does not fit is left out, and reported.

    Raises:
        BudgetError: (a ValueError) what must stay is over budget.
        ValueError: a tool's result has no call, or a call no result; a message has no role; an
            option is out of range.
        TypeError: a message is no mapping, the format is none, or an option is of the wrong type.
        IndexError: an index in `pinned` or `priority` is out of range.

    Cost: O(log(messages)) counts of a request, 3 if each token has about as many characters; with
    low_water also some for each `1 - low_water` of the room that went, of so many tokens each.
    Source: docs/trimming.md, "What stays".

    >>> from cutline.chat.by_name import chat_format_of
    >>> chat = [
    ...     {"role": "system", "content": "Be brief."},
    ...     {"role": "user", "content": "What is wood glue?"},
    ...     {"role": "assistant", "content": "An adhesive for wood."},
    ...     {"role": "user", "content": "How long does it set?"},
    ... ]
    >>> trimmed = trim(chat, 40, chat_format_of("chatml", "o200k_base"), reserve=10)
    >>> [message["content"] for message in trimmed.messages]
    ['Be brief.', 'How long does it set?']
    >>> print(trimmed.report())
    messages 1 to 2: removed, the oldest
    22 of 30 tokens, 42 before; 10 more for the answer
    """
    need_chat_format(chat_format, "chat_format")
    need_iterable(messages, "messages", "mappings")
    given = list(messages)
    check_messages(given)
    max_tokens, reserve = checked_budget(max_tokens), checked_budget(reserve, "reserve")
    room = max_tokens - reserve - checked_budget(summary_tokens, "summary_tokens")
    _check_options(unit, priority, low_water, summarize is not None, summary_tokens)
    stays = frozenset(_place(i, given, "pinned") for i in pinned)
    ranks = {_place(i, given, "priority"): rank for i, rank in (priority or {}).items()}

    request = _Request(given, chat_format, _listed(tools))
    before = request.count(range(len(given)))
    if before <= max_tokens - reserve:
        return Trimmed(given, (), (), before, before, max_tokens, reserve)
    removals = Removals(given, unit, stays, ranks)
    n_removals = len(removals.order)
    cuts: Sequence[int] = range(n_removals + 1)
    if low_water is not None:
        cuts = _lasting_cuts(request, removals, room, low_water)
    cut = _first_cut(request, removals, cuts, room)
    if cut is None:
        least = request.count(request.left(removals.removed(n_removals)))
        raise BudgetError(_too_much(least, room, max_tokens, reserve, summary_tokens, unit))
    reasons = dict(sorted(removals.removed_for(cut)))
    kept = request.left(reasons)
    trimmed = Trimmed(
        [given[i] for i in kept], tuple(reasons), tuple(reasons.values()),
        request.count(kept), before, max_tokens, reserve,
    )  # fmt: skip
    return trimmed if summarize is None else _summarized(trimmed, request, summarize)


class _Request:
    """A conversation whose parts are counted.

    Args:
        messages: the conversation.
        chat_format: counts.
        tools: the schemas that are sent along.
    """

    def __init__(
        self, messages: list[Message], chat_format: ChatFormat, tools: Sequence[Tool]
    ) -> None:
        self.messages = messages
        self._format = chat_format
        self._tools = tools
        self._counts: dict[tuple[int, ...], int] = {}

    def count(self, indices: Iterable[int]) -> int:
        """Count the request with these messages alone."""
        key = tuple(indices)
        if key not in self._counts:
            self._counts[key] = self.count_messages([self.messages[i] for i in key])
        return self._counts[key]

    def count_messages(self, messages: list[Message]) -> int:
        """Count the request with other messages."""
        return self._format.count(messages, tools=self._tools)

    def left(self, removed: Collection[int]) -> list[int]:
        """Return the indices without those that go."""
        gone = set(removed)
        return [i for i in range(len(self.messages)) if i not in gone]

    @cached_property
    def message_counts(self) -> Sequence[int] | None:
        """What the format counts for each message, if it does."""
        counts = getattr(self._format, "message_counts", None)
        return None if counts is None else counts(self.messages)

    def alone(self, indices: Sequence[int]) -> int:
        """Count messages without anything else, as nearly as the format can."""
        if (counts := self.message_counts) is not None:
            return sum(counts[i] for i in indices)
        messages = [self.messages[i] for i in indices]
        return self._format.count(messages, add_generation_prompt=False) if messages else 0


def _first_cut(request: _Request, removals: Removals, cuts: Sequence[int], room: int) -> int | None:
    """Return the first of the cuts after which the request fits; None: it never does.

    Args:
        request: counts.
        removals: what goes.
        cuts: how many removals; the first is 0, which does not fit.
        room: the budget for the request.
    """

    def fits(place: int) -> bool:
        return request.count(request.left(removals.removed(cuts[place]))) <= room

    # Only a guess: from the counts, or else as if each token had as many characters.
    sizes = request.message_counts or [len(repr(message)) for message in request.messages]
    before = request.count(range(len(request.messages)))
    scale = 1 if request.message_counts else before / max(sum(sizes), 1)
    gone = [0, *accumulate(sum(sizes[i] for i in indices) for indices in removals.order)]
    guess = bisect_left(cuts, (before - room) / scale, key=gone.__getitem__)
    found = first_that_fits(fits, len(cuts) - 1, guess)
    return None if found is None else cuts[found]


def _lasting_cuts(
    request: _Request, removals: Removals, room: int, low_water: float
) -> Sequence[int]:
    """Return cuts that do not move when messages are added, and then all that may go.

    Each is the first that takes `1 - low_water` of the room for messages since the one before, so
    it depends on what it removes alone.
    """
    room -= request.count(removals.opening) - request.alone(removals.passing)
    apart = max((1 - low_water) * room, 1)
    n_removals = len(removals.order)
    cuts, length = [0], 8
    while found := first_that_fits(
        lambda n: request.alone(removals.alone(cuts[-1], cuts[-1] + n)) >= apart,
        n_removals - cuts[-1],
        length,
    ):
        cuts.append(cuts[-1] + found)
        length = found
    return cuts if cuts[-1] == n_removals else [*cuts, n_removals]


def _summarized(
    trimmed: Trimmed,
    request: _Request,
    summarize: Callable[[list[Message]], Message | str],
) -> Trimmed:
    """Put a summary where the first removed message stood, if it fits."""
    made: Any = summarize([request.messages[i] for i in trimmed.removed])
    summary: Message = {"role": "user", "content": made} if isinstance(made, str) else made
    try:
        check_messages([summary, {"role": "user"}])  # nothing before the last step may wait
    except (TypeError, ValueError) as error:
        raise type(error)(f"what summarize returned is no message to send: {error}") from None
    before = trimmed.removed[0]
    messages = [*trimmed.messages[:before], summary, *trimmed.messages[before:]]
    token_count = request.count_messages(messages)
    if token_count > trimmed.max_tokens - trimmed.reserve:
        return replace(trimmed, too_long=token_count)
    return replace(trimmed, messages=messages, token_count=token_count, summary=summary)


def _too_much(
    least: int, room: int, max_tokens: int, reserve: int, summary_tokens: int, unit: Unit
) -> str:
    """Say what is over budget, and what to do."""
    budget = f"max_tokens={max_tokens}"
    if reserve:
        budget += f" less reserve={reserve}"
    if summary_tokens:
        budget += f" less summary_tokens={summary_tokens}"
    last, way_out = (
        ("the last turn", "trim by unit='step'")
        if unit == "turn"
        else ("the last user's message and the last step", "shorten the longest message")
    )
    return (
        f"what must stay has {least} tokens, and there is room for {room} ({budget}): the "
        f"instructions, the tools, what is pinned, and {last}; raise the budget, pin less, or "
        f"{way_out}"
    )


def _listed(tools: Iterable[Tool] | None) -> Sequence[Tool]:
    """Return tools as what can be read many times."""
    if tools is None:
        return ()
    need_iterable(tools, "tools", "schemas")
    return tools if isinstance(tools, Sequence) else [*tools]


def _place(i: int, messages: list[Message], option: str) -> int:
    """Return an index as one from the start.

    Raises:
        IndexError: there is no such message.
        TypeError: it is no integer.
    """
    place = checked_integer(i, f"an index in {option}")
    if not -len(messages) <= place < len(messages):
        raise IndexError(f"{option} names message {place}, and there are {len(messages)}")
    return place % len(messages)


def _check_options(
    unit: Unit,
    priority: Mapping[int, float] | None,
    low_water: float | None,
    summarizes: bool,
    summary_tokens: int,
) -> None:
    """Check options against one another.

    Raises:
        TypeError: one is of the wrong type.
        ValueError: one is out of range, or two exclude each other.
    """
    if unit not in get_args(Unit):
        raise ValueError(f"unit must be one of {get_args(Unit)}, got {shown(unit)}")
    if low_water is not None:
        checked_order(low_water, "low_water")
        if not 0 <= low_water < 1:
            raise ValueError(f"low_water must be from 0 to less than 1, got {shown(low_water)}")
    if not isinstance(priority, Mapping | None):
        raise TypeError(
            f"priority must be a mapping from indices of messages to numbers, got {shown(priority)}"
        )
    for rank in (priority or {}).values():
        checked_order(rank, "priority")
    if low_water is not None and priority:
        raise ValueError(
            "low_water and priority exclude each other: what goes by priority may stand at the "
            "beginning, and then no cut lasts"
        )
    if summarizes != bool(summary_tokens):
        raise ValueError(
            f"summarize needs room for the summary, and only it does: got {summary_tokens=} "
            f"{'with' if summarizes else 'without'} summarize"
        )
