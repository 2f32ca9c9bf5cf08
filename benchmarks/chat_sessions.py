"""Sessions for `trimming`: agents, a chat and one about documents, made by a seed."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

__all__ = ["SESSIONS", "Session", "Texts"]

Session = list[dict[str, Any]]
Texts = Mapping[str, str]

_SYSTEM: Final = "You are a careful engineer. Read before you write, and run the tests. "


class _Source:
    """Slices of texts, from places that a seed chooses."""

    def __init__(self, texts: Texts, seed: int) -> None:
        self._texts = texts
        self._random = random.Random(seed)

    def text(self, name: str, fewest: int, most: int) -> str:
        """Return some characters; short lengths come more often."""
        length = int(fewest * (most / fewest) ** self._random.random())
        start = self._random.randrange(max(len(self._texts[name]) - length, 1))
        return self._texts[name][start : start + length]

    def steps(self, n_steps: int, first: int = 0) -> Iterator[dict[str, Any]]:
        """Yield an agent's messages: calls, sometimes several at once, with their results."""
        for number in range(first, first + n_steps):
            ids = [f"call_{number}_{i}" for i in range(self._random.choice((1, 1, 1, 2, 3)))]
            arguments = json.dumps({"path": f"src/module_{number}.py"})
            function = {"name": "read_file", "arguments": arguments}
            calls = [{"id": one, "type": "function", "function": function} for one in ids]
            said = self.text("prose", 40, 400)
            yield {"role": "assistant", "content": said, "tool_calls": calls}
            for one in ids:
                result = self.text("code", 200, 6000)
                yield {"role": "tool", "tool_call_id": one, "content": result}
        yield {"role": "assistant", "content": self.text("prose", 200, 800)}


def _agent(texts: Texts) -> Session:
    """One task, and 200 steps."""
    source = _Source(texts, 1)
    task = {"role": "user", "content": "Mend the tests. " + source.text("prose", 400, 400)}
    return [_system(40), task, *source.steps(200)]


def _tasks(texts: Texts) -> Session:
    """Eight tasks of 25 steps each."""
    source = _Source(texts, 2)
    made: Session = [_system(40)]
    for number in range(8):
        made.append(
            {"role": "user", "content": f"Task {number}: " + source.text("prose", 200, 900)}
        )
        made += source.steps(25, 25 * number)
    return made


def _chat(texts: Texts) -> Session:
    """Two hundred questions."""
    source = _Source(texts, 3)
    made: Session = [_system(10)]
    for _ in range(200):
        made.append({"role": "user", "content": source.text("prose", 40, 600)})
        made.append({"role": "assistant", "content": source.text("prose", 200, 3000)})
    return made


def _documents(texts: Texts) -> Session:
    """Sixty questions, every fourth with a document."""
    source = _Source(texts, 4)
    made: Session = [_system(10)]
    for number in range(60):
        document = source.text("prose", 8000, 24000) if number % 4 == 0 else ""
        question = source.text("prose", 40, 300)
        made.append({"role": "user", "content": f"{document}\n\n{question}"})
        made.append({"role": "assistant", "content": source.text("prose", 400, 3000)})
    return made


def _system(n_times: int) -> dict[str, Any]:
    return {"role": "system", "content": _SYSTEM * n_times}


SESSIONS: Final[Mapping[str, tuple[Callable[[Texts], Session], Any]]] = {
    "agent, one task": (_agent, "step"),
    "agent, eight tasks": (_tasks, "step"),
    "chat": (_chat, "turn"),
    "documents": (_documents, "turn"),
}
