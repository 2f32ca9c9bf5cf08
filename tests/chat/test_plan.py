"""Templates made at random, of all that a plan must see, count as whole requests."""

import random
from typing import Any

import pytest

import cutline
from cutline.chat.compiling import planned
from tests.chat.made import TOOLS, drawn_message, encoding_of

pytest.importorskip("jinja2")

BEFORE = """
{% set ns = namespace(a=0, b='x', c=[], last=-1) %}
{% set other = namespace(n=1) %}
{% set other = ns %}
{% set messages = messages[1:] %}
{% set rest = messages[1:] %}
{% set rest = messages %}
{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{% endif %}
{% set users = messages|selectattr('role', 'equalto', 'user')|list %}
{% set n = messages|length %}
{% set first = messages[0] %}
{% set second = messages[1] if messages|length > 1 else none %}
{% set names = ['a', 'b'] %}
{% set names = [ns] %}
{% set roles = messages|map(attribute='role')|list %}
{% set table = {'user': 'U', 'assistant': messages|length > 4} %}
{% set ns.a = messages|length %}
{% set ns.c = messages[2:4] %}
{% set ns.rest = messages[1:] %}
{% for m in messages if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endfor %}
{% for m in messages %}{% set ns.last = loop.index0 if m.role == 'user' else ns.last %}{% endfor %}
{% for m in messages[::-1] %}{% if m.content %}{% set ns.last = loop.index %}{% endif %}{% endfor %}
{% for m in messages %}{{ m.role[0] }}{% endfor %}
{% macro show(m) %}{{ m.role ~ ':' ~ (m.content or '')|string }}{{ x }}{% endmacro %}
{% macro look(m) %}{{ ns.a }}{{ messages[1].role }}{{ n }}{% set ns.a = ns.a + 1 %}{% endmacro %}
{% set x = 'X' %}
{% set x %}{{ messages[-1].role }}{% endset %}
{{ bos }}<|im_start|>{{ tools|length if tools else '' }}
{{ messages[0].role }}
""".strip().splitlines()

BODY = """
{{ '<|im_start|>' ~ m.role ~ '\\n' }}
{{ (m.content or '')|string ~ '<|im_end|>' }}
{{ m.tool_calls|tojson if m.tool_calls else '' }}
{{ loop.index }}{{ loop.index0 }}
{{ 'last' if loop.last }}
{{ 'first' if loop.first else '' }}
{{ loop.length }}
{{ loop.revindex }}
{{ loop.previtem.role if loop.previtem is defined else '-' }}
{{ loop.nextitem.role if not loop.last else '-' }}
{{ loop.cycle('odd', 'even') }}
{{ 'changed' if loop.changed(m.role) }}
{{ messages[loop.index0].role }}
{{ messages[loop.index0 - 1].role }}
{{ messages[loop.index0 + 1].role if not loop.last }}
{{ messages[loop.index0 + 2] is defined }}
{{ messages[-1].role }}
{{ messages|length }}
{{ messages[2:]|length }}
{{ 'same' if m == users[-1] }}
{{ users|length if users is defined }}
{{ n }}
{{ ns.a }}{{ ns.b }}
{{ ns['last'] }}
{{ ns.c|length }}
{{ ns.c[0].role if ns.c }}
{{ 'after' if loop.index0 > ns.last }}
{{ 'since' if ns.last <= loop.index0 else 'till' }}
{{ 'at' if loop.index0 == ns.last }}
{{ other.n if other is defined }}
{{ ns.rest[0].role if ns.rest }}
{{ table[m.role] if table is defined }}
{{ roles[loop.index0] if roles is defined }}
{{ names|join }}
{{ show(m) if show is defined }}
{{ look(m) if look is defined }}
{{ second.role if second is defined and second }}
{{ x }}
{% if m.role == 'user' %}{% set ns.a = loop.index0 %}{% endif %}
{% set ns.b = ns.b ~ m.role[0] %}
{% set ns.a = ns.a + 1 %}
{% set ns.fresh = m.role %}
{% set ns.c = ns.c + [loop.index0] %}
{% set x = m.role %}
{% set i = namespace(k=0) %}{% for p in messages %}{% set i.k = i.k + 2 %}{% endfor %}{{ i.k }}
{% for c in m.tool_calls or [] %}{{ loop.index0 > ns.last }}{% endfor %}
{% if loop.index0 == 1 %}{% continue %}{% endif %}
{% if loop.index0 == 3 %}{% break %}{% endif %}
{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}
""".strip().splitlines()

