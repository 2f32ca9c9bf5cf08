"""The normal forms of `tokenizers` 1 are those of a newer Unicode; `tokenizers` 1 is the oracle."""

import itertools
import json
import random
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

import cutline
from cutline.newer_forms import combining, normalize_newer
from cutline.normalizing import Form, NewerForm, Traced, later_characters
from cutline.vocabulary.letters import as_text

tokenizers = pytest.importorskip("tokenizers")
NEWER = tokenizers.__version__.startswith("1.")
needs_newer = pytest.mark.skipif(not NEWER, reason="the oracle is tokenizers 1")

Name = Literal["NFC", "NFD", "NFKC", "NFKD"]
NAMES = get_args(Name)
POINTS = [*range(0xD800), *range(0xE000, 0x110000)]
LATER = [chr(code) for code in POINTS if later_characters().match(chr(code))]
PARTS = [
    *"aA\u0301\u0323\u0334\u0345\u093c\u094d\u1100\u1161\u11a8\uac00\u00e9\u1e69\ufb01\u2460",
    *"\u0897\u1acf\u1ae6\u1aeb\U000113ce\U00016d63\U00016d67\U0001611e\U0001611f\U00016120",
    *"\U00016129\U000105d2\u0307\U00011382\U000113c9\U000113c2\U000113b8\U0001ccd6\u32ff",
]


@cache
def document_of(name: str) -> str:
    """A tokenizer whose tokens are the bytes of normalized text."""
    byte_level = {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False
    }  # fmt: skip
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": name}, "pre_tokenizer": byte_level, "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE", "vocab": {as_text(bytes([byte])): byte for byte in range(256)},
            "merges": [],
        },
    })  # fmt: skip


def normalizer(name: str, folder: Path) -> Any:
    path = folder / "tokenizer.json"
    path.write_text(document_of(name), encoding="utf-8")
    return tokenizers.Tokenizer.from_file(str(path))


def normalized(tokenizer: Any, texts: list[str]) -> list[str]:
    found = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [bytes(one.ids).decode() for one in found]


def random_texts(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    return [
        "".join(rng.choices(PARTS if rng.random() < 0.7 else LATER + PARTS, k=rng.randint(1, 9)))
        for _ in range(n)
    ]


@needs_newer
@pytest.mark.parametrize("name", NAMES)
def test_normal_forms_are_those_of_tokenizers_1(name: Name, tmp_path: Path) -> None:
    form, oracle = NewerForm(name), normalizer(name, tmp_path)
    texts = [context.format(chr(code)) for code in POINTS for context in ("{}", "a\u0301{}\u0323b")]
    texts += random_texts(1, 100_000)
    for text, there in zip(texts, normalized(oracle, texts), strict=True):
        assert form.apply(text) == there, ascii(text)


@needs_newer
@pytest.mark.parametrize("name", NAMES)
def test_ids_slices_and_cuts_are_those_of_tokenizers_1(name: str, tmp_path: Path) -> None:
    oracle = normalizer(name, tmp_path)
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for text in random_texts(2, 1_000):
        assert encoding.encode_ordinary(text) == list(oracle.encode(text).ids), ascii(text)
        counter, n = encoding.intervals(text), len(text)
        for start in range(n + 1):
            slices = [text[start:end] for end in range(start, n + 1)]
            counts = [*map(len, (one.encode() for one in normalized(oracle, slices)))]
            assert [counter.count(start, end) for end in range(start, n + 1)] == counts
            for budget in (0, 3, 7):
                fits = [end for end, count in enumerate(counts, start) if count <= budget]
                assert counter.split_at(start, budget) == fits[-1], (ascii(text), start, budget)


@pytest.mark.parametrize("name", NAMES)
def test_characters_that_python_knows_are_normalized_as_by_python(name: Name) -> None:
    """But for those that are listed, and younger than this Python."""
    known = [one for one in map(chr, POINTS) if unicodedata.category(one) != "Cn"]
    if unicodedata.unidata_version > "17":
        pytest.skip("a newer Unicode")
    for character in known:
        assert normalize_newer(name, character) == unicodedata.normalize(name, character)
        assert combining(character) == unicodedata.combining(character)
    rng = random.Random(name)
    marks = [one for one in known if unicodedata.combining(one)]
    composing = [one for one in known if unicodedata.decomposition(one)]
    for _ in range(20_000):
        text = "".join(rng.choices(rng.choice([marks, composing, known]), k=rng.randint(1, 6)))
        assert normalize_newer(name, text) == unicodedata.normalize(name, text), ascii(text)


@pytest.mark.parametrize("name", NAMES)
def test_both_versions_agree_where_no_character_is_later(name: Name) -> None:
    older, newer = Form(name), NewerForm(name)
    for text in random_texts(3, 5_000):
        if not later_characters().search(text):
            assert newer.apply(text) == older.apply(text)
            assert newer.keeps_slices(text) == older.keeps_slices(text)
        assert newer.trace(Traced.of(text)).text == newer.apply(text)


def test_parts_of_a_text_are_normalized_like_the_text() -> None:
    """Between later characters, `unicodedata` normalizes."""
    for name, text in itertools.product(NAMES, random_texts(4, 5_000)):
        assert NewerForm(name).apply(text) == normalize_newer(name, text), ascii(text)
