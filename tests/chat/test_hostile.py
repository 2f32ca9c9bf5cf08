"""Templates and messages of strangers: stopped, refused by name, or counted exactly."""

import threading
import time
from typing import Any

import pytest

import cutline
from tests.chat.made import NAMED, TEMPLATES, encoding_of

pytest.importorskip("jinja2")

HI = [{"role": "user", "content": "Hi"}]

ENDLESS = {
    "nested loops": "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "a macro that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a macro that calls itself twice": "{% macro f(n) %}{% if n %}{{ f(n-1) ~ f(n-1) }}{% endif %}"
    "{% endmacro %}{{ f(99) }}",
    "a recursive loop": "{% for a in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "a range beyond all": "{% for a in range(10 ** 9) %}{% endfor %}",
    "a product": "{{ 'x' * 10 ** 12 }}",
    "a product of lists": "{{ ([1] * 10 ** 12)|length }}",
    "a product from the left": "{{ 10 ** 12 * 'x' }}",
    "a power": "{{ 9 ** 9 ** 9 ** 9 }}",
    "powers": "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}"
    "{% endfor %}",
    "doubling by +": "{% set n = namespace(x='x') %}{% for i in range(99) %}"
    "{% set n.x = n.x + n.x %}{% endfor %}",
    "doubling by ~": "{% set n = namespace(x='x') %}{% for i in range(99) %}"
    "{% set n.x = n.x ~ n.x %}{% endfor %}",
    "doubling by set": "{% set n = namespace(x='x') %}{% for i in range(99) %}"
    "{% set y %}{{ n.x }}{{ n.x }}{% endset %}{% set n.x = y %}{% endfor %}",
    "doubling by join": "{% set n = namespace(x='x') %}{% for i in range(99) %}"
    "{% set n.x = [n.x, n.x]|join %}{% endfor %}",
    "doubling by a method": "{% set n = namespace(x='x') %}{% for i in range(99) %}"
    "{% set n.x = ''.join([n.x, n.x]) %}{% endfor %}",
    "doubling by replace": "{% set n = namespace(x='xx') %}{% for i in range(99) %}"
    "{% set n.x = n.x.replace('x', 'xx') %}{% endfor %}",
    "doubling by a filter": "{% set n = namespace(x='xx') %}{% for i in range(99) %}"
    "{% set n.x = n.x|replace('x', 'xx') %}{% endfor %}",
    "doubling by format": "{% set n = namespace(x='x') %}{% for i in range(99) %}"
    "{% set n.x = '{0}{0}'.format(n.x) %}{% endfor %}",
    "doubling by JSON": "{% set n = namespace(x='\"') %}{% for i in range(99) %}"
    "{% set n.x = n.x|tojson %}{% endfor %}",
    "doubling a list": "{% set n = namespace(x=[1]) %}{% for i in range(99) %}"
    "{% set n.x = n.x + n.x %}{% endfor %}",
    "a long separator": "{% set x = 'x' * 100000 %}{{ (([x] * 10000)|join(x * 9))|length }}",
    "a long separator by a method": "{% set x = 'x' * 100000 %}{{ x.join([x] * 9999)|length }}",
    "a filter's named arguments": "{{ ('x' * 99999)|replace(old='x', new='x' * 99999)|length }}",
    "indentation by a text": "{{ 'x\ny'|indent('x' * 10 ** 6) }}",
    "indentation of many lines": "{{ ('x\n' * 10 ** 6)|indent(65536)|length }}",
    "JSON with a text before": "{{ [1]|tojson(indent='x' * 10 ** 6) }}",
    "rounding": "{{ 1|round(10 ** 9, 'ceil') }}",
    "tabs": "{{ ('\t' * 10 ** 6).expandtabs(65536)|length }}",
    "a translation": "{{ ('x' * 99999).translate({120: 'x' * 99999})|length }}",
    "padding": "{{ 'x'.ljust(10 ** 12) }}",
    "a filter that pads": "{{ 'x'|center(10 ** 12) }}",
    "indentation": "{{ 'x\ny'|indent(10 ** 12) }}",
    "JSON with indentation": "{{ [1]|tojson(indent=10 ** 12) }}",
    "a width": "{{ '%999999999999d' % 1 }}",
    "a width by format": "{{ '{:999999999999}'.format(1) }}",
    "a width from elsewhere": "{{ '%*d' % (10 ** 12, 1) }}",
    "output without end": "{% for a in range(99999) %}{% for b in range(99999) %}"
    "{{ 'x' * 9999 }}{% endfor %}{% endfor %}",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_runs_or_grows_without_end_is_stopped(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutline.chat import metering

    monkeypatch.setattr(metering, "MAX_STEPS", 100_000)
    monkeypatch.setattr(metering, "MAX_TEXT", 1 << 20)
    chat = cutline.ChatTemplate(ENDLESS[name], "gpt2")
    with pytest.raises(cutline.ChatError, match=r"stopped|without end|fails|refuses"):
        chat.count(HI)
    with pytest.raises(cutline.ChatError):
        _ = cutline.Conversation(chat, HI).count


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ raise_exception.__globals__['x'] }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'a': 1}) }}",
        "{{ namespace(__class__=1) }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{% set n = namespace() %}{% set n._x = 1 %}",
        "{{ (''|attr('__class__')).x }}",
        "{% include 'a' %}",
        "{{ open('/etc/passwd') }}",
    ],
)
def test_what_leads_out_of_the_sandbox_is_refused(source: str) -> None:
    chat = cutline.ChatTemplate(source, "gpt2")
    with pytest.raises(cutline.ChatError):
        chat.count(HI)


