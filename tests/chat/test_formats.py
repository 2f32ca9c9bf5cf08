"""Where formats come from: folders, names, functions; and what estimates are made of."""

import copy
import datetime
import json
import pickle
import signal
from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import cutline
from cutline.chat import (
    CustomFormat,
    Harmony,
    OpenAIEstimate,
    chatml,
    format_for_model,
    openai_estimate,
)
from cutline.chat.by_name import chat_format_of
from cutline.chat.images import Patches, Tiles, image_rule
from tests.alarms import alarm
from tests.chat.made import NAMED, TEMPLATES, TOOLS, encoding_of, tokenizer_of

pytest.importorskip("jinja2")

HI = [{"role": "user", "content": "Hi <|im_end|>"}, {"role": "assistant", "content": "Hello"}]
ONE, TWO = TEMPLATES["chatml"], TEMPLATES["kimi"]

# Files of a folder, and the template that a request without and with tools has.
FOLDERS: dict[str, tuple[dict[str, Any], str, str]] = {
    "in the config": ({"tokenizer_config.json": {"chat_template": ONE}}, ONE, ONE),
    "named": (
        {"tokenizer_config.json": {"chat_template": [
            {"name": "default", "template": ONE}, {"name": "tool_use", "template": TWO}]}},
        ONE, TWO,
    ),
    "a file": (
        {"tokenizer_config.json": {"chat_template": TWO}, "chat_template.jinja": ONE}, ONE, ONE),
    "a folder": (
        {"chat_template.jinja": ONE, "additional_chat_templates/tool_use.jinja": TWO}, ONE, TWO),
    "a text for a token": (
        {"tokenizer_config.json": {"chat_template": TEMPLATES["phi3"], "eos_token": "</s>"}},
        TEMPLATES["phi3"], TEMPLATES["phi3"],
    ),
}  # fmt: skip


def write(folder: Path, files: dict[str, Any]) -> Path:
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_are_read_as_transformers_reads_them(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle")
    files, plain, with_tools = FOLDERS[name]
    config = {**NAMED, "bos_token": {"content": "<s>", "__type": "AddedToken"}}
    config |= files.get("tokenizer_config.json", {})
    write(tmp_path, {**files, "tokenizer_config.json": config})
    tokenizer_of("byte level").save(str(tmp_path / "tokenizer.json"))
    oracle = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    for chat in (
        cutline.ChatTemplate.load(tmp_path),
        cutline.ChatTemplate.load(tmp_path, encoding_of("byte level")),
        cutline.ChatTemplate.from_pretrained(tmp_path),
    ):
        for tools, source in ([], plain), (TOOLS, with_tools):
            given = {"tools": tools or None, "return_dict": False}
            for prompt in (True, False):
                theirs = oracle.apply_chat_template(HI, add_generation_prompt=prompt, **given)
                assert chat.encode(HI, tools=tools, add_generation_prompt=prompt) == theirs
            direct = cutline.ChatTemplate(source, encoding_of("byte level"), special_tokens=NAMED)
            assert direct.render(HI, tools=tools) == chat.render(HI, tools=tools)


def test_single_files_are_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.jinja": ONE, "chat_template.json": {"chat_template": TWO}})
    assert cutline.ChatTemplate.load(tmp_path / "a.jinja", "gpt2").render(HI).startswith("<|im_st")
    for path in (tmp_path / "chat_template.json", tmp_path):
        assert "<|im_middle|>" in cutline.ChatTemplate.load(path, "gpt2").render(HI)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "has no chat template"),
        ({"tokenizer_config.json": {"chat_template": 5}}, "chat_template is 5 instead of"),
        ({"tokenizer_config.json": {"chat_template": [{"name": "a"}]}}, "instead of a text"),
        ({"tokenizer_config.json": {"chat_template": "x", "bos_token": 3}}, "bos_token is 3"),
        ({"tokenizer_config.json": "{"}, "contains no JSON"),
        ({"chat_template.jinja": "{% if %}"}, "no valid one, in line 1"),
    ],
)
def test_damaged_folders_are_named(files: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        cutline.ChatTemplate.load(write(tmp_path, files), "gpt2")


def test_named_templates_without_a_default_are_refused() -> None:
    chat = cutline.ChatTemplate({"rag": ONE}, "gpt2")
    with pytest.raises(cutline.ChatError, match="named 'rag', and none is the default"):
        chat.count(HI)


@pytest.mark.parametrize("content", ["The saw is ", "The saw is", "  x  ", "a</think>b "])
@pytest.mark.parametrize("family", ["chatml", "gemma", "qwen3", "llama3", "phi3"])
def test_continued_messages_are_those_of_transformers(family: str, content: str) -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle")
    oracle = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer_of("byte level"), **NAMED
    )
    chat = cutline.ChatTemplate(TEMPLATES[family], encoding_of("byte level"), special_tokens=NAMED)
    messages: list[dict[str, Any]] = [HI[0], {"role": "assistant", "content": content}]
    try:
        theirs = oracle.apply_chat_template(
            messages, chat_template=TEMPLATES[family], tokenize=False, continue_final_message=True
        )
    except ValueError:
        with pytest.raises(cutline.ChatError):
            chat.render(messages, continue_final_message=True)
    else:
        assert chat.render(messages, continue_final_message=True) == theirs