AFTER = """
{{ ns.a }}{{ ns.b }}
{{ messages|length }}
{{ messages[-1].role }}
{{ ns.fresh }}
{{ x }}
{% set x = 'after' %}{{ x }}
{% for m in messages %}{{ m.role }}{% endfor %}
<|im_start|>assistant
""".strip().splitlines()

LOOPS = ["messages"] * 5 + [
    *(
        "rest",
        "messages[1:]",
        "messages[:-1]",
        "messages|reverse",
        "messages[messages|length - 3:]",
    ),
    *("users", "(messages if true else rest)", "messages|list"),
]


def drawn_template(rng: random.Random) -> str:
    before = [*rng.sample(BEFORE[:1], rng.choice((0, 1, 1))), *rng.choices(BEFORE, k=4)]
    body = rng.choices(BODY, k=rng.randrange(1, 6))
    over = f"{{% for m in {rng.choice(LOOPS)} %}}{''.join(BODY[:2] + body)}{{% endfor %}}"
    return "".join([*before, over, *rng.choices(AFTER, k=2)])


def outcome(call: Any) -> Any:
    try:
        return call()
    except cutline.ChatError:
        return "refused"


def compare(seed: int) -> bool:
    """Walk with a template; return whether it was planned to the end."""
    rng = random.Random(seed)
    source = drawn_template(rng)
    chat = cutline.ChatTemplate(source, encoding_of("byte level"))
    tools = rng.choice(([], TOOLS))
    conversation = cutline.Conversation(chat, tools=tools)
    for _ in range(12):
        n_messages = len(conversation)
        if n_messages > 1 and rng.random() < 0.25:
            conversation.truncate(rng.randrange(n_messages))
        roles = ("user", "assistant", "system", "tool", "user", "assistant")
        for _ in range(rng.choice((1, 1, 2))):
            conversation.append(drawn_message(rng, rng.choice(roles)))
        expected = outcome(lambda: chat.count(conversation.messages, tools=tools))
        assert outcome(lambda: conversation.count) == expected, source
    return conversation._growing._plan is not None  # type: ignore[attr-defined,no-any-return]


def test_drawn_templates_count_as_whole_requests() -> None:
    kept = [compare(seed) for seed in range(200)]
    assert kept.count(True) > 50


@pytest.mark.exhaustive
def test_many_drawn_templates_count_as_whole_requests() -> None:
    for seed in range(200, 5_000):
        compare(seed)


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages }}",
        "{% for m in messages recursive %}{{ m.role }}{% endfor %}",
        "{% for m in messages if m.role %}{{ m.role }}{% endfor %}",
        "{% for m in messages %}{{ m.role }}{% else %}none{% endfor %}",
        "{% for m in messages %}{{ m.role }}{% break %}{% endfor %}",
        "{% block a %}{% for m in messages %}{{ m.role }}{% endfor %}{% endblock %}",
        "{% for m in messages %}{{ [1, 2]|random }}{% endfor %}",
        "{% set c = cycler('a', 'b') %}{% for m in messages %}{{ c.next() }}{% endfor %}",
        "{% for a, b in messages %}{{ a }}{% endfor %}",
    ],
)
def test_what_cannot_be_followed_has_no_plan(source: str) -> None:
    assert planned(source) is None
