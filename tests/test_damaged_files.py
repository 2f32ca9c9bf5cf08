"""A file cut off anywhere, or with a byte changed anywhere, is refused by name, or is another one.

Those with a checksum are always refused; that is checked where they are tested.
"""

import base64
import json
import random
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import ChatError, PatternError, VocabularyError
from fuzz import target_gguf
from tests.conftest import short_or_long
from tests.pipeline.families import build
from tests.vocabulary import test_tekken as tekken
from tests.vocabulary.test_sentencepiece import trained

TEXTS = ("", "Hello the world", "  a\n\n12345 é中文👩‍👩‍👧 <s>", "x" * 40)
SINGLE = [bytes([byte]) for byte in range(256)]
R50K = cutline.get_encoding("r50k_base")


def tiktoken_file() -> bytes:
    tokens = [*SINGLE, b"th", b"the", b" the", "é".encode()]
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
    return b"".join(lines)


def tokenizer_json(family: str) -> Callable[[], bytes]:
    def made() -> bytes:
        document = json.loads(build(family, 270).to_str())
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()

    return made


def gguf_file(number: int) -> Callable[[], bytes]:
    return lambda: target_gguf.written(target_gguf.tokenizers()[number])


KINDS: dict[str, tuple[str, Callable[[], bytes], dict[str, Any]]] = {
    "tiktoken": ("x.tiktoken", tiktoken_file, {"pat_str": r"\w+|\W+"}),
    "tokenizer.json": ("tokenizer.json", tokenizer_json("gpt 2"), {}),
    "tokenizer.json, normalized": ("tokenizer.json", tokenizer_json("as bert normalizes"), {}),
    "tekken": ("tekken.json", lambda: json.dumps(tekken.document()).encode(), {}),
    "sentencepiece": ("x.model", lambda: trained("plain", vocab_size=700), {}),
    "vocab.txt": ("vocab.txt", lambda: b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##x\n", {}),
    **{f"gguf {number}": ("x.gguf", gguf_file(number), {}) for number in range(3)},
}  # fmt: skip


@cache
def content_of(kind: str) -> bytes:
    return KINDS[kind][1]()


def outcome(path: Path, options: dict[str, Any]) -> list[list[int]] | None:
    """What texts encode to; None: the file is refused by name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cutline.PatternFallbackWarning)
            encoding = cutline.load(path, **options)
    except (VocabularyError, PatternError) as error:
        refusal = str(error)
    else:
        tokens = [encoding.encode_ordinary(text) for text in TEXTS]
        assert [encoding.count(text) for text in TEXTS] == [*map(len, tokens)]
        for found in tokens:
            encoding.decode(found)
        return tokens
    assert str(path) in refusal
    return None


@pytest.mark.parametrize("kind", KINDS)
@short_or_long("every", 211, 1)
def test_a_file_that_is_cut_off_anywhere(kind: str, every: int, tmp_path: Path) -> None:
    name, _, options = KINDS[kind]
    path, content = tmp_path / name, content_of(kind)
    path.write_bytes(content)
    whole = outcome(path, options)
    assert whole is not None
    for size in sorted({*range(9), *range(0, len(content), every)}):
        path.write_bytes(content[:size])
        # Lines or fields that are missing at the end are no damage to these.
        assert outcome(path, options) is None or kind in ("tiktoken", "sentencepiece", "vocab.txt")


@pytest.mark.parametrize("kind", KINDS)
@short_or_long("every", 211, 1)
def test_a_file_with_a_byte_changed_anywhere(kind: str, every: int, tmp_path: Path) -> None:
    name, _, options = KINDS[kind]
    path, content = tmp_path / name, content_of(kind)
    numbers = random.Random(kind)
    for place in range(0, len(content), every):
        damaged = bytearray(content)
        damaged[place] ^= numbers.choice((0xFF, 1 << numbers.randrange(8)))
        path.write_bytes(damaged)
        outcome(path, options)


CHAT_FILES: dict[str, bytes] = {
    "chat_template.jinja": b"{% for m in messages %}{{ m.content }}{{ bos_token }}{% endfor %}",
    "chat_template.json": b'{"chat_template": "{{ messages[0].content }}"}',
    "tokenizer_config.json": (
        b'{"bos_token": {"content": "<s>"}, "eos_token": "</s>", "model_max_length": 512, '
        b'"chat_template": [{"name": "default", "template": "{{ messages[0].content }}\\u00e9"}]}'
    ),
}


@pytest.mark.parametrize("name", CHAT_FILES)
def test_a_damaged_chat_template_is_refused_or_another_one(name: str, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    numbers, content = random.Random(name), CHAT_FILES[name]
    cut_off = [content[:size] for size in range(len(content))]
    changed = [
        content[:at] + bytes([byte ^ mask]) + content[at + 1 :]
        for at, byte in enumerate(content)
        for mask in (0xFF, 1 << numbers.randrange(8))
    ]
    n_refused = 0
    for number, damaged in enumerate([content, *cut_off, *changed]):
        (tmp_path / name).write_bytes(damaged)
        try:
            chat = cutline.ChatTemplate.load(tmp_path, R50K)
            tokens = chat.encode([{"role": "user", "content": "Hi"}])
            assert chat.count([{"role": "user", "content": "Hi"}]) == len(tokens)
        except (ChatError, VocabularyError):
            n_refused += 1
            assert number
    assert n_refused