def test_documents_and_variables_reach_the_template() -> None:
    source = "{{ documents[0].text }}{{ mode }}{{ bos_token }}{{ tools is none }}"
    chat = cutline.ChatTemplate(
        source, "gpt2", special_tokens={"bos_token": "<s>"}, variables={"mode": "slow"}
    )
    assert chat.render(HI, documents=[{"text": "doc"}]) == "docslow<s>True"
    assert chat.render(HI, documents=[{"text": "doc"}], mode="fast") == "docfast<s>True"


def test_chatml_needs_its_tokens() -> None:
    assert chatml(encoding_of("byte level")).count(HI) == cutline.ChatTemplate(
        ONE, encoding_of("byte level")
    ).count(HI)
    with pytest.raises(cutline.ChatError, match=r"'gpt2' has no special token '<\|im_end\|>'"):
        chatml("gpt2")


# Estimates


def test_messages_are_estimated_as_the_cookbook_does() -> None:
    """Its example, and what it says that the API counted."""
    messages = [
        {"role": "system", "content": "You are a helpful, pattern-following assistant that "
         "translates corporate jargon into plain English."},
        {"role": "system", "name": "example_user",
         "content": "New synergies will help drive top-line growth."},
        {"role": "system", "name": "example_assistant",
         "content": "Things working well together will increase revenue."},
        {"role": "system", "name": "example_user", "content": "Let's circle back when we have "
         "more bandwidth to touch base on opportunities for increased leverage."},
        {"role": "system", "name": "example_assistant", "content": "Let's talk later when we're "
         "less busy about how to do better."},
        {"role": "user", "content": "This late pivot means we don't have time to boil the ocean "
         "for the client deliverable."},
    ]  # fmt: skip
    assert openai_estimate("gpt-4").count(messages) == 129
    assert openai_estimate("gpt-4o").count(messages) == 124


def test_tools_are_estimated_as_the_cookbook_does() -> None:
    properties = {
        "location": {"type": "string",
                     "description": "The city and state, e.g. San Francisco, CA"},
        "unit": {"type": "string", "description": "The unit of temperature to return",
                 "enum": ["celsius", "fahrenheit"]},
    }  # fmt: skip
    function = {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {"type": "object", "properties": properties, "required": ["location"]},
    }
    tools = [{"type": "function", "function": function}]
    messages = [
        {"role": "system", "content": "You are a helpful assistant that can answer to questions "
         "about the weather."},
        {"role": "user", "content": "What's the weather like in San Francisco?"},
    ]  # fmt: skip
    assert openai_estimate("gpt-4").count(messages, tools=tools) == 105
    assert openai_estimate("gpt-4o").count(messages, tools=tools) == 101


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        ("gpt-4o", (1024, 1024), "high", 765),
        ("gpt-4o", (2048, 4096), "high", 1105),
        ("gpt-4o", (4096, 8192), "low", 85),
        ("gpt-4o", (100, 100), "auto", 255),
        ("gpt-4o", (2**31 - 1, 1), "high", 765),
        ("gpt-4o-mini", (512, 512), "high", 8500),
        ("o1", (512, 512), "high", 225),
        ("gpt-5", (768, 768), "high", 630),
        ("gpt-5.1", (768, 768), "low", 70),
        ("gpt-5.4-mini", (1024, 1024), "auto", 1659),
        ("gpt-4.1-mini", (1024, 1024), "high", 1659),
        ("gpt-4.1-mini", (1800, 2400), "high", 2353),
        ("o4-mini", (32, 32), "low", 2),
    ],
)
def test_images_follow_the_published_rules(
    model: str, size: tuple[int, int], detail: str, tokens: int
) -> None:
    rule = image_rule(model)
    assert isinstance(rule, Tiles | Patches)
    assert rule.tokens(*size, detail) == tokens
    image = {"url": "x", "detail": detail, "width": size[0], "height": size[1]}
    message = {"role": "user", "content": [{"type": "image_url", "image_url": image}]}
    chat = openai_estimate(model)
    assert chat.count([message]) == tokens + 3 + 1 + 3


