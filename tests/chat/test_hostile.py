"""Templates and messages of strangers: stopped, refused by name, or counted exactly."""

import threading
import time
from typing import Any

import pytest

import cutline
from cutline.chat.by_name import chat_format_of
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
    "a width by a test": "{{ '%999999999d' is odd }}",
    "a width by a selection": "{{ ['%999999999d']|select('divisibleby', 5)|list }}",
    "bytes": "{{ (1).to_bytes(10 ** 10, 'big') }}",
    "encoded bytes": "{{ 'x'.encode().ljust(10 ** 10) }}",
    "many fields": "{{ ('{0}' * 99999).format('x' * 99999)|length }}",
    "many fields by %": "{{ ('%(a)s' * 99999) % {'a': 'x' * 99999} }}",
    "one text many times": "{{ (['x' * 99999] * 99999)|join|length }}",
    "one text many times in a block": "{% set b = 'x' * 99999 %}{% set y %}"
    "{% for i in range(9999) %}{{ b }}{% endfor %}{% endset %}",
    "many words": "{{ ('x ' * 500000).split()|length }}",
    "many lines": "{{ ('\n' * 1000000).splitlines()|length }}",
    "a list of characters": "{{ ('x' * 1000000)|list|length }}",
    "indentation of deep lists": "{% set n = namespace(a=[1]) %}{% for i in range(900) %}"
    "{% set n.a = [n.a] %}{% endfor %}{{ n.a|tojson(indent=65536)|length }}",
    "callers that call twice": "{% macro a() %}{{ caller() }}{{ caller() }}{% endmacro %}"
    + "{% call a() %}" * 40
    + "{% endcall %}" * 40,
    "blocks that call twice": "{% block a %}{{ self.b() }}{{ self.b() }}{% endblock %}"
    "{% block b %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "keys that collide": "{{ range(0, 90000 * (2**61 - 1), 2**61 - 1)|unique|list|length }}",
    "other keys that collide": "{{ dict.fromkeys(range(0, 90000 * (2**61 - 1), 2**61 - 1)) }}",
    "a loop that takes no turn": "{% for i in range(99999) %}"
    "{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "a filter for each of many": "{% for i in range(99999) %}"
    "{% set y = range(99999)|map('string')|list %}{% endfor %}",
    "a long path of attributes": "{{ range(9999)|map(attribute='a.' * 99999)|list }}",
    "a search from behind": "{{ ('x' * 999999).rfind('y' + 'x' * 99999) }}",
    "sums of lists": "{{ ([[1] * 999] * 9999)|sum(start=[])|length }}",
    "what keeps what it makes": "{% set n = namespace(a=[]) %}{% for i in range(99999) %}"
    "{% set n.a = n.a + ['x' * 999 ~ i] %}{% endfor %}",
    "output without end": "{% for a in range(99999) %}{% for b in range(99999) %}"
    "{{ 'x' * 9999 }}{% endfor %}{% endfor %}",
}

SHARED = """{% set n = namespace(a=[1], t=(1,), d={}) %}{% for i in range(40) %}
{% set n.a = [n.a, n.a] %}{% set n.t = (n.t, n.t) %}{% set n.d = {'a': n.d, 'b': n.d} %}
{% endfor %}"""
DEEP = """{% set n = namespace(a=[1], t=(1,), d={}) %}{% for i in range(1500) %}
{% set n.a = [n.a] %}{% set n.t = (n.t,) %}{% set n.d = {'a': n.d} %}{% endfor %}"""
WALKS = """
n.a|tojson, n.d|tojson, n.a|string, n.a, n.d, n, n.a ~ '', n.a|join, '%s' % n.a, '{}'.format(n.a)
n.a == [n.a], n.a < [n.a], n.d == {'a': n.d}, n.a in [n.a, 1], 5 in n.a
n.a is eq(n.a), 1 is in(n.a)
[n.a, n.a]|sort, [n.a, n.a]|max, [n.a].index([n.a]), [{'a': n.a}, {'a': n.a}]|groupby('a')
{n.t: 1}, {'a': 1}[n.t], {}.get(n.t), n.t in {}, [n.t]|unique|list, dict.fromkeys([n.t])
dict([(n.t, 1)]), namespace([(n.t, 1)]), n.t is filter, [n.t]|select('eq', n.t)|list
n.a|upper, n.a|replace('a', 'b'), n.d|urlencode, n.d|xmlattr, n.a|float, raise_exception(n.a)
{'a': n.a}.items() == {'a': n.a}.items(), {n.t: 1}.keys() - {}.keys(), [n.a]|map('string')|list
"""


