"""BPE over characters, trained and put together with the real `tokenizers` package.

Sources of the settings: the published tokenizer.json of Llama 2, Mistral 7B, Gemma and Gemma 3.
"""

import json
from base64 import b64encode
from functools import cache
from typing import Any

import pytest

from tests.texts import NAMED_TEXTS
from tests.words.charsmaps import charsmap
from tests.words.configurations import SMALL_MAP

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

BLANK = "\u2581"
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": BLANK}
PREPEND = {"type": "Prepend", "prepend": BLANK}
DECODERS = [
    {"type": "Replace", "pattern": {"String": BLANK}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]
PRECOMPILED = {
    "type": "Precompiled",
    "precompiled_charsmap": b64encode(charsmap(SMALL_MAP)).decode(),
}
RUNS = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
SPLIT = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}


def metaspace(scheme: str, split: bool) -> dict[str, Any]:
    return {
        "type": "Metaspace",
        "replacement": BLANK,
        "prepend_scheme": scheme,
        "split": split,
    }


def added(token_id: int, content: str, **flags: bool) -> dict[str, Any]:
    plain = dict.fromkeys(("special", "normalized", "lstrip", "rstrip", "single_word"), False)
    return {"id": token_id, "content": content, **plain, **flags}


@cache
def _trained(across_words: bool) -> str:
    """Train on all texts of the tests; few characters are known."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = tokenizers.normalizers.Replace(" ", BLANK)
    if not across_words:
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(BLANK, "merged_with_next")
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=900,
        limit_alphabet=150,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=[BLANK, "\n", "\t", "é", "日", "한", "😀"],
        show_progress=False,
    )
    texts = [text[:2000] for text in NAMED_TEXTS.values()]
    words = ["the theme of them all (they say) ends. ", "日本語 the 日本 한국 é 😀 a\n\n\n  b "] * 9
    tokenizer.train_from_iterator([*texts, *words], trainer)
    return str(tokenizer.to_str())


def with_runs(document: dict[str, Any]) -> None:
    """Put tokens of blanks, lines and tabs before all others, the longest first, as Gemma has."""
    model = document["model"]
    vocab, first = model["vocab"], []
    model["merges"] = [
        pair for pair in map(list, model["merges"]) if not {*"".join(pair)} & {"\n", "\t"}
        and BLANK * 2 not in "".join(pair) and BLANK not in "".join(pair)[1:]
    ]  # fmt: skip
    for length in range(7, 1, -1):
        for one in ("\n", "\t", BLANK):
            vocab.setdefault(one * length, max(vocab.values()) + 1)
            first += [[one * n, one * (length - n)] for n in range(length - 1, 0, -1)]
    model["merges"] = first + model["merges"]


LED_TWICE = {"type": "Replace", "pattern": {"Regex": rf"\A{BLANK}"}, "content": BLANK * 2}
"""Metaspace puts no blank before a text with one: this does."""

ENDS = {"type": "Replace", "pattern": {"Regex": r"\A +| +\z"}, "content": ""}
"""So transformers 5 cuts blanks off the ends of a text, and no other white space."""

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "llama 2": {"normalizer": [PREPEND, REPLACE], "strip": True},
    "llama 2, across words": {"normalizer": [PREPEND, REPLACE], "across": True},
    "mistral": {"pre_tokenizer": metaspace("first", False), "strip": True},
    "a .model, as transformers 5 reads it": {
        "normalizer": [REPLACE, LED_TWICE],
        "pre_tokenizer": metaspace("always", False),
        "strip": True,
        "added": ["<x>"],
    },
    "a .model, as transformers 5 reads it, composed": {
        "normalizer": [PRECOMPILED, REPLACE, LED_TWICE],
        "pre_tokenizer": metaspace("always", True),
        "fallback": False,
    },
    "a .model, as transformers 5 reads it, stripped": {
        "normalizer": [ENDS, RUNS, REPLACE, LED_TWICE],
        "pre_tokenizer": metaspace("always", False),
        "strip": True,
        "across": True,
    },
    "a .model, as transformers 5 reads it, stripped and composed": {
        "normalizer": [PRECOMPILED, ENDS, RUNS, REPLACE, LED_TWICE],
        "pre_tokenizer": metaspace("always", False),
        "fallback": False,
        "added": ["<x>"],
    },
    "gemma": {"normalizer": [REPLACE], "pre_tokenizer": SPLIT},
    "gemma 2, whose tab has no byte": {"normalizer": [REPLACE], "runs": True, "no_bytes": "\t"},
    "gemma, across words": {"normalizer": [REPLACE], "across": True},
    "gemma 3": {"normalizer": [REPLACE], "runs": True},
    "gemma 3, runs are added": {
        "normalizer": [REPLACE],
        "runs": True,
        "added": ["\n" * n for n in range(1, 8)],
    },
    "gemma 3, some runs are added": {
        "normalizer": [REPLACE],
        "runs": True,
        "added": ["\n\n", BLANK * 2],
    },
    "runs and a prefix": {"normalizer": [PREPEND, REPLACE], "runs": True},
    "words apart": {"pre_tokenizer": metaspace("always", True)},
    "words apart, no prefix": {"pre_tokenizer": metaspace("never", True)},
    "words apart, runs": {"pre_tokenizer": metaspace("never", True), "runs": True},
    "unknown, fused": {"normalizer": [REPLACE], "fallback": False},
    "unknown, one by one": {"normalizer": [REPLACE], "fallback": False, "fuse": False},
    "unknown and a prefix": {"pre_tokenizer": metaspace("first", True), "fallback": False},
    "added tokens": {"normalizer": [REPLACE], "added": ["<x>", "日本", "the"], "normalized": True},
    "added tokens and a prefix": {"normalizer": [PREPEND, REPLACE], "added": ["<x>", "日本"]},
    "added after the first": {"pre_tokenizer": metaspace("first", False), "added": ["<x>", "日"]},
    "lower case, composed": {
        "normalizer": [{"type": "NFC"}, {"type": "Lowercase"}, REPLACE],
    },
    "nllb": {
        "normalizer": [PRECOMPILED, RUNS],
        "pre_tokenizer": metaspace("always", True),
        "fallback": False,
        "masks": {"<mask>": "lstrip", "<after>": "rstrip", "<word>": "single_word"},
    },
    "nllb, as converted": {
        "normalizer": [
            PRECOMPILED,
            {"type": "Strip", "strip_left": False, "strip_right": True},
            RUNS | {"content": BLANK},
        ],
        "pre_tokenizer": metaspace("always", True),
        "fallback": False,
        "masks": {"<mask>": "lstrip"},
    },
    "seamless": {
        "normalizer": [
            PRECOMPILED,
            {"type": "Strip", "strip_left": False, "strip_right": True},
            RUNS | {"content": BLANK},
        ],
        "pre_tokenizer": metaspace("first", True),
        "fallback": False,
        "added": ["<x>"],
    },
    "masks of all texts": {
        "pre_tokenizer": metaspace("first", True),
        "masks": {"<mask>": "lstrip", "<after>": "rstrip", "<word>": "single_word"},
    },
}
"""Masks are special tokens that are searched for in normalized text, with a flag each."""


@cache
def make_document(name: str) -> str:
    """Return the tokenizer.json of a configuration."""
    options = CONFIGURATIONS[name]
    document = json.loads(_trained(options.get("across", False)))
    model = document["model"]
    if options.get("runs"):
        with_runs(document)
    fallback = options.get("fallback", True)
    if fallback:
        first = max(model["vocab"].values()) + 1
        several = [byte for byte in range(256) if chr(byte) not in options.get("no_bytes", "")]
        model["vocab"] |= {f"<0x{byte:02X}>": first + n for n, byte in enumerate(several)}
    model |= {"byte_fallback": fallback, "fuse_unk": options.get("fuse", True)}
    document["normalizer"] = (
        {"type": "Sequence", "normalizers": options["normalizer"]}
        if "normalizer" in options
        else None
    )
    document["pre_tokenizer"] = options.get("pre_tokenizer")
    decoders = [*DECODERS, STRIP] if options.get("strip") else DECODERS
    document["decoder"] = {"type": "Sequence", "decoders": decoders}
    next_id = max(model["vocab"].values())
    for text in options.get("added", []):
        if text not in model["vocab"]:
            next_id += 1
        token_id = model["vocab"].get(text, next_id)
        normalized = options.get("normalized", False)
        document["added_tokens"].append(added(token_id, text, normalized=normalized))
    for text, flag in options.get("masks", {}).items():
        next_id += 1
        flags = {"special": True, "normalized": True, flag: True}
        document["added_tokens"].append(added(next_id, text, **flags))
    return json.dumps(document)