@pytest.mark.parametrize("size", [(0, 0), (0, 5), (2**31, 5), (10**400, 1)])
@pytest.mark.parametrize("model", ["gpt-4o", "o4-mini"])
def test_images_of_no_size_or_of_more_than_there_is_are_of_unknown_size(
    model: str, size: tuple[int, int]
) -> None:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    data = head + b"".join(min(side, 2**32 - 1).to_bytes(4, "big") for side in size)
    url = f"data:image/png;base64,{b64encode(data).decode()}"
    for image in {"url": "x", "width": size[0], "height": size[1]}, {"url": url}:
        message = {"role": "user", "content": [{"type": "image_url", "image_url": image}]}
        with pytest.raises(cutline.ChatError, match="image of unknown size"):
            openai_estimate(model).count([message])


@pytest.mark.parametrize("size", [(1, 1), (1, 100_000), (100_000, 3), (7000, 7000)])
@pytest.mark.parametrize("model", ["gpt-4o", "o4-mini"])
def test_images_of_any_shape_have_a_count(model: str, size: tuple[int, int]) -> None:
    rule = image_rule(model)
    assert rule is not None
    assert 0 < rule.tokens(*size, "high") < 3000


@pytest.mark.parametrize(
    ("model", "message", "said"),
    [
        ("gpt-4o", {"content": [{"type": "image_url", "image_url": {"url": "x"}}]}, "unknown size"),
        ("gpt-4", {"content": [{"type": "image_url"}]}, "no rule is known for 'gpt-4'"),
        ("gpt-4o", {"content": [{"type": "input_audio"}]}, r"message 0, content\[0\].*input_audio"),
        ("gpt-4o", {"content": 5}, "message 0.*no text: 5"),
        ("gpt-4o", {"tool_calls": [3]}, r"message 0.*tool_calls\[0\]"),
    ],
)
def test_what_has_no_rule_is_refused(model: str, message: dict[str, Any], said: str) -> None:
    with pytest.raises(cutline.ChatError, match=said):
        openai_estimate(model).count([{"role": "user", **message}])


def test_names_of_models_have_formats() -> None:
    assert isinstance(format_for_model("gpt-oss-120b"), Harmony)
    assert isinstance(format_for_model("openai/gpt-oss-20b"), Harmony)
    assert isinstance(format_for_model("gpt-4o"), OpenAIEstimate)
    for model in ("claude-sonnet-4", "gemini-2.5-pro", "anthropic/claude-3"):
        with pytest.raises(cutline.ChatError, match=r"offline.*CustomFormat"):
            format_for_model(model)
    with pytest.raises(cutline.UnknownModelError):
        format_for_model("no-such-model")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (None, "a model name is a str, got None"),
        ("llama-3", "no chat format is known for model 'll"),
    ],
)
def test_names_without_a_format_are_refused(model: Any, said: str) -> None:
    with pytest.raises(cutline.UnknownModelError) as caught:
        format_for_model(model)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("messages", "error", "said"),
    [
        (None, TypeError, "messages must be a list of mappings, got NoneType"),
        ([{"role": "user", "content": b"Hi"}], cutline.ChatError, "no text, but bytes: decode it"),
        ([{"type": "human", "content": "Hi"}], cutline.ChatError, "by its convert_to_openai_mess"),
        (
            [{"role": "user", "content": [{"type": "text", "text": b"Hi"}]}],
            cutline.ChatError,
            r"message 0 has a content\[0\]\['text'\] that is no text, but bytes: decode it",
        ),
        (
            [{"role": "user", "content": np.array(["Hi"])}],
            cutline.ChatError,
            "message 0 has a 'content' that is no text, but ndarray: pass a str",
        ),
        ({"role": "user", "content": "Hi"}, TypeError, "got dict: put it into a list"),
        (
            [{"role": "assistant", "tool_calls": 5}],
            cutline.ChatError,
            "'tool_calls' that are no li",
        ),
    ],
)
def test_what_are_no_messages_is_named(messages: Any, error: type[Exception], said: str) -> None:
    for chat_format in (openai_estimate("gpt-4o"), Harmony(), chat_format_of("chatml")):
        with pytest.raises(error, match=said):
            chat_format.count(messages)