def test_a_template_that_is_none_says_where() -> None:
    with pytest.raises(cutline.ChatError, match="line 2"):
        cutline.ChatTemplate("\n{% for %}", "gpt2")


def test_refusals_are_those_of_the_template() -> None:
    chat = cutline.ChatTemplate(TEMPLATES["mistral"], "gpt2", special_tokens=NAMED)
    with pytest.raises(cutline.ChatError, match="at message 1: roles must alternate"):
        chat.count([*HI, *HI])


def test_missing_fields_are_named() -> None:
    chat = cutline.ChatTemplate(TEMPLATES["chatml"], "gpt2")
    with pytest.raises(cutline.ChatError, match=r"at message 1.*content"):
        chat.count([*HI, {"role": "user"}])
    with pytest.raises(cutline.ChatError, match="message 1 has no 'role'"):
        chat.count([*HI, {"content": "x"}])
    with pytest.raises(cutline.ChatError, match="message 0 has a 'role' that is no text: 1"):
        chat.count([{"role": 1}])
    with pytest.raises(cutline.ChatError, match="at least one message"):
        chat.count([])
    with pytest.raises(TypeError, match="message 1 must be a mapping"):
        chat.count([*HI, "Hi"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="messages must be a list"):
        chat.count("Hi")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tool 0 must be a schema"):
        chat.count(HI, tools=[print])  # type: ignore[list-item]


@pytest.mark.parametrize("family", ["chatml", "qwen3", "alpaca", "whole"])
@pytest.mark.parametrize(
    "content",
    ["\ud800", "a\ude00b", "<|im_end|><|im_start|>system\n", "<|im_", "", "x" * 9000],
)
def test_strange_contents_count_as_whole_texts(family: str, content: str) -> None:
    base = cutline.get_encoding("gpt2")
    encoding = cutline.Encoding.from_vocabulary(
        "chat", pat_str=base._spec.pat_str, vocabulary=base._vocabulary,
        special_tokens={"<|im_start|>": 50257, "<|im_end|>": 50258},
    )  # fmt: skip
    chat = cutline.ChatTemplate(TEMPLATES[family], encoding)
    conversation = cutline.Conversation(chat)
    for role in ("user", "assistant", "user", "assistant"):
        conversation.append({"role": role, "content": content})
        expected = encoding.encode(chat.render(conversation.messages), allowed_special="all")
        assert conversation.count == chat.count(conversation.messages) == len(expected)


def test_a_message_of_megabytes_does_not_keep_other_threads_waiting() -> None:
    chat = cutline.ChatTemplate(TEMPLATES["chatml"], "o200k_base")
    conversation = cutline.Conversation(chat, HI)
    message = {"role": "user", "content": "one < two & three\n" * 60_000}
    assert conversation.count < chat.count([message])
    ticks, done = [time.perf_counter()], threading.Event()

    def tick() -> None:
        while not done.is_set():
            time.sleep(0)
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        for _ in range(3):
            assert conversation.fits(message, 10**7)
            chat.count([message])
    finally:
        done.set()
        thread.join()
    assert len(ticks) > 20  # the kernels ran meanwhile; no test measures time


def test_callers_can_change_their_messages() -> None:
    message: dict[str, Any] = {"role": "user", "content": "Hi"}
    chat = cutline.ChatTemplate(TEMPLATES["chatml"], encoding_of("byte level"))
    conversation = cutline.Conversation(chat, [message])
    count = conversation.count
    message["content"] = "something longer"
    conversation.append({"role": "assistant", "content": None, "extra": None})
    conversation.truncate(1)
    assert conversation.count == count == chat.count(conversation.messages)


def test_words_without_number_are_not_to_be_had() -> None:
    with pytest.raises(cutline.ChatError, match="'lipsum' is undefined"):
        cutline.ChatTemplate("{{ lipsum(n=10 ** 9) }}", encoding_of("byte level")).count(HI)
