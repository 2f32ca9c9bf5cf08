"""Chat formats for tests: an exact one by tiktoken, and some that break assumptions."""

import hashlib
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from cutline.chat.protocols import Message, Tool
from tests.oracles import real_tiktoken


class ChatML:
    """ChatML over o200k_base, with its marks as special tokens, written out and encoded."""

    def __init__(self) -> None:
        self.calls = 0
        self.counted_messages = 0
        self._encoding = real_tiktoken("o200k_base")
        self._known: dict[str, int] = {}

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        add_generation_prompt: bool = True,
    ) -> int:
        self.calls += 1
        self.counted_messages += len(messages)
        begun = ["assistant\n"] * add_generation_prompt
        # Special tokens part the texts, so each is encoded alone.
        known = sum(map(self._one, messages)) + sum(1 + self._text(text) for text in begun)
        return known + (self._text(json.dumps([*tools])) if tools else 0)

    def _one(self, message: Message) -> int:
        content = json.dumps([message.get("content"), message.get("tool_calls")])
        return 2 + self._text(f"{message['role']}\n{content}") + self._text("\n")

    def _text(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self._encoding.encode_ordinary(text))
        return self._known[text]


class Counting(ChatML):
    """The same, with the tokens of each message on request."""

    def message_counts(self, messages: Sequence[Message]) -> list[int]:
        return [self._one(message) for message in messages]


class Strict(ChatML):
    """As many models' templates: refuses what they refuse, whatever is counted."""

    def count(self, messages: Sequence[Message], **options: Any) -> int:
        assert_valid(messages)
        return super().count(messages, **options)


class Neighbours(ChatML):
    """The cost of a message depends on its neighbours; thoughts of former turns are left out."""

    def count(self, messages: Sequence[Message], **options: Any) -> int:
        roles = [message["role"] for message in messages]
        last = max((i for i, role in enumerate(roles) if role == "user"), default=0)
        changes = sum(5 for before, after in pairwise(roles) if before != after)
        thoughts = sum(len(message.get("thinking", "")) for message in messages[last:])
        return super().count(messages, **options) + changes + thoughts


class Random:
    """Any count for any messages: removing some may cost more."""

    def count(self, messages: Sequence[Message], **options: Any) -> int:
        digest = hashlib.sha256(repr([*messages, options]).encode()).digest()
        return int.from_bytes(digest[:2], "big") % 100


FORMATS = {"chatml": ChatML, "counting": Counting, "strict": Strict, "neighbours": Neighbours}


def assert_valid(messages: Sequence[Message]) -> None:
    """Instructions, then a user's message; calls and results in pairs; no two answers touch."""
    roles = [message["role"] for message in messages]
    rest = next((i for i, role in enumerate(roles) if role != "system"), len(roles))
    assert "system" not in roles[rest:]
    assert roles[rest : rest + 1] in ([], ["user"]), roles
    waiting: list[Any] = []
    before = ""
    for message in messages:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] in waiting, messages
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting, messages
        if role == "assistant":
            assert before in ("user", "tool"), roles
            waiting = [call["id"] for call in message.get("tool_calls", ())]
        if role == "user":
            assert before != "user", roles
        before = role