ALL: list[Any] = [
    openai_estimate("gpt-4o"),
    Harmony(),
    chat_format_of("chatml"),
    CustomFormat(lambda messages, tools: len(messages) + 10 * len(tools)),
    cutline.ChatTemplate("{{ messages }}{{ messages[0].content }}{{ tools }}", "gpt2"),
]


@pytest.mark.parametrize("chat", ALL, ids=lambda chat: type(chat).__name__)
def test_tools_are_read_once_and_none_are_none(chat: Any) -> None:
    expected = chat.count(HI, tools=TOOLS)
    assert expected > chat.count(HI) == chat.count(HI, tools=None)
    assert chat.count(HI, tools=(tool for tool in TOOLS)) == expected
    assert chat.count((message for message in HI), tools=tuple(TOOLS)) == expected
    assert cutline.Conversation(chat, HI, (tool for tool in TOOLS)).count == expected
    assert cutline.Conversation(chat, HI, None).count == chat.count(HI)
    trimmed = cutline.trim([*HI, *HI], expected, chat, tools=(tool for tool in TOOLS))
    assert trimmed.removed
    assert trimmed.token_count == chat.count(trimmed.messages, tools=TOOLS) <= expected


@pytest.mark.parametrize("chat", ALL, ids=lambda chat: type(chat).__name__)
@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({"name": "saw"}, "tools must be a list of schemas, got dict: put it into a list"),
        ("saw", "tools must be a list of schemas, got str"),
        ([{"name": "saw"}, len], "tool 1 must be a schema, a mapping, got <built-in function len>"),
        ([None], "tool 0 must be a schema, a mapping, got None"),
    ],
)
def test_what_are_no_tools_is_named(chat: Any, tools: Any, said: str) -> None:
    for count in chat.count, cutline.Conversation:
        with pytest.raises(TypeError) as caught:
            count(HI, tools=tools) if count == chat.count else count(chat, HI, tools)
        assert str(caught.value) == said


@pytest.mark.parametrize("chat", ALL[:1] + ALL[2:], ids=lambda chat: type(chat).__name__)
def test_tools_that_contain_themselves_are_refused(chat: Any) -> None:
    looped: dict[str, Any] = {"name": "saw"}
    looped["parameters"] = looped
    with pytest.raises(cutline.ChatError, match="tool 1 contains itself"):
        chat.count(HI, tools=[{"name": "saw"}, looped])


@pytest.mark.parametrize("parameters", [[1], "x", 5])
def test_parameters_that_are_no_schema_are_refused(parameters: Any) -> None:
    with pytest.raises(cutline.ChatError, match="tool 0 has 'parameters' that are no schema"):
        openai_estimate("gpt-4o").count(HI, tools=[{"name": "saw", "parameters": parameters}])


