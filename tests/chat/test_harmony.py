"""`Harmony` counts what openai-harmony renders."""

import json
import random
import tracemalloc
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.chat import Harmony
from tests.chat.made import drawn_messages, drawn_text

harmony = pytest.importorskip("openai_harmony", reason="the oracle")


@cache
def oracle() -> Any:
    """The oracle, with the ranks of the package; it would fetch them otherwise."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        cutline.get_encoding("o200k_base").save(Path(folder) / "o200k_base.tiktoken")
        kept = os.environ.get("TIKTOKEN_ENCODINGS_BASE")
        os.environ["TIKTOKEN_ENCODINGS_BASE"] = folder
        try:
            return harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
        finally:
            os.environ.pop("TIKTOKEN_ENCODINGS_BASE")
            if kept is not None:
                os.environ["TIKTOKEN_ENCODINGS_BASE"] = kept


def rendered(expanded: list[dict[str, Any]]) -> Any:
    messages = [harmony.Message.from_dict(json.loads(json.dumps(m))) for m in expanded]
    conversation = harmony.Conversation.from_messages(messages)
    return oracle().render_conversation_for_completion(conversation, harmony.Role.ASSISTANT)


def drawn_schema(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for key, values in (
        ("description", ("A thing.", "two\nlines", "")),
        ("default", ("x", 1, True, 1.5, [1, "a"], {"b": 1}, 'q"uote')),
        ("title", ("Ti",)),
        ("examples", (["é", 1, "b"], [])),
        ("nullable", (True, False)),
    ):
        if rng.random() < 0.3:
            schema[key] = rng.choice(values)
    inner = depth < 3
    match rng.choice(("object", "oneOf", "several", "array", "enum", "simple", "none")):
        case "object" if inner:
            names = rng.sample("zyxabcde", rng.randrange(4))
            schema |= {
                "type": "object",
                "properties": {name: drawn_schema(rng, depth + 1) for name in names},
                "required": [name for name in names if rng.random() < 0.5],
            }
        case "oneOf" if inner:
            schema["oneOf"] = [drawn_schema(rng, depth + 1) for _ in range(rng.randrange(3))]
        case "several":
            schema["type"] = rng.choice((["string", "null"], ["integer", "number"], [1], []))
        case "array" if inner:
            schema |= {"type": "array", "items": drawn_schema(rng, depth + 1)}
        case "enum":
            schema |= {"type": "string", "enum": rng.choice((["a", "b"], [1], [], "x"))}
        case "none":
            schema |= {"type": "array"} if rng.random() < 0.5 else {}
        case _:
            kinds = ("string", "integer", "number", "boolean", "null", "weird")
            schema["type"] = rng.choice(kinds)
    return schema


def drawn_tools(rng: random.Random) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    for number in range(rng.choice((0, 0, 1, 2))):
        function: dict[str, Any] = {"name": f"f{number}"}
        if rng.random() < 0.8:
            function["description"] = rng.choice(("Does.", "a\nb\n", "", "x\r\ny"))
        if rng.random() < 0.9:
            properties = {name: drawn_schema(rng) for name in "pq"}
            function["parameters"] = {"type": "object", "properties": properties}
        tools.append({"type": "function", "function": function})
    return tools


OWN = [
    {"role": "system", "content": [{"type": "system_content", "reasoning_effort": "High"}]},
    {
        "role": "developer",
        "content": [
            {
                "type": "developer_content",
                "tools": {"functions": {"name": "functions", "tools": [
                    {"name": "f", "description": "Does."}]}},
            }
        ],
    },
    {"role": "assistant", "channel": "analysis", "content": "Let me think."},
    {"role": "assistant", "channel": "final", "content": "Done."},
    {"role": "assistant", "recipient": "browser.open", "channel": "commentary",
     "content_type": "json", "content": "{}"},
    {"role": "tool", "name": "browser.open", "recipient": "all", "content": "page"},
]  # fmt: skip


def compare(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        messages, tools = drawn_messages(rng), drawn_tools(rng)
        for message in messages:
            if isinstance(message["content"], list):
                message["content"] = [{"type": "text", "text": drawn_text(rng)} for _ in "ab"]
        if rng.random() < 0.3:
            tools = []
            messages = [*OWN[:1], *messages] if rng.random() < 0.5 else messages
            messages += rng.choices(OWN[1:], k=rng.randrange(4))
        effort = rng.choice(("low", "medium", "high"))
        chat = Harmony(reasoning_effort=effort)  # type: ignore[arg-type]
        tokens = chat.encode(messages, tools=tools)
        assert tokens == rendered(chat.expand(messages, tools=tools)), seed
        assert chat.count(messages, tools=tools) == len(tokens)
        without = chat.encode(messages, tools=tools, add_generation_prompt=False)
        assert tokens[:-2] == without
        conversation = cutline.Conversation(chat, tools=tools)
        for n_messages, message in enumerate(messages, 1):
            conversation.append(message)
            if rng.random() < 0.6:
                expected = len(chat.encode(messages[:n_messages], tools=tools))
                assert conversation.count == expected
                cut = rng.randrange(n_messages)
                twin = conversation.copy()
                twin.truncate(cut)
                assert twin.count == len(chat.encode(messages[:cut], tools=tools))


def test_tokens_are_those_of_openai_harmony() -> None:
    compare(range(60))


@pytest.mark.exhaustive
def test_tokens_are_those_of_openai_harmony_for_many_conversations() -> None:
    compare(range(60, 1500))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "user", "content": [{"type": "image_url"}]}, r"message 0.*content\[0\]"),
        ({"role": "user", "content": 5}, "message 0.*no text: 5"),
        ({"role": "model", "content": "Hi"}, "message 0 has the role 'model'"),
        ({"role": "tool", "content": "x"}, "message 0.*without 'name'"),
        ({"role": "assistant", "tool_calls": [{}]}, r"message 0.*tool_calls\[0\]"),
        ({"role": "user", "channel": "x", "content": "y", "z": 1}, "message 0.*z"),
    ],
)
def test_what_harmony_lacks_is_refused_by_name(message: dict[str, Any], said: str) -> None:
    with pytest.raises(cutline.ChatError, match=said):
        Harmony().count([message])


def test_efforts_and_tools_are_checked() -> None:
    with pytest.raises(cutline.ChatError, match="reasoning_effort must be"):
        Harmony(reasoning_effort="extreme")  # type: ignore[arg-type]
    with pytest.raises(cutline.ChatError, match="tool 0 is no function"):
        Harmony().count([{"role": "user", "content": "Hi"}], tools=[{"type": "x"}])


def test_names_of_calls_follow_cuts_and_repeated_ids() -> None:
    rng, chat = random.Random(5), Harmony()

    def drawn() -> list[dict[str, Any]]:
        identity, name = rng.choice("ab"), rng.choice(("f", "a_function_of_a_longer_name"))
        call = {"id": identity, "function": {"name": name, "arguments": "{}"}}
        asked = rng.choice("ab")
        return [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": asked, "content": "x"},
        ]

    conversation = cutline.Conversation(chat)
    for _ in range(300):
        if rng.random() < 0.4:
            conversation.truncate(rng.randrange(len(conversation) + 1))
        else:
            conversation.extend(drawn())
        twin = conversation.copy() if rng.random() < 0.5 else conversation
        assert outcome(partial(getattr, twin, "count")) == outcome(
            lambda: len(chat.encode(conversation.messages))
        )


def outcome(count: Callable[[], int]) -> int | str:
    """A count, or what the error says: the result of no call before it."""
    try:
        return count()
    except cutline.ChatError as error:
        return str(error)


def test_many_calls_take_memory_in_proportion() -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for number in range(2_000):
        call = {"id": f"call-{number}", "function": {"name": "f", "arguments": "{}"}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "x"})
    conversation = cutline.Conversation(Harmony(), messages)
    tracemalloc.start()
    try:
        assert conversation.count > 50_000
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()
