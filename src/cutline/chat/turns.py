"""The turns and steps of a conversation: which of its messages stay or go together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from cutline.chat.messages import calls_of
from cutline.chat.protocols import Message
from cutline.errors import shown

__all__ = ["check_messages", "instructions_end", "steps_of", "turns_of"]

_INSTRUCTIONS = frozenset(["system", "developer"])
_RESULTS = frozenset(["tool", "function"])  # "function" is what OpenAI's API had before "tool"


def instructions_end(messages: Sequence[Message]) -> int:
    """Return how many system and developer messages a conversation begins with."""
    roles = (message["role"] for message in messages)
    return next((i for i, role in enumerate(roles) if role not in _INSTRUCTIONS), len(messages))


def turns_of(messages: Sequence[Message], start: int) -> list[range]:
    """Return the indices of each turn: a user's message, and all up to the next one.

    Args:
        messages: a conversation.
        start: where to begin. What stands between it and the first user's message is the first
            turn then, and has no user's message.
    """
    begins = [i for i in range(start, len(messages)) if messages[i]["role"] == "user"]
    if start < len(messages) and begins[:1] != [start]:
        begins.insert(0, start)
    return [range(*ends) for ends in pairwise([*begins, len(messages)])]


def steps_of(messages: Sequence[Message], turn: range) -> list[range]:
    """Return the indices of each step of a turn.

    The first step is the user's message and what stands before the first answer; each other is an
    assistant's message with what follows it, such as the results of the tools that it calls.
    """
    begins = [i for i in turn if i == turn.start or messages[i]["role"] == "assistant"]
    return [range(*ends) for ends in pairwise([*begins, turn.stop])]


def check_messages(messages: Sequence[Message]) -> None:
    """Check that every tool's result follows its call, and that every call has its result.

    The calls of the last step may still wait for theirs. Where calls or results have no ids, their
    numbers are compared.

    Raises:
        TypeError: a message is no mapping.
        ValueError: a message has no role, a result has no call, or a call no result.
    """
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise TypeError(f"message {i} must be a mapping, such as a dict, got {shown(message)}")
        if not isinstance(message.get("role"), str):
            raise ValueError(f"message {i} needs a 'role' that is a str, got {shown(message)}")
    turns = turns_of(messages, 0)
    steps = [step for turn in turns for step in steps_of(messages, turn)]
    for step in steps:
        _check_step(messages, step, is_last=step is steps[-1])


def _check_step(messages: Sequence[Message], step: range, *, is_last: bool) -> None:
    """Check the calls of a step against its results."""
    first = messages[step.start]
    is_answer = first["role"] == "assistant"
    calls = [_id_of(call, "id") for call in calls_of(first, step.start)] if is_answer else []
    places = [i for i in step if messages[i]["role"] in _RESULTS]
    results = [_id_of(messages[i], "tool_call_id") for i in places]
    if None in calls or None in results:
        orphan = places[len(calls)] if len(results) > len(calls) else None
        waiting = len(calls) > len(results)
    else:
        surplus = Counter(results) - Counter(calls)
        orphan = next((i for i, of in zip(places, results, strict=True) if of in surplus), None)
        waiting = set(calls) > set(results)
    if orphan is not None:
        raise ValueError(
            f"message {orphan} is a tool's result without a call of its own: its tool_call_id is "
            f"{messages[orphan].get('tool_call_id')!r}, and the calls just before it are {calls}; "
            "models refuse this: leave the result out, or restore the message that calls"
        )
    if waiting and not is_last:
        raise ValueError(
            f"message {step.start} calls {len(calls)} tools, and only {len(results)} results "
            f"follow, at {places}; models refuse this: add a result for each call, such as "
            "'interrupted'"
        )


def _id_of(thing: Any, key: str) -> str | None:
    """Return the id that a call or a result has, or None."""
    found = thing.get(key) if isinstance(thing, Mapping) else None
    return found if isinstance(found, str) else None