@pytest.mark.parametrize("content", [5, 1.5, {"type": "text", "text": "Hi"}])
def test_contents_that_are_no_text_are_refused(content: Any) -> None:
    for name in "chatml", "plain":
        with pytest.raises(cutline.ChatError, match="message 0 has a 'content' that is no text"):
            chat_format_of(name).count([{"role": "user", "content": content}])


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: CustomFormat(5), TypeError, "count must be a function, got 5"),
        (lambda: CustomFormat(len_of, around=3), TypeError, "around belongs to count_message"),
        (lambda: CustomFormat(count_message=len, around=1.5), TypeError, "around must be an integ"),
        (lambda: CustomFormat(count_message=len, around=-1), ValueError, "around must be 0 or mo"),
        (lambda: Harmony(model_identity=5), TypeError, "model_identity must be a str or None, got"),
        (lambda: cutline.ChatTemplate(None, "gpt2"), TypeError, "template must be a str, or a map"),
        (lambda: cutline.ChatTemplate({"default": 5}, "gpt2"), TypeError, "template must be a str"),
        (
            lambda: cutline.ChatTemplate("x", "gpt2", contents_as_text="no"),
            TypeError,
            "contents_as_text must be True or False, got 'no'",
        ),
        (lambda: ALL[0].count(HI, add_generation_prompt="no"), TypeError, "must be True or False"),
        (lambda: ALL[4].count(HI, add_generation_prompt="no"), TypeError, "must be True or False"),
        (lambda: Harmony().encode(HI, add_generation_prompt="no"), TypeError, "must be True or Fa"),
        (lambda: cutline.ChatTemplate("x", Path("gpt2")), TypeError, r"use cutline.load\('gpt2'\)"),
        (
            lambda: cutline.ChatTemplate("x", None),
            TypeError,
            "Encoding or its name, got NoneType: use",
        ),
        (
            lambda: cutline.ChatTemplate("x", cutline.wrap(tokenizer_of("byte level"))),
            TypeError,
            r"an Encoding or its name, got WrappedTokenizer: use .*Encoding\.from_tokenizers\(",
        ),
        (lambda: chatml(None), TypeError, "encoding must be an Encoding or its name"),
        (lambda: chat_format_of(5), TypeError, "name of a chat format must be a str or a path"),
        (lambda: cutline.Conversation(Harmony), TypeError, "got the class Harmony"),
        (
            lambda: ALL[4].render([{"role": "user", "content": 5}], continue_final_message=True),
            cutline.ChatError,
            "the 'content' of the last message is no text to continue: 5",
        ),
    ],
)
def test_wrong_arguments_are_named(
    make: Callable[[], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        make()


def test_a_format_is_found_by_a_path_object(tmp_path: Path) -> None:
    path = tmp_path / "chat_template.jinja"
    path.write_text("{{ messages[0].content }}")
    assert chat_format_of(path, "gpt2").count(HI) == chat_format_of(str(path), "gpt2").count(HI)


@pytest.mark.parametrize("wrong", ["gpt-4o", cutline.get_encoding("gpt2"), None, [HI], b"chatml"])
def test_what_is_no_chat_format_is_refused(wrong: Any) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    with pytest.raises(TypeError, match=r"^format must be a chat format .*format_for_model"):
        cutline.Conversation(wrong, messages)
    with pytest.raises(TypeError, match=r"^chat_format must be a chat format .*format_for_model"):
        cutline.trim(messages, 100, wrong)


def test_custom_formats_count_by_functions() -> None:
    def count(messages: Any, tools: Any) -> int:
        return 10 * len(messages) + len(tools)

    whole = CustomFormat(count)
    one = CustomFormat(count_message=lambda message: 10, around=1)
    for chat, tools in (whole, TOOLS[:1]), (one, []):
        conversation = cutline.Conversation(chat, HI, tools=tools)
        assert conversation.count == chat.count(HI, tools=tools) == 21
        assert conversation.message_counts() == [11, 10]
    with pytest.raises(TypeError, match="either count or count_message"):
        CustomFormat()
    with pytest.raises(cutline.ChatError, match="must return a count, got None"):
        CustomFormat(count_message=lambda message: None).count(HI)  # type: ignore[arg-type,return-value]


# Conversations of any format


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-oss-20b"])
def test_conversations_of_other_formats_count_as_whole_requests(model: str) -> None:
    chat = format_for_model(model)
    conversation = cutline.Conversation(chat, tools=TOOLS)
    for _ in range(3):
        conversation.extend(HI)
        assert conversation.count == chat.count(conversation.messages, tools=TOOLS)
    conversation.truncate(3)
    assert conversation.count == chat.count(conversation.messages, tools=TOOLS)
    assert sum(conversation.message_counts()) == conversation.count
    assert len(conversation) == 3


def test_conversations_are_copied_and_pickled() -> None:
    conversation = cutline.Conversation(CustomFormat(len_of), HI)
    for twin in copy.copy(conversation), pickle.loads(pickle.dumps(conversation)):
        twin.append(HI[0])
        assert (conversation.count, twin.count) == (2, 3)
    assert repr(conversation).endswith(": 2 messages>")


def len_of(messages: Any, tools: Any) -> int:
    return len(messages)


def test_conversations_check_their_arguments() -> None:
    for other in ("gpt-4o", cutline.get_encoding("gpt2"), 5):
        with pytest.raises(TypeError, match="format must be a chat format"):
            cutline.Conversation(other)  # type: ignore[arg-type]
    conversation = cutline.Conversation(openai_estimate("gpt-4o"), HI)
    for n_messages in (-1, 3):
        with pytest.raises(cutline.OffsetError, match="from 0 to 2"):
            conversation.truncate(n_messages)
    with pytest.raises(ValueError, match="max_tokens"):
        conversation.fits(HI[0], -1)
    with pytest.raises(cutline.ChatError, match="message 3 has no 'role'"):
        conversation.extend([HI[0], {}])
    assert len(conversation) == 2


def test_a_call_of_a_function_in_the_old_form_is_counted() -> None:
    function = {"name": "saw", "arguments": '{"plank": "äöü"}'}
    old = [{"role": "assistant", "content": None, "function_call": function}]
    new = [{"role": "assistant", "tool_calls": [{"type": "function", "function": function}]}]
    for chat in ALL[0], ALL[1], chat_format_of("chatml"), chat_format_of("plain"):
        assert chat.count(old) == chat.count(new) > 10


def test_messages_that_wait_are_counted_in_linear_time_and_again_after_an_error() -> None:
    def count(message: Any) -> int:
        return 1 if message["content"] else -1

    chat = CustomFormat(count_message=count)
    growing = chat.growing()
    growing.extend([{"content": "x"}] * 1_000_000)
    with alarm():
        signal.setitimer(signal.ITIMER_REAL, 30)  # a second or two
        assert growing.count() == 1_000_000
    conversation = cutline.Conversation(
        chat, [{"role": "user", "content": x} for x in ("a", "", "b")]
    )
    for _ in range(2):
        with pytest.raises(cutline.ChatError, match="must return a count, got -1"):
            _ = conversation.count
    conversation.truncate(1)
    conversation.append({"role": "user", "content": "b"})
    assert conversation.count == 2


class Day(NamedTuple):
    """A tuple is a list to JSON."""

    year: int


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (datetime.date(2025, 1, 1), "date"),
        (Decimal("1.5"), "Decimal"),
        ({"b"}, "set"),
        (b"x", "bytes"),
        (np.array([1, 2]), "ndarray"),
        (len, "builtin_function_or_method"),
        (Decimal, "type"),
    ],
)
def test_values_of_which_the_text_is_not_known_are_refused(value: Any, kind: str) -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": {"a": [{"b": value}]}}}
    message = {"role": "assistant", "tool_calls": [call]}
    said = f" has a value of type {kind}, which JSON lacks: pass its text"
    for chat in ALL:
        with pytest.raises(cutline.ChatError, match=f"^message 1, 'tool_calls',{said}$"):
            chat.count([HI[0], message])
        with pytest.raises(cutline.ChatError, match=f"^tool 1{said}$"):
            chat.count(HI, tools=[TOOLS[0], {"name": "f", "parameters": {"a": value}}])
    with pytest.raises(cutline.ChatError, match=f"^'date'{said}$"):
        ALL[4].count(HI, date=value)
    with pytest.raises(cutline.ChatError, match=f"^'documents'{said}$"):
        ALL[4].count(HI, documents=[{"date": value}])
    with pytest.raises(cutline.ChatError, match=f"^'date'{said}$"):
        cutline.ChatTemplate("x", "gpt2", variables={"date": value})
    stamped = [{**HI[0], "created_at": value}, HI[1]]  # which no format writes
    assert openai_estimate("gpt-4o").count(stamped) == openai_estimate("gpt-4o").count(HI)


@pytest.mark.parametrize("value", [np.int64(5), np.float64(0.5), np.bool_(True), Day(5), (1, "a")])
def test_values_that_json_has_are_counted_as_it_writes_them(value: Any) -> None:
    def request(one: Any) -> list[Any]:
        call = {"id": "1", "function": {"name": "f", "arguments": {"a": one}}}
        return [{"role": "assistant", "tool_calls": [call]}]

    written = value.item() if hasattr(value, "item") else [*value]
    chat = cutline.ChatTemplate("{{ messages[0].tool_calls | tojson }}", "gpt2")
    for one in ALL[0], ALL[1], ALL[2], chat:
        assert one.count(request(value)) == one.count(request(written))
