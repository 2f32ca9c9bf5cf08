"""Tokenizers built with the real `tokenizers` package, part by part like those of public models.

Sources: the published tokenizer.json of each model that is named; patterns as in
tests/pretokenize/patterns.py. Vocabularies are trained on the texts of tests/texts.py.
"""

import copy
import json
import random
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from cutline.formats.huggingface import GPT2_REGEX
from tests.pretokenize.patterns import PATTERNS
from tests.texts import NAMED_TEXTS, random_texts
from tests.words.charsmaps import charsmap

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
AddedToken = tokenizers.AddedToken
normalizers = tokenizers.normalizers
pre = tokenizers.pre_tokenizers

BYTES = pre.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = pre.ByteLevel(add_prefix_space=False)


def split(pattern: str, how: str = "isolated", *, invert: bool = False) -> Any:
    return pre.Split(tokenizers.Regex(pattern), how, invert)


def sequence(*parts: Any) -> Any:
    return pre.Sequence(list(parts))


def added(*texts: str, **flags: Any) -> list[Any]:
    return [AddedToken(text, **({"normalized": False} | flags)) for text in texts]


def blanks() -> list[Any]:
    return [AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)]


CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
HAN = "[一-龥ࠀ-一가-퟿]+"
LOWER = normalizers.Lowercase()
SUFFIX, PREFIX = "</w>", "##"


