"""`ChatTemplate` writes and counts what `apply_chat_template` of transformers does."""

import random
import zlib
from functools import cache
from typing import Any

import pytest

import cutline
from tests.chat.made import (
    KINDS,
    NAMED,
    TEMPLATES,
    TOOLS,
    drawn_messages,
    encoding_of,
    tokenizer_of,
)

pytest.importorskip("jinja2")


@cache
def oracle(kind: str) -> Any:
    transformers = pytest.importorskip("transformers", reason="the oracle")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer_of(kind), **NAMED)


def answer(call: Any) -> Any:
    """What a call returns, or that it refuses."""
    try:
        return call()
    except Exception:
        return "refused"


def compare(family: str, times: int) -> None:
    rng = random.Random(zlib.crc32(family.encode()) + times)
    accepted = sum(compare_one(family, rng) for _ in range(times))
    assert accepted > times / 6


def compare_one(family: str, rng: random.Random) -> bool:
    """Compare a drawn request; return whether the template takes it."""
    kind, messages = rng.choice(KINDS), drawn_messages(rng)
    chat = cutline.ChatTemplate(TEMPLATES[family], encoding_of(kind), special_tokens=NAMED)
    tools = rng.choice(([], [], TOOLS))
    given = rng.choice(({}, {}, {"enable_thinking": False}, {"thinking": True}))
    given = {"add_generation_prompt": rng.random() < 0.6, **given}
    whole = {"chat_template": TEMPLATES[family], "tools": tools or None, "return_dict": False}
    theirs = answer(lambda: oracle(kind).apply_chat_template(messages, **whole, **given))
    ours = answer(lambda: chat.encode(messages, tools=tools, **given))
    assert ours == theirs, (family, kind, messages, tools, given)
    count = answer(lambda: chat.count(messages, tools=tools, **given))
    assert count == (theirs if theirs == "refused" else len(theirs))
    return bool(theirs != "refused")


@pytest.mark.parametrize("family", TEMPLATES)
def test_tokens_are_those_of_transformers(family: str) -> None:
    compare(family, 20)


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", TEMPLATES)
def test_tokens_are_those_of_transformers_for_many_conversations(family: str) -> None:
    compare(family, 500)