def walks() -> list[str]:
    """The expressions of WALKS, by the commas between them."""
    found, depth, start = [], 0, 0
    text = WALKS.strip().replace("\n", ", ") + ","
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            found.append(text[start:place].strip())
            start = place + 1
    return found


@pytest.mark.parametrize("values", [SHARED, DEEP], ids=["shared", "deep"])
@pytest.mark.parametrize("expression", walks())
def test_what_walks_through_lists_that_grow_without_end_is_stopped(
    expression: str, values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutline.chat import metering

    monkeypatch.setattr(metering, "MAX_STEPS", 300_000)
    chat = cutline.ChatTemplate(f"{values}{{{{ {expression} }}}}", "gpt2")
    with pytest.raises(cutline.ChatError, match=r"stopped|fails|no valid"):
        chat.count(HI)


@pytest.mark.parametrize(
    "work",
    [
        *("b|upper", "b.upper()", "'q' in b", "b == b[1:]", "b[1:]", "b ~ i", "b + 'a'", "b|trim"),
        *("b|replace('q', 'r')", "b.find('q')", "b.split('q')", "'%s' % b", "b|tojson"),
        *("b|reverse", "b is lower", "b|wordcount", "b|title", "b.strip('x')", "b.count('xy')"),
    ],
)
def test_work_on_a_large_text_in_a_loop_is_stopped(
    work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutline.chat import metering

    monkeypatch.setattr(metering, "MAX_STEPS", 1_000_000)
    source = f"{{% for i in range(9) %}}{{% set y = {work} %}}{{% endfor %}}"
    before = "{% set b = 'x' * (2 ** 18) %}"
    assert cutline.ChatTemplate(f"{before}{source}", "gpt2").count(HI) == 0
    chat = cutline.ChatTemplate(f"{before}{source.replace('(9)', '(999)')}", "gpt2")
    with pytest.raises(cutline.ChatError, match="steps"):
        chat.count(HI)


def test_a_long_request_may_take_more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutline.chat import metering

    monkeypatch.setattr(metering, "MAX_STEPS", 10_000)
    messages = [{"role": "user", "content": "glue " * 50}] * 2000
    chat = cutline.ChatTemplate(TEMPLATES["qwen3"], encoding_of("byte level"))
    assert cutline.Conversation(chat, messages).count == chat.count(messages)


def test_what_never_ends_is_stopped_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutline.chat import metering

    monkeypatch.setattr(metering, "MAX_SECONDS", 0)
    monkeypatch.setattr(metering, "_PORTION", 1000)
    loop = "{% for i in range(9999) %}{% endfor %}" * 9
    with pytest.raises(cutline.ChatError, match="more than 0 seconds"):
        cutline.ChatTemplate(loop, "gpt2").count(HI)


@pytest.mark.parametrize(
    "source",
    [
        "{{ " + "(" * 9000 + "1" + ")" * 9000 + " }}",
        "{{ " + "not " * 9000 + "1 }}",
        "{% if a %}" * 3000 + "{% endif %}" * 3000,
        "{{ " + "9" * 9999 + " }}",
        "{{ a }}" * 60_000,
        "{% for a in b %}" * 300 + "{% endfor %}" * 300,
    ],
    ids=["brackets", "not", "if", "a number", "long", "for"],
)
def test_templates_that_are_too_long_or_nested_are_refused(source: str) -> None:
    with pytest.raises(cutline.ChatError, match="no valid one"):
        cutline.ChatTemplate(source, "gpt2").count(HI)


@pytest.mark.parametrize("name", ["all", "offset", "watch", "items", "messages"])
def test_what_stands_for_the_messages_has_no_names_of_its_own(name: str) -> None:
    source = (
        "{% set ms = messages %}{% for m in messages %}"
        f"{{{{ m.role }}}}{{{{ messages.{name} is defined }}}}{{{{ loop.{name} is defined }}}}"
        f"{{{{ loop.{name} }}}}{{% endfor %}}"
    )
    chat = cutline.ChatTemplate(source, "gpt2")
    conversation = cutline.Conversation(chat, HI)
    assert conversation.count == chat.count(HI)


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


def test_messages_that_contain_themselves_are_refused() -> None:
    message: dict[str, Any] = {"role": "user", "content": "Hi"}
    message["more"] = [message]
    for chat in (cutline.ChatTemplate(TEMPLATES["chatml"], "gpt2"), chat_format_of("chatml")):
        with pytest.raises(cutline.ChatError, match="message 1 contains itself"):
            chat.count([*HI, message])
        with pytest.raises(cutline.ChatError, match="message 1 contains itself"):
            cutline.trim([*HI, message], 99, chat)


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