# Pre-tokenizer, normalizer, added tokens (special ones first).
Family = tuple[Any, Any, list[Any], list[Any]]
FAMILIES: dict[str, Callable[[], Family]] = {
    "gpt 2": lambda: (GPT2, None, added("<|endoftext|>"), []),
    "roberta": lambda: (
        GPT2,
        None,
        [*added("<s>", "<pad>", "</s>", "<unk>"), *added("<mask>", lstrip=True)],
        [],
    ),
    "prefix space": lambda: (pre.ByteLevel(add_prefix_space=True), None, added("<s>"), []),
    "llama 3": lambda: (
        sequence(split(PATTERNS["llama 3"]), BYTES),
        None,
        added("<|begin_of_text|>"),
        [],
    ),
    "qwen 2.5": lambda: (
        sequence(split(PATTERNS["qwen 2 and 3"]), BYTES),
        normalizers.NFC(),
        added("<|endoftext|>", "<|im_start|>"),
        added("<tool_call>", "</tool_call>"),
    ),
    "deepseek v3": lambda: (
        sequence(
            split(PATTERNS["deepseek v3, numbers"]),
            split(PATTERNS["deepseek v3, cjk"]),
            split(PATTERNS["deepseek v3, words"]),
            BYTES,
        ),
        normalizers.Sequence([]),
        [AddedToken("<｜begin▁of▁sentence｜>", normalized=True)],
        added("<think>"),
    ),
    "starcoder": lambda: (sequence(pre.Digits(True), GPT2), None, added("<|endoftext|>"), []),
    "digits together": lambda: (sequence(pre.Digits(False), GPT2), None, added("<s>"), []),
    "gpt neox, olmo": lambda: (GPT2, normalizers.NFC(), added("<|endoftext|>"), blanks()),
    "modernbert": lambda: (
        GPT2,
        normalizers.NFC(),
        [*added("[CLS]", "[SEP]"), *added("[MASK]", lstrip=True)],
        [*added("|||IP_ADDRESS|||", normalized=True), *blanks()],
    ),
    "bloom": lambda: (sequence(split(PATTERNS["bloom"]), BYTES), None, added("<s>"), []),
    "mistral nemo": lambda: (
        sequence(split(PATTERNS["mistral tekken"]), BYTES),
        None,
        added("<s>", "[INST]"),
        [],
    ),
    "whisper": lambda: (GPT2, None, added("<|endoftext|>"), added("<|0.00|>", "<|0.02|>")),
    "command-r": lambda: (
        sequence(pre.Digits(True), GPT2),
        normalizers.NFC(),
        added("<BOS_TOKEN>"),
        [],
    ),
    "punctuation apart": lambda: (sequence(pre.Punctuation(), GPT2), None, added("<s>"), []),
    "punctuation together": lambda: (
        sequence(pre.Punctuation("contiguous"), GPT2),
        None,
        added("<s>"),
        [],
    ),
    "white space dropped": lambda: (sequence(pre.WhitespaceSplit(), BYTES), None, [], []),
    "words and signs": lambda: (sequence(pre.Whitespace(), BYTES), None, [], []),
    "lines kept": lambda: (sequence(split("\n", "merged_with_previous"), BYTES), None, [], []),
    "lines led": lambda: (sequence(split("\n", "merged_with_next"), BYTES), None, [], []),
    "lines removed": lambda: (sequence(split("\n", "removed"), GPT2), None, [], []),
    "a delimiter": lambda: (sequence(pre.CharDelimiterSplit("_"), GPT2), None, [], []),
    "not split": lambda: (BYTES, None, added("<s>"), []),
    "decomposed": lambda: (GPT2, normalizers.NFD(), added("<s>"), added("café", normalized=True)),
    "compatible": lambda: (GPT2, normalizers.NFKC(), added("<s>"), []),
    "compatible, decomposed": lambda: (GPT2, normalizers.NFKD(), added("<s>"), []),
    "lower case": lambda: (
        GPT2,
        normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]),
        added("<S>"),
        added("Hello", normalized=True),
    ),
    "accents removed": lambda: (
        GPT2,
        normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
        added("<s>"),
        added("cafe", normalized=True),
    ),
    "as bert normalizes": lambda: (GPT2, normalizers.BertNormalizer(), added("<s>"), []),
    "runs of blanks": lambda: (
        GPT2,
        normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        added("<s>"),
        added("\n", normalized=True),
    ),
    "classes replaced": lambda: (
        GPT2,
        normalizers.Sequence(
            [
                normalizers.NFC(),
                normalizers.Replace(tokenizers.Regex(r"\s+"), " "),
                normalizers.Replace(tokenizers.Regex("[_`]"), ""),
                normalizers.Replace(tokenizers.Regex(r"\p{N}"), "<0>"),
            ]
        ),
        added("<s>"),
        added("the1", normalized=True),
    ),
    "blanks as letters": lambda: (
        sequence(pre.Metaspace(), GPT2),
        normalizers.NFC(),
        added("<s>"),
        [*added("the"), *added("in", lstrip=True)],
    ),
    "blanks as letters, not split": lambda: (
        sequence(pre.Metaspace("_", prepend_scheme="never", split=False), BYTES),
        None,
        added("<s>"),
        added("the"),
    ),
    "bytes in the normalizer": lambda: (
        None,
        normalizers.Sequence([normalizers.NFC(), normalizers.ByteLevel()]),
        added("<s>"),
        [*added("the", "é ", normalized=True), *added("in", lstrip=True)],
    ),
    "letters of letters": lambda: (
        sequence(BYTES, GPT2),
        normalizers.NFC(),
        added("<s>"),
        [*added("the", "é ", normalized=True), *added("in", lstrip=True)],
    ),
    "letters of letters, not split": lambda: (
        sequence(*2 * [pre.ByteLevel(add_prefix_space=True, use_regex=False)]),
        None,
        added("<s>"),
        added("in", lstrip=True, rstrip=True),
    ),
    "letters of letters, in lower case": lambda: (
        GPT2,
        normalizers.Sequence([normalizers.ByteLevel(), LOWER]),
        added("<s>"),
        [*added("é", "the", lstrip=True, normalized=True), *added("in the", single_word=True)],
    ),
    "letters of letters, digits apart": lambda: (
        sequence(BYTES, pre.Digits(), GPT2),
        None,
        added("<s>"),
        [],
    ),
    "as nmt normalizes": lambda: (
        GPT2,
        normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()]),
        added("<s>"),
        [],
    ),
    "precompiled": lambda: (
        GPT2,
        normalizers.Precompiled(
            charsmap({"e\u0301": "\u00e9", "\r": " ", "\u00e9": "e", "\u4f60": "ni", "!": "?!"})
        ),
        added("<s>"),
        [],
    ),
    "stripped": lambda: (GPT2, normalizers.Strip(), added("<s>"), added("the")),
    "replaced": lambda: (
        GPT2,
        normalizers.Replace("``", '"'),
        added("<s>"),
        added('"', normalized=True),
    ),
    "led by a mark": lambda: (GPT2, normalizers.Prepend("▁"), added("<s>"), added("the")),
    "as bert splits": lambda: (
        sequence(pre.BertPreTokenizer(), BYTES),
        normalizers.BertNormalizer(),
        added("[CLS]"),
        [],
    ),
    "words led by blanks": lambda: (
        sequence(split(r"\w+", "removed", invert=True), pre.ByteLevel(add_prefix_space=True)),
        normalizers.NFC(),
        added("<s>"),
        added("the"),
    ),
    "words led by blanks, not split again": lambda: (
        sequence(pre.WhitespaceSplit(), pre.ByteLevel(add_prefix_space=True, use_regex=False)),
        None,
        added("<s>"),
        [],
    ),
    "fixed lengths": lambda: (sequence(pre.FixedLength(3), BYTES), None, added("<s>"), []),
    "fixed lengths of digits": lambda: (
        sequence(pre.Digits(), pre.FixedLength(5), BYTES),
        normalizers.NFC(),
        added("<s>"),
        [],
    ),
    "clip": lambda: (
        sequence(split(CLIP, "removed", invert=True), GPT2),
        normalizers.Sequence(
            [normalizers.NFC(), normalizers.Replace(tokenizers.Regex(r"\s+"), " "), LOWER]
        ),
        [AddedToken("<|startoftext|>", normalized=True), *added("<|endoftext|>")],
        [],
    ),
    "clip, of transformers 5": lambda: (
        sequence(split(rf"<\|startoftext\|>|<\|endoftext\|>|{CLIP}", "removed", invert=True), GPT2),
        normalizers.Sequence(
            [normalizers.NFC(), normalizers.Replace(tokenizers.Regex(r"\s+"), " "), LOWER]
        ),
        added("<|startoftext|>", "<|endoftext|>"),
        [],
    ),
    "clip, bert's words": lambda: (
        sequence(pre.BertPreTokenizer(), BYTES),
        None,
        added("<s>"),
        [*added("the", "<tool_call>"), *added("in", lstrip=True, rstrip=True)],
    ),
    "subwords": lambda: (
        sequence(pre.BertPreTokenizer(), BYTES),
        normalizers.Sequence([normalizers.NFC(), LOWER]),
        added("[CLS]"),
        [*added("the", "<tool_call>"), *added("in", lstrip=True, rstrip=True)],
    ),
    "subwords of words alone": lambda: (
        sequence(split(r"[\p{L}\p{M}]+|\p{N}", "removed", invert=True), BYTES),
        None,
        added("<s>"),
        [],
    ),
    "deepseek coder": lambda: (
        sequence(
            *map(split, [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", HAN]), pre.Digits(True), BYTES
        ),
        None,
        added("<s>"),
        added("<tool_call>"),
    ),
    "deepseek llm": lambda: (
        sequence(
            *map(split, [r"[\r\n]", r"\s?[A-Za-zµÀ-ÖØ-öø-ƺΑ-ΡΣ-ҁ]+", r"\s?[!-/:-~！-／‘-‟　-。]+"]),
            *(split(r"\s+$"), split(HAN), pre.Digits(True), BYTES),
        ),
        normalizers.NFC(),
        added("<s>"),
        [],
    ),
    "scripts apart": lambda: (
        sequence(pre.UnicodeScripts(), pre.Digits(), GPT2),
        normalizers.NFC(),
        added("<s>"),
        added("the"),
    ),
    "looks behind": lambda: (
        sequence(split(r"(?<=\p{Ll})(?=\p{Lu})|\s+(?!\S)"), GPT2),
        None,
        added("<s>"),
        [],
    ),
    "between words": lambda: (
        sequence(split(r"\b|^\s+"), split(r"\w+|[^\w\s]+"), BYTES),
        None,
        added("<s>"),
        [],
    ),
    "digits from the right": lambda: (
        sequence(split(r"(?=(\d{3})+(?!\d))"), split(r"\p{L}+?(?=ing)|th?"), GPT2),
        None,
        [],
        [],
    ),
    "groups split again": lambda: (
        sequence(split(r"\p{N}{1,3}"), split("[0-4]"), GPT2),
        None,
        added("<s>"),
        [],
    ),
    "text merged": lambda: (
        sequence(
            pre.Split("the", "merged_with_next"),
            pre.Split("in", "merged_with_previous"),
            split(r"\p{N}{2}", "contiguous"),
            BYTES,
        ),
        normalizers.Lowercase(),
        added("<s>"),
        [],
    ),
    "words removed": lambda: (
        sequence(
            pre.Split("the", "removed"), split(r"\p{L}+", "merged_with_next", invert=True), GPT2
        ),
        None,
        added("<s>"),
        added("in"),
    ),
    "falcon": lambda: (
        sequence(pre.Punctuation("contiguous"), GPT2, pre.Digits(), split("[0-9][0-9][0-9]")),
        None,
        added("<|endoftext|>"),
        added(">>QUESTION<<"),
    ),
    "runs of digits in bytes": lambda: (
        sequence(BYTES, pre.Digits()),
        None,
        added("<s>"),
        [],
    ),
    "digits apart in bytes": lambda: (
        sequence(BYTES, pre.Digits(True)),
        None,
        added("<s>"),
        [],
    ),
    "single words": lambda: (
        GPT2,
        None,
        added("<s>", rstrip=True),
        [*added("the", single_word=True), *added("in", lstrip=True, rstrip=True)],
    ),
}


def build(name: str, vocab_size: int = 700, *, ignore_merges: bool = False) -> Any:
    """Make a tokenizer of a family; it is the caller's own, whose flags no other test sees."""
    return copy.deepcopy(_trained(name, vocab_size, ignore_merges))


@cache
def _trained(name: str, vocab_size: int, ignore_merges: bool) -> Any:
    """Train a tokenizer of a family on our texts; in half of them ids say nothing of merges."""
    pre_tokenizer, normalizer, special, ordinary = FAMILIES[name]()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(ignore_merges=ignore_merges))
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False,
        end_of_word_suffix=SUFFIX if is_suffixed(name) else "",
        continuing_subword_prefix=PREFIX if is_prefixed(name) else "",
    )  # fmt: skip
    tokenizer.train_from_iterator(training_texts(), trainer)
    if is_affixed(name):
        tokenizer = with_all_letters(tokenizer, is_suffixed(name))
    tokenizer.add_special_tokens(special)
    tokenizer.add_tokens(ordinary)
    seed = zlib.crc32(name.encode())
    return shuffled_ids(tokenizer, seed) if seed & 1 else tokenizer


