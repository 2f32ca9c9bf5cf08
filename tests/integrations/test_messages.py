"""Counts of messages in other packages, with the real packages: they are those of the format."""

from typing import Any

import pytest

import cutline
from cutline.chat.by_name import chat_format_of
from tests.chat.conversations import agent, chat, step, turn
from tests.chat.formats import ChatML, assert_valid
from tests.oracles import counter

CONVERSATIONS = [chat(6), agent(6), turn("中文?", step(1, "a", "<|im_end|>", "👍🏽"))]
PARTS = [
    {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
]
TOOLS = [{"type": "function", "function": {"name": "read", "description": "", "parameters": {}}}]


@pytest.mark.parametrize("messages", [*CONVERSATIONS, PARTS])
def test_langchain_counts_as_the_format(messages: list[dict[str, Any]]) -> None:
    pytest.importorskip("langchain_text_splitters", reason="langchain-text-splitters is missing")
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages

    from cutline.integrations.langchain import message_counter

    given = convert_to_messages(messages)
    written = convert_to_openai_messages(given)
    assert [message["role"] for message in written] == [message["role"] for message in messages]
    for tools in ((), TOOLS):
        counted = message_counter(ChatML(), tools=tools)(given)
        assert counted == ChatML().count(written, tools=tools)
    calls = [call for message in written for call in message.get("tool_calls", ())]
    assert len(calls) == sum(len(message.get("tool_calls", ())) for message in messages)


def test_langchain_trims_by_the_formats_counts() -> None:
    pytest.importorskip("langchain_text_splitters", reason="langchain-text-splitters is missing")
    from langchain_core.messages import (
        convert_to_messages,
        convert_to_openai_messages,
        trim_messages,
    )

    from cutline.integrations.langchain import message_counter

    given = convert_to_messages(chat(12))
    for budget in (100, 300, 600):
        left = trim_messages(
            given,
            max_tokens=budget,
            token_counter=message_counter(ChatML()),
            include_system=True,
            start_on="human",
        )
        written = convert_to_openai_messages(left)
        assert ChatML().count(written) <= budget
        assert_valid(written)
        ours = cutline.trim(convert_to_openai_messages(given), budget, ChatML())
        assert written == ours.messages


def test_haystacks_counter_is_that_of_the_format_and_can_be_written() -> None:
    pytest.importorskip("haystack", reason="haystack-ai is missing")
    from haystack.dataclasses import ChatMessage, ToolCall
    from haystack.tools import Tool

    from cutline.integrations.haystack import CutlineTokenCounter

    call = ToolCall("read", {"path": "a.txt"}, id="1")
    messages = [
        ChatMessage.from_system("Be brief."),
        ChatMessage.from_user("Read it."),
        ChatMessage.from_assistant(tool_calls=[call]),
        ChatMessage.from_tool("line one", origin=call),
    ]
    tool = Tool("read", "Reads.", {"type": "object", "properties": {}}, lambda: None)
    written = [message.to_openai_dict_format() for message in messages]
    schemas = [{"type": "function", "function": tool.tool_spec}]
    own = CutlineTokenCounter(ChatML())
    assert own.count(messages) == ChatML().count(written)
    assert own.count(messages, [tool]) == ChatML().count(written, tools=schemas)
    assert own.count([]) == 0
    with pytest.raises(ValueError, match="give the format by its name"):
        own.to_dict()

    named = CutlineTokenCounter("chatml", "cl100k_base")
    read = CutlineTokenCounter.from_dict(named.to_dict())
    assert read.count(messages) == named.count(messages)
    assert named.count(messages) == chat_format_of("chatml", "cl100k_base").count(written)


@pytest.mark.filterwarnings("ignore")  # hooks are experimental
def test_haystacks_hooks_take_the_counter() -> None:
    pytest.importorskip("haystack", reason="haystack-ai is missing")
    from haystack.dataclasses import ChatMessage
    from haystack.hooks.compaction import SlidingWindowCompactor

    from cutline.integrations.haystack import CutlineTokenCounter

    messages = [ChatMessage.from_system("Be brief.")]
    for i in range(12):
        messages += [
            ChatMessage.from_user(f"Question {i}?"),
            ChatMessage.from_assistant(f"answer {i} " * 20),
        ]
    messages.append(ChatMessage.from_user("And now?"))
    counter = CutlineTokenCounter("chatml")
    left = SlidingWindowCompactor().compact(messages, 300, counter)
    assert counter.count(left) <= 300 < counter.count(messages)


def test_llama_indexs_memory_counts_with_an_encoding() -> None:
    pytest.importorskip("llama_index.core", reason="llama-index-core is missing")
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    encode = cutline.get_encoding("o200k_base").encode_ordinary
    memory = ChatMemoryBuffer.from_defaults(token_limit=100, tokenizer_fn=encode)
    for message in chat(12)[1:]:
        memory.put(ChatMessage(role=message["role"], content=message["content"]))
    left = memory.get()
    assert left[-1].content == "And now?"
    assert sum(counter("o200k_base")(str(message.content)) for message in left) <= 100


@pytest.mark.filterwarnings("ignore")  # of litellm and what it imports
@pytest.mark.parametrize("text", ["", "hello world", "a<|endoftext|>b", "中文 👍🏽 " * 50])
def test_litellm_takes_the_tokenizer(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
    litellm = pytest.importorskip("litellm", reason="litellm is missing")

    from cutline.integrations.litellm import custom_tokenizer

    for name in ("o200k_base", "gpt2"):
        made = custom_tokenizer(name)
        options = {"model": "any", "custom_tokenizer": made}
        assert litellm.token_counter(text=text, **options) == counter(name)(text)
        ids = litellm.encode(text=text, **options)
        assert ids == cutline.get_encoding(name).encode_ordinary(text)
        assert litellm.decode(tokens=ids, **options) == text
        end = cutline.get_encoding(name).eot_token
        assert litellm.decode(tokens=[*ids, end], **options) == text
        assert litellm.decode(tokens=[end], skip_special_tokens=False, **options) != ""
    messages = [{"role": "user", "content": text}]
    own = litellm.token_counter(model="gpt-4o", messages=messages)
    made = custom_tokenizer("o200k_base")
    assert litellm.token_counter(model="gpt-4o", messages=messages, custom_tokenizer=made) == own
