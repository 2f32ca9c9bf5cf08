"""A `Conversation` has the count of its whole request after any appends and truncates."""

import random
import threading
import zlib
from typing import Any

import pytest

import cutline
from tests.chat.formats import ChatML
from tests.chat.made import (
    KINDS,
    NAMED,
    TEMPLATES,
    TOOLS,
    drawn_message,
    drawn_role,
    encoding_of,
)

pytest.importorskip("jinja2")


def count_of(chat: cutline.ChatTemplate, messages: list[Any], tools: list[Any]) -> int | str:
    """The count of a whole request, or that the template refuses it."""
    try:
        return chat.count(messages, tools=tools)
    except cutline.ChatError:
        return "refused"


def check(conversation: cutline.Conversation, expected: int | str) -> None:
    try:
        assert conversation.count == expected, conversation.messages
    except cutline.ChatError:
        assert expected == "refused"


def walk(family: str, rng: random.Random, steps: int) -> None:
    """Change a conversation at random, and compare its counts."""
    encoding = encoding_of(rng.choice(KINDS))
    chat = cutline.ChatTemplate(TEMPLATES[family], encoding, special_tokens=NAMED)
    tools = rng.choice(([], TOOLS))
    conversation = cutline.Conversation(chat, tools=tools)
    strict, kept = rng.random() < 0.8, None
    for _ in range(steps):
        messages = conversation.messages
        message = drawn_message(rng, drawn_role(rng, messages, strict))
        act = rng.random()
        if act < 0.15 and messages:
            near = max(len(messages) - 3, 0)
            conversation.truncate(rng.choice((0, rng.randrange(near, len(messages)))))
        elif act < 0.25:
            whole = count_of(chat, [*messages, message], tools)
            if isinstance(whole, int) and whole:
                assert conversation.fits(message, whole)
                assert not conversation.fits(message, whole - 1)
            assert conversation.messages == messages
        elif act < 0.3:
            kept, conversation = conversation, kept or conversation.copy()
        else:
            conversation.append(message)
        if rng.random() < 0.8:
            check(conversation, count_of(chat, conversation.messages, tools))


@pytest.mark.parametrize("family", TEMPLATES)
def test_count_is_that_of_the_whole_request(family: str) -> None:
    rng = random.Random(zlib.crc32(family.encode()))
    for _ in range(8):
        walk(family, rng, 25)


def test_no_other_thread_sees_the_message_that_fits_tries() -> None:
    message, seen = {"role": "user", "content": "Hi"}, []

    class Watched(ChatML):
        def count(self, messages: Any, **options: Any) -> int:
            if len(messages) == 2:
                watcher.start()
                watcher.join(0.1)  # it waits until `fits` is done
            return super().count(messages, **options)

    def watch() -> None:
        seen.append((len(conversation), conversation.messages, conversation.count))

    conversation, watcher = (
        cutline.Conversation(Watched(), [message]),
        threading.Thread(target=watch),
    )
    conversation.fits(message, 9)
    watcher.join()
    assert seen == [(1, [message], ChatML().count([message]))]


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", TEMPLATES)
def test_count_is_that_of_the_whole_request_in_long_walks(family: str) -> None:
    rng = random.Random(zlib.crc32(family.encode()) + 1)
    for _ in range(200):
        walk(family, rng, 60)


def test_changed_copies_of_messages_change_nothing() -> None:
    chat = cutline.ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}", "gpt2")
    conversation = cutline.Conversation(chat, [{"role": "user", "content": [{"text": "Hi"}]}])
    count = conversation.count
    conversation.messages[0]["content"][0]["text"] = "a much longer text"
    conversation.messages[0]["role"] = "assistant"
    conversation.append({"role": "user", "content": ""})
    assert conversation.count == count == chat.count(conversation.messages)
    assert conversation.messages[0] == {"role": "user", "content": [{"text": "Hi"}]}


@pytest.mark.parametrize("wrong", [1.0, "1", None, True])
def test_the_number_of_messages_to_keep_is_an_integer(wrong: Any) -> None:
    chat = cutline.ChatTemplate("{{ messages[0].content }}", "gpt2")
    conversation = cutline.Conversation(chat, [{"role": "user", "content": "Hi"}] * 2)
    with pytest.raises(TypeError, match="n_messages must be an integer, got"):
        conversation.truncate(wrong)
    assert len(conversation) == 2


@pytest.mark.parametrize("wrong", [{"role": "user", "content": "Hi"}, "Hi", None])
def test_what_are_no_messages_is_not_added(wrong: Any) -> None:
    chat = cutline.ChatTemplate("{{ messages[0].content }}", "gpt2")
    with pytest.raises(TypeError, match="messages must be a list of mappings, got"):
        cutline.Conversation(chat).extend(wrong)
