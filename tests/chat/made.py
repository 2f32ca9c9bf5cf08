"""Tokenizers, templates and conversations for the tests of chats, each made from a seed."""

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cutline

TEMPLATES = {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parent / "templates").rglob("*.jinja"))
}
NAMED = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
SPECIAL = [
    "<s>",
    "</s>",
    "<pad>",
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_image>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "<|tool|>",
    "<|/tool|>",
    "<|tool_call|>",
    "<|/tool_call|>",
    "<|tool_response|>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<｜end▁of▁sentence｜>",
    "<｜tool▁output▁begin｜>",
    "<｜tool▁output▁end｜>",
    "[gMASK]",
    "<sop>",
    "<|observation|>",
    "<|START_OF_TURN_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|SYSTEM_TOKEN|>",
    "<|USER_TOKEN|>",
    "<|CHATBOT_TOKEN|>",
    "<|im_system|>",
    "<|im_middle|>",
    "<|im_user|>",
    "<|im_assistant|>",
    "<|media_start|>",
    "<|media_content|>",
    "<|media_pad|>",
    "<|media_end|>",
]
ORDINARY = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>"]
TEXT = """Wood glue sets in half an hour. Clamp the parts, and wipe off what runs out.
<|im_start|>user assistant system tool function name arguments {"a": 1} the teeth dry.
吾輩は猫である。Straße, naïve, İstanbul 👍🏽 — 1984."""
KINDS = ("byte level", "stripping", "metaspace", "normalized")


@cache
def tokenizer_of(kind: str) -> Any:
    """A tokenizer of the `tokenizers` package that has the special tokens of all families."""
    tokenizers = pytest.importorskip("tokenizers", reason="makes the tokenizers of these tests")
    models, pre, normalizers = tokenizers.models, tokenizers.pre_tokenizers, tokenizers.normalizers
    is_bytes = kind != "metaspace"
    made = tokenizers.Tokenizer(
        models.BPE() if is_bytes else models.BPE(byte_fallback=True, unk_token="<unk>")
    )
    fallback = [] if is_bytes else ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    if is_bytes:
        made.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
        made.decoder = tokenizers.decoders.ByteLevel()
        if kind == "normalized":
            made.normalizer = normalizers.NFC()
    else:
        steps = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        made.normalizer = normalizers.Sequence(steps)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=fallback,
        initial_alphabet=pre.ByteLevel.alphabet() if is_bytes else [],
        show_progress=False,
    )
    made.train_from_iterator(TEXT.splitlines(), trainer)

    def added(text: str, **how: bool) -> Any:
        return tokenizers.AddedToken(text, normalized=False, **how)

    strips = {"rstrip": True} if kind == "stripping" else {}
    made.add_special_tokens([added(text, **strips) for text in SPECIAL])
    made.add_tokens([added(text) for text in ORDINARY])
    if kind == "stripping":
        made.add_tokens([added("<left>", lstrip=True), added("<|im_start|>user")])
    return made


@cache
def encoding_of(kind: str) -> cutline.Encoding:
    """The same tokenizer as an encoding."""
    return cutline.Encoding.from_tokenizers(tokenizer_of(kind), kind)


WORDS = [
    "Clamp",
    "the",
    "parts",
    "wipe",
    "off",
    "1984",
    "naïve",
    "İstanbul",
    "猫である",
    "👍🏽",
    "é",
    "<|im_end|>",
    "</s>",
    "[INST]",
    "<|im_",
    "<left>",
    "<think>",
    "</think>",
    '{"a":',
    "_",
    "<|im_start|>user",
    "▁",
    "<tool_response>",
]


def drawn_text(rng: random.Random) -> str:
    """A short text, seldom with text of special tokens."""
    words = rng.choices(WORDS[:9] if rng.random() < 0.7 else WORDS, k=rng.randrange(9))
    return rng.choice(("", " ", "\n")) + rng.choice((" ", " ", "\n", "")).join(words)


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Does {name} <b>& more</b>",
            "parameters": {
                "type": "object",
                "properties": {
                    "wo": {"type": "string", "enum": ["é", "b"]},
                    "n": {"type": "number"},
                },
                "required": ["wo"],
            },
        },
    }
    for name in ("find", "cut_wood")
]


def drawn_message(rng: random.Random, role: str) -> dict[str, Any]:
    """A message of a role, with tool calls, reasoning or parts if it is so drawn."""
    message: dict[str, Any] = {"role": role, "content": drawn_text(rng)}
    if role == "tool":
        message |= {"tool_call_id": "abcdefghi", "name": "find"}
    if role == "assistant" and rng.random() < 0.2:
        message["reasoning_content"] = drawn_text(rng)
    elif role == "assistant" and rng.random() < 0.2:
        message["content"] = f"<think>\n{drawn_text(rng)}\n</think>\n\n{drawn_text(rng)}"
    if role == "assistant" and rng.random() < 0.3:
        message["tool_calls"] = [
            {
                "type": "function",
                "id": "abcdefghi",
                "function": {"name": "find", "arguments": {"wo": drawn_text(rng), "n": n}},
            }
            for n in range(rng.choice((1, 1, 2)))
        ]
        if rng.random() < 0.5:
            message["content"] = rng.choice((None, ""))
    elif role == "user" and rng.random() < 0.1:
        message["content"] = [{"type": "text", "text": drawn_text(rng)}, {"type": "image"}]
    return message


def drawn_role(rng: random.Random, messages: list[dict[str, Any]], strict: bool) -> str:
    """The role of the next message; `strict` alternates, as several families demand."""
    if not messages:
        return rng.choice(("system", "user", "user"))
    last = messages[-1]
    if last.get("tool_calls"):
        return "tool"
    if strict:
        return "assistant" if last["role"] in ("user", "tool") else "user"
    if last["role"] == "tool":
        return rng.choice(("tool", "assistant", "user"))
    return rng.choice(("user", "assistant", "assistant", "user", "tool", "system"))


def drawn_messages(rng: random.Random, longest: int = 9) -> list[dict[str, Any]]:
    """A conversation."""
    messages: list[dict[str, Any]] = []
    strict = rng.random() < 0.7
    for _ in range(rng.randrange(1, longest)):
        messages.append(drawn_message(rng, drawn_role(rng, messages, strict)))
    return messages
