"""Conversations for tests: an agent's, a chat, and any that hypothesis draws."""

from typing import Any

from hypothesis import strategies as st

Chat = list[dict[str, Any]]

SYSTEM = {"role": "system", "content": "You are a careful engineer."}


def step(number: int, *results: str, says: str = "") -> Chat:
    """An assistant's message that calls a tool for each result, and the results."""
    if not results:
        return [{"role": "assistant", "content": says}]
    calls = [
        {
            "id": f"call-{number}-{i}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"path": "{number}-{i}.txt"}}'},
        }
        for i in range(len(results))
    ]
    asks = {"role": "assistant", "content": says or None, "tool_calls": calls}
    answers = [
        {"role": "tool", "tool_call_id": call["id"], "content": result}
        for call, result in zip(calls, results, strict=True)
    ]
    return [asks, *answers]


def turn(question: str, *steps: Chat) -> Chat:
    return [{"role": "user", "content": question}, *(message for one in steps for message in one)]


def agent(n_steps: int, words: int = 30) -> Chat:
    """One message of a user, and many steps of the agent."""
    steps = [step(i, f"line {i} " * (words + 7 * (i % 5))) for i in range(n_steps)]
    return [SYSTEM, *turn("Mend the failing test.", *steps)]


def chat(n_turns: int, words: int = 20) -> Chat:
    """A user and an assistant in turns; it ends on a question."""
    turns = [
        turn(f"Question {i}?", step(i, says=f"answer {i} " * (words + 3 * (i % 7))))
        for i in range(n_turns)
    ]
    return [SYSTEM, *(message for one in turns for message in one), *turn("And now?")]


_WORDS = st.sampled_from(["", "a", "wood glue " * 3, "中文也要数。", "👍🏽 " * 9, "x = 1\n" * 20])


@st.composite
def conversations(draw: st.DrawFn) -> Chat:
    """A valid conversation: instructions, turns with parallel calls, perhaps an open question."""
    made: Chat = [{"role": "system", "content": draw(_WORDS)}] * draw(st.integers(0, 1))
    number = 0
    for _ in range(draw(st.integers(0, 6))):
        steps = []
        for _ in range(draw(st.integers(0, 4))):
            number += 1
            steps.append(step(number, *draw(st.lists(_WORDS, min_size=1, max_size=3))))
        made += turn(draw(_WORDS), *steps, step(0, says=draw(_WORDS)))
    if draw(st.booleans()):
        made += turn(draw(_WORDS))
    # No dict stands twice, so that a message can be found by its identity.
    return [{**message, "n": i} for i, message in enumerate(made)]
