"""Loops that look back stop early, and nothing else of a template changes."""

import random
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.chat.metering import running
from tests.chat.made import drawn_message, encoding_of

jinja2 = pytest.importorskip("jinja2")

from cutline.chat.looking_back import stop_early  # noqa: E402 (needs jinja2)
from cutline.chat.sandbox import environment  # noqa: E402

PUBLISHED = Path(__file__).parent / "templates" / "published"
FORWARDS = """
{%- set ns = namespace(last=-1, count=0) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}
{%- endfor -%}
"""
BACKWARDS = """
{%- set ns = namespace(looking=true, last=messages|length - 1) -%}
{%- for m in messages[::-1] -%}{%- set i = (messages|length - 1) - loop.index0 -%}
{%- if ns.looking and m.role == 'user' and m.content.startswith('a') -%}
{%- set ns.looking = false -%}{%- set ns.last = i -%}{%- endif -%}{%- endfor -%}
"""
WRITTEN = """
{%- for m in messages -%}
{{- m.role + (' after' if loop.index0 > ns.last else '') + ': ' + (m.content or '')|string + ';' -}}
{%- endfor -%}{{- ns.last -}}
"""
STOPPED = {
    "forwards": FORWARDS,
    "backwards": BACKWARDS,
    "forwards, from 1": FORWARDS.replace("index0", "index"),
    "a difference": FORWARDS.replace("loop.index0", "loop.index0 - 1"),
    "several": FORWARDS.replace("{%- endif", "{%- set ns.count = loop.index + 2 -%}{%- endif"),
    "a constant": FORWARDS.replace("loop.index0", "7"),
    "not": FORWARDS.replace("m.role == 'user'", "not (m.content is string and m['role'] != 'a')"),
    "a later part": "{%- set messages = messages[1:] -%}" + FORWARDS,
    "a flag that is on at last": BACKWARDS.replace("looking=true", "looking=false")
    .replace("if ns.looking", "if not ns.looking")
    .replace("ns.looking = false", "ns.looking = true"),
}
KEPT = {
    "what may fail": FORWARDS.replace("m.role == 'user'", "m.content.startswith('a')"),
    "a sum": FORWARDS.replace("loop.index0", "ns.last + 1"),
    "a condition on what was set": FORWARDS.replace("m.role", "ns.last == -1 and m.role"),
    "an output": FORWARDS.replace("{%- endif", "x{%- endif"),
    "another list": "{%- set messages = messages|list -%}" + FORWARDS,
    "a later flag": BACKWARDS.replace("ns.looking and m.role == 'user'", "m.role and ns.looking"),
    "another branch": FORWARDS.replace(
        "{%- endif", "{%- else -%}{%- set ns.count = 1 -%}{%- endif"
    ),
    "a variable of the flag's name": BACKWARDS.replace("set i =", "set ns ="),
    "a variable that may fail": BACKWARDS.replace("- loop.index0", "- m.content"),
}


def n_breaks(source: str) -> int:
    tree = environment().parse(source)
    stop_early(tree)
    return sum(1 for _ in tree.find_all(jinja2.nodes.Break))


def plainly(source: str, messages: list[dict[str, Any]]) -> str:
    """What jinja2 renders, without a change to the template."""
    made = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(source)
    rendered: str = made.render(messages=messages)
    return rendered


def drawn(rng: random.Random, n_messages: int) -> list[dict[str, Any]]:
    return [
        {"role": rng.choice(["user", "assistant", "tool"]), "content": rng.choice(["a", "b", "ab"])}
        for _ in range(n_messages)
    ]


@pytest.mark.parametrize("name", [*STOPPED, *KEPT])
def test_templates_render_as_without_a_change(name: str) -> None:
    source = {**STOPPED, **KEPT}[name] + WRITTEN
    assert n_breaks(source) == (name in STOPPED)
    chat = cutline.ChatTemplate(source, encoding_of("byte level"))
    rng = random.Random(name)
    for _ in range(60):
        messages = drawn(rng, rng.randrange(1, 8))
        try:
            expected = plainly(source, messages)
        except TypeError:
            with pytest.raises(cutline.ChatError):
                chat.render(messages)
            continue
        assert chat.render(messages) == expected
        conversation = cutline.Conversation(chat)
        for message in messages:
            conversation.append(message)
            assert conversation.count == chat.count(conversation.messages)
        conversation.truncate(rng.randrange(1, len(messages) + 1))
        assert conversation.count == chat.count(conversation.messages)


def test_published_templates_stop_early() -> None:
    stopped = {path.name for path in PUBLISHED.glob("*.jinja") if n_breaks(path.read_text("utf-8"))}
    assert stopped == {"GLM-4.6.jinja", "Qwen-Qwen3-0.6B.jinja"}


@pytest.mark.parametrize("name", ["forwards", "backwards"])
def test_one_more_message_takes_as_many_steps_after_a_long_history(name: str) -> None:
    def steps(n_messages: int) -> int:
        source = STOPPED[name] + WRITTEN.replace("{{- ns.last -}}", "")
        chat = cutline.ChatTemplate(source, encoding_of("byte level"))
        conversation = cutline.Conversation(chat, [{"role": "user", "content": "a"}] * n_messages)
        assert conversation.count
        before = running.meter
        conversation.append({"role": "user", "content": "a"})
        assert conversation.count > n_messages
        assert running.meter is not before
        return (1 << 20) - running.meter.steps

    # A slice of the messages costs a step for eight.
    assert steps(1000) < steps(10) + 1000


def test_drawn_messages_of_any_kind_render_the_same() -> None:
    rng = random.Random(5)
    for name in ("forwards", "not", "several"):
        source = STOPPED[name] + "{{- ns.last }} {{ ns.count -}}"
        chat = cutline.ChatTemplate(source, encoding_of("byte level"))
        for _ in range(100):
            roles = rng.choices(["system", "user", "assistant", "tool"], k=rng.randrange(1, 6))
            messages = [drawn_message(rng, role) for role in roles]
            assert chat.render(messages) == plainly(source, messages)
