"""Texts full of marks, jamo and added tokens are cut as `tokenizers` encodes each slice of them.

For tokenizers that sort, compose or remove marks, that say where words end or start, or that have
added tokens between. Input: tokenizer, seed of its vocabulary, start, budget (a byte each), then
the text: a byte is a letter, and from REPEATING on it repeats what is before it.
"""

import random
from functools import lru_cache
from typing import Any

import tokenizers

import cutline
from cutline.errors import CutlineError
from tests.pipeline import characters, ended_characters
from tests.pipeline.families import build
from tests.words.tokenizers_of import MODELS, tokenizer_of

LETTERS = (
    "aeE=<'\u00e9\u00ea\u1100\u1161\u11a8\uac00\uff76\u0915\u0627\u09c7\U0001f468 "
    "\u0301\u0302\u0323\u0327\u0334\u0338\u0344\u0345\u034f\u05b0\u0651\u093c\u094d\u09be\u0f71\u0f72"
    "\u1ac0\u200d\u302e\u3099\uff9e\U0001d165\ufdfa\u2581\u0600\r\n\x85\0"
)
WORDS = (*LETTERS, "<x>", "<y>", "[E\u0301]")
REPEATING = 200
MAX_CHARACTERS = 150
BYTES = (
    "command-r", "decomposed", "compatible", "compatible, decomposed", "as bert normalizes",
    "accents removed", "precompiled", "clip", "clip, bert's words", "subwords",
    "subwords of words alone", "as bert splits", "punctuation apart", "scripts apart",
)  # fmt: skip
NAMES = (
    "NFC, bert", "NFC, metaspace first", "NFKC, Lowercase", "albert", "bert uncased", "xlm-r", "t5",
    "bert cased without accents", "deberta", "long replacements", "metaspace without splits",
)  # fmt: skip
KINDS = (
    *(("bytes", name) for name in BYTES),
    ("characters", "lower case, composed"),
    *(("ended", name) for name in ended_characters.KINDS),
    *((model, name) for model in MODELS for name in NAMES),
)
TOKENS = (
    tokenizers.AddedToken("<x>", normalized=False, special=False),
    tokenizers.AddedToken("<y>", normalized=True, special=False),
    tokenizers.AddedToken("[E\u0301]", normalized=True, special=False),
)
COMPOSED = ("as bert splits", "punctuation apart", "scripts apart")
N_VOCABULARIES = 4


def run(data: bytes) -> None:
    if len(data) < 5 or (found := pair(data[0] % len(KINDS), data[1] % N_VOCABULARIES)) is None:
        return
    check_slices(*found, text_of(data[4:]), data[2], data[3])


def check_slices(
    tokenizer: Any, encoding: cutline.Encoding, text: str, start: int, share: int
) -> None:
    """Encode, count and cut what begins at one place, every end tried.

    Args:
        tokenizer: gives the ids that are right.
        encoding: that of the tokenizer.
        text: the text.
        start: the place; any number stands for one.
        share: of 256, of the most tokens that a budget may be.
    """
    start %= len(text) + 1
    slices = [text[start:end] for end in range(start, len(text) + 1)]
    there = tokenizer.encode_batch(slices, add_special_tokens=False)
    counts = [len(one.ids) for one in there]
    assert encoding.encode(slices[-1], allowed_special="all") == there[-1].ids
    assert encoding.count_batch(slices).tolist() == counts
    counter = encoding.intervals(text)
    assert [counter.count(start, end) for end in range(start, len(text) + 1)] == counts
    for budget in (share % 9, share * (max(counts) + 1) // 256):
        best = start + max(at for at, count in enumerate(counts) if count <= budget)
        assert counter.split_at(start, budget) == best
        assert encoding.split_at(text, budget, start) == best


def text_of(data: bytes) -> str:
    """Write a text of bytes."""
    written = [""]
    for byte in data:
        if byte >= REPEATING:
            written.append("".join(written[-1 - byte % 3 :]) * (byte - REPEATING))
        else:
            written.append(WORDS[byte % len(WORDS)])
        if sum(map(len, written)) > MAX_CHARACTERS:
            break
    return "".join(written)[:MAX_CHARACTERS]


@lru_cache(maxsize=len(KINDS) * N_VOCABULARIES)
def pair(number: int, seed: int) -> tuple[Any, cutline.Encoding] | None:
    """Make a tokenizer, with added tokens or without, and its encoding; None: that is refused."""
    kind, name = KINDS[number]
    tokenizer = _tokenizer(kind, name, seed)
    if seed % 2:
        tokenizer.add_tokens(list(TOKENS[: 1 + seed]))
    try:
        return tokenizer, cutline.Encoding.from_tokenizers(tokenizer)
    except CutlineError:
        return None


def _tokenizer(kind: str, name: str, seed: int) -> Any:
    if kind == "bytes":
        made = build(name)
        if name in COMPOSED:
            made.normalizer = tokenizers.normalizers.NFC()
        return made
    if kind == "characters":
        return tokenizers.Tokenizer.from_str(characters.make_document(name))
    if kind == "ended":
        return ended_characters.trained(name, seed)
    return tokenizer_of(kind, name, random.Random(f"{kind} {name} {seed}"))
