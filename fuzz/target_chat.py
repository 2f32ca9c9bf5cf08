"""A conversation has the count of its whole request, after any changes, and trims within budget.

Input: template and tokenizer (a byte each); if that is no template of a model, its length and
parts; then choices that make messages, and change the conversation.
"""

import random
from typing import Any
from unittest.mock import patch

import cutline
from cutline.chat import metering
from cutline.errors import BudgetError, ChatError
from fuzz.grammar import Choices
from tests.chat.made import (
    KINDS,
    NAMED,
    TEMPLATES,
    TOOLS,
    drawn_message,
    drawn_role,
    encoding_of,
    tokenizer_of,
)

FAMILIES = tuple(TEMPLATES.values())
PARTS = (
    "{% for m in messages %}", "{% endfor %}", "{{ m.content }}", "{{ m['role'] }}",
    "{% if m.role == 'user' %}", "{% elif loop.last %}", "{% else %}", "{% endif %}",
    "{{ loop.index }}", "{% set ns = namespace(x=0) %}", "{% set ns.x = ns.x + 1 %}", "{{ ns.x }}",
    "{% if add_generation_prompt %}", "<|im_start|>", "<|im_end|>\n", "</s>", "{{ bos_token }}",
    "{{- m.content | trim -}}", "{{ messages[-1].content }}", "{{ messages|length }}",
    "{% for m in messages[1:] %}", "{{ tools|tojson }}", "{{ raise_exception('no') }}",
    "{% macro f(m) %}", "{% endmacro %}", "{{ f(m) }}", "{% if loop.first %}", "{{ m.tool_calls }}",
    "{% set last = m.role %}", "{{ last }}", "{% if m.content is string %}",
    "{{ messages[loop.index0 - 1].role }}", " ", "\n", "a", "é", "{% for m in messages|reverse %}",
    "{{ m.content.split('</think>')[-1] }}", "{% break %}", "{% continue %}",
    "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "{{ loop.revindex }}",
    "{#", "#}", "{% generation %}", "{% endgeneration %}", "{{ m | tojson(indent=2) }}",
    "{% set messages = messages[1:] %}", "{{ loop.previtem.role }}", "{{ loop.nextitem.role }}",
    "{% if m.content %}", "{{", "}}", "{%", "%}", "'",
)  # fmt: skip
N_CHANGES = 8

LOWER = {"MAX_STEPS": 200_000, "MAX_TEXT": 1 << 20}


def run(data: bytes) -> None:
    if len(data) >= 4:
        # Only here: other tests may share the process.
        with patch.multiple(metering, **LOWER):
            run_template(data)


def run_template(data: bytes) -> None:
    source, rest = template_of(data)
    kind = KINDS[data[1] % len(KINDS)]
    try:
        chat = cutline.ChatTemplate(
            source, encoding_of(kind), special_tokens=NAMED, contents_as_text=data[1] > 200
        )
    except ChatError:
        return
    change(chat, kind, Choices(rest))


def template_of(data: bytes) -> tuple[str, bytes]:
    """Choose a model's template, or spell one; also return the bytes that are left."""
    if data[0] < 128:
        return FAMILIES[data[0] % len(FAMILIES)], data[2:]
    end = 3 + data[2] % 64
    return "".join(PARTS[byte % len(PARTS)] for byte in data[3:end]), data[end:]


def change(chat: cutline.ChatTemplate, kind: str, choices: random.Random) -> None:
    """Append, cut back and copy, and compare each count with that of the request as a whole."""
    tools = choices.choice(([], TOOLS))
    conversation = cutline.Conversation(chat, tools=tools)
    is_strict = choices.random() < 0.7
    for _ in range(1 + choices.randrange(N_CHANGES)):
        messages = conversation.messages
        act = choices.randrange(8)
        if act == 7 and messages:
            conversation.truncate(choices.randrange(len(messages)))
        elif act == 6:
            conversation = conversation.copy()
        else:
            role = drawn_role(choices, messages, is_strict)
            conversation.append(drawn_message(choices, role))
        want = count_of(chat, kind, conversation.messages, tools)
        try:
            assert conversation.count == want, conversation.messages
        except ChatError:
            assert want is None, conversation.messages
    check_trimmed(chat, conversation.messages, tools, choices)


def count_of(
    chat: cutline.ChatTemplate, kind: str, messages: list[dict[str, Any]], tools: list[Any]
) -> int | None:
    """Count a whole request, as `tokenizers` does; None: it is refused."""
    try:
        text = chat.render(messages, tools=tools)
        count = chat.count(messages, tools=tools)
        assert count == len(chat.encode(messages, tools=tools))
    except ChatError:
        return None
    if chat._contents is None:
        assert count == len(tokenizer_of(kind).encode(text, add_special_tokens=False).ids)
    return count


def check_trimmed(
    chat: cutline.ChatTemplate,
    messages: list[dict[str, Any]],
    tools: list[Any],
    choices: random.Random,
) -> None:
    """Trim to a budget, which holds if there is an answer."""
    budget = choices.randrange(256)
    unit = choices.choice(("turn", "step"))
    try:
        trimmed = cutline.trim(messages, budget, chat, tools=tools, unit=unit)
    except (BudgetError, ValueError):
        return
    assert trimmed.token_count == chat.count(trimmed.messages, tools=tools) <= budget
    kept = [message for i, message in enumerate(messages) if i not in {*trimmed.removed}]
    assert trimmed.messages == kept