def is_suffixed(name: str) -> bool:
    """Whether tokens of a family say that they end a word."""
    return name.startswith("clip")


def is_prefixed(name: str) -> bool:
    """Whether tokens of a family say that they do not begin a word."""
    return name.startswith("subwords")


def is_affixed(name: str) -> bool:
    """Whether tokens of a family say one or the other."""
    return is_suffixed(name) or is_prefixed(name)


def with_all_letters(tokenizer: Any, at_end: bool) -> Any:
    """Add the last letters of words that the texts do not have, as CLIP has them all; or inner."""
    document = json.loads(tokenizer.to_str())
    vocab = document["model"]["vocab"]
    for letter in sorted(pre.ByteLevel.alphabet()):
        vocab.setdefault(letter + SUFFIX if at_end else PREFIX + letter, len(vocab))
    return tokenizers.Tokenizer.from_str(json.dumps(document))


def training_texts() -> list[str]:
    return [*NAMED_TEXTS.values(), *random_texts(71, 300)]


def shuffled_ids(tokenizer: Any, seed: int) -> Any:
    """Give a tokenizer's tokens other ids, as RoBERTa has: merges stay in their order."""
    document = json.loads(tokenizer.to_str())
    vocab = document["model"]["vocab"]
    ids = list(vocab.values())
    random.Random(seed).shuffle(ids)
    numbers = dict(zip(vocab, ids, strict=True))
    document["model"]["vocab"] = numbers
    for token in document["added_tokens"]:
        token["id"] = numbers.get(token["content"], token["id"])
    return tokenizers.Tokenizer.from_str(json.dumps(document))


def texts_with(tokenizer: Any, seed: int, count: int = 60) -> list[str]:
    """Mix added tokens, blanks, marks and words."""
    numbers = random.Random(seed)
    found = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    parts = [
        *found, *found[:3], " ", " ", "  ", "     ", "\n", "\n    ", "the", " in", "in the", "a",
        "e",
        "\u0301", "\u0323", "é", "ﬁ", "①", "12345", "中文", "²5678", "½", "ｶﾞ",
        "\u1112\u1161\u11ab", "Ab", "``", "_", ".", "?!", "'s", "\u0378", "\U00016d67",
        "\u0897", "the1", "x", "Å", "\u212b", "İ",
    ]  # fmt: skip
    return ["".join(numbers.choices(parts, k=numbers.randint(1, 14))) for _ in range(count)]


__all__ = ["FAMILIES", "GPT2_REGEX", "build", "shuffled_ids", "texts_with", "training_texts"]


def count_of(tokenizer: Any) -> Callable[[str], int]:
    """Return what counts the tokens of texts in which special tokens are text."""
    tokenizer.encode_special_tokens = True
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
