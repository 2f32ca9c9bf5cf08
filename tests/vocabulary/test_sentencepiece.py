"""sentencepiece's own files give what the package `sentencepiece` gives."""

import io
import json
import random
import re
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import cutline
from cutline.errors import VocabularyError
from tests.conftest import short_or_long
from tests.texts import NAMED_TEXTS

package = pytest.importorskip("sentencepiece", reason="the oracle of these tests")

BLANK = "\u2581"
_BYTE = 6
SUMS_SINCE = [0, 2, 2]
LETTERS = [
    *"abehlotwr()<>.1 \n\t", " ", " ", "\u2581", "the", "<x>", "ab", "  ", "\n\n", "é", "日", "本",
    "字",
    "😀", "\ue000", "\u0301", "ж", "한",
]  # fmt: skip
# Keys of several characters, some of them in others; nothing, blanks and U+2581 as values.
RULES = {
    "abc": "x", "ab": "y", "bcd": "", "é": "e", "日本": "ab c", "  x": "q", "z": " z", "ｘ": BLANK,
    "①②③": "123", "\u0301": "", "th": "TH", "w": "w ", "ho": " ",
}  # fmt: skip
NASTY = [
    *LETTERS, "\u0301\u0301", "\u0323", "\u0338", "e\u0301", "ẛ", "\u1112\u1161", "\u11ab",
    "\u1161", "ﬁ", "①", "②③", "ｶﾞ", "か\u309a", "ﾊﾟ", "ｘ", "Ａ", "＜x＞", "ﷺ", "¨", "\u00a0",
    "\u3000", "\u200b", "\u200d", "\u2028", "\x85", "\ufeff", "\x01", "\x7f", BLANK,
    BLANK + "w", "  ", "abcd", "z", "x",
]  # fmt: skip
NORMALIZING: dict[str, dict[str, Any]] = {
    "defaults": {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True},
    "case folded": {
        "normalization_rule_name": "nmt_nfkc_cf",
        "remove_extra_whitespaces": True,
        "byte_fallback": True,
    },
    "blanks stay": {"normalization_rule_name": "nfkc", "byte_fallback": True},
    "blanks stay, some vanish": {"normalization_rule_name": "nmt_nfkc"},
    "blanks stay, no prefix": {
        "normalization_rule_name": "nmt_nfkc",
        "add_dummy_prefix": False,
        "byte_fallback": True,
    },
    "defaults, no prefix": {
        "normalization_rule_name": "nmt_nfkc",
        "remove_extra_whitespaces": True,
        "add_dummy_prefix": False,
    },
    "blanks alone": {"remove_extra_whitespaces": True, "byte_fallback": True},
    "blanks alone, symbols": {
        "remove_extra_whitespaces": True,
        "user_defined_symbols": ["<x>", BLANK + "w", "ab"],
    },
    "mapped symbols": {
        "normalization_rule_name": "nmt_nfkc_cf",
        "remove_extra_whitespaces": True,
        "byte_fallback": True,
        "user_defined_symbols": ["<x>", "the", "ﬁ", "①", BLANK + "w", "e\u0301", "a b"],
    },
    "mapped characters": {
        "model_type": "char",
        "vocab_size": 500,
        "normalization_rule_name": "nmt_nfkc",
        "remove_extra_whitespaces": True,
    },
    "own rules": {"rules": RULES, "remove_extra_whitespaces": True},
    "own rules, symbols": {
        "rules": RULES,
        "remove_extra_whitespaces": True,
        "byte_fallback": True,
        "user_defined_symbols": ["abcd", "<x>", "①"],
    },
    "own rules, no prefix": {"rules": RULES, "byte_fallback": True, "add_dummy_prefix": False},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"byte_fallback": True},
    "no prefix": {"byte_fallback": True, "add_dummy_prefix": False},
    "unknown": {},
    "symbols": {"byte_fallback": True, "user_defined_symbols": ["<x>", "ab", "  ", "\n"]},
    "symbols, no prefix": {
        "byte_fallback": True,
        "add_dummy_prefix": False,
        "user_defined_symbols": ["<x>", "日本"],
    },
    "across blanks": {"byte_fallback": True, "split_by_whitespace": False},
    "characters": {"model_type": "char", "vocab_size": 500},
    "characters, bytes": {"model_type": "char", "byte_fallback": True, "vocab_size": 500},
    "characters, symbols": {
        "model_type": "char",
        "vocab_size": 500,
        "user_defined_symbols": ["<x>", "the"],
    },
    "control symbols": {"byte_fallback": True, "control_symbols": ["é", "日", "the", "\n"]},
    "control symbols, unknown": {"model_type": "char", "vocab_size": 500, "control_symbols": ["e"]},
    "across scripts": {"byte_fallback": True, "split_by_unicode_script": False},
}


NOT_OF_UNIGRAM = {
    "blanks stay, some vanish": "what is left of a text may be the leading blank alone",
    "defaults, no prefix": "remove_extra_whitespaces without add_dummy_prefix",
}


def kinds(names: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    """Each of the settings with both types of models, if they can be read."""
    others = [one for one in names if "model_type" not in names[one]]
    unigram = [("unigram", one) for one in others if one not in NOT_OF_UNIGRAM]
    return [*((names[one].get("model_type", "bpe"), one) for one in names), *unigram]


def written(rules: dict[str, str], folder: Path) -> str:
    """Write rules of normalization to a file."""
    lines = [
        "\t".join(" ".join(f"{ord(c):X}" for c in side) for side in rule) for rule in rules.items()
    ]
    path = folder / "rules.tsv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


@cache
def trained(name: str, **more: Any) -> bytes:
    texts = [line for text in NAMED_TEXTS.values() for line in text[:2000].split("\n") if line]
    texts = [text.encode(errors="ignore").decode() for text in texts]
    texts += ["the theme of them all (they say) ends. ", "日本 the 日本 한국 é 😀  a  b "] * 9
    model = io.BytesIO()
    settings = {
        "vocab_size": 1200,
        "model_type": "bpe",
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "character_coverage": 0.98,
        "minloglevel": 2,
        "hard_vocab_limit": False,
    }
    settings |= (OPTIONS | NORMALIZING)[name] | more
    with TemporaryDirectory() as folder:
        if rules := settings.pop("rules", None):
            settings.pop("normalization_rule_name")
            settings["normalization_rule_tsv"] = written(rules, Path(folder))
        package.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=model, **settings
        )
    data = model.getvalue()
    if symbols := settings.get("control_symbols"):
        processor = package.SentencePieceProcessor(model_proto=data)
        if not processor.encode(symbols[0]):
            pytest.skip("sentencepiece 0.2.0 loses texts with the characters of such symbols")
    return data


def trained_once(name: str, more: dict[str, Any]) -> bytes:
    """Train with settings that are no keys of a cache."""
    return trained.__wrapped__(name, **more)


def loaded(data: bytes, folder: Path) -> tuple[cutline.Encoding, Any]:
    path = folder / "tokenizer.model"
    path.write_bytes(data)
    return cutline.load(path), package.SentencePieceProcessor(model_proto=data)


def written_model(
    pieces: list[tuple[str, float, int]], *, removes_blanks: bool = False, rules: bytes = b""
) -> bytes:
    """A Unigram model of these pieces: texts, scores and types; and a character map."""

    def field(number: int, value: bytes | int | float) -> bytes:
        if isinstance(value, float):
            return bytes([number << 3 | 5]) + struct.pack("<f", value)
        if isinstance(value, int):
            return bytes([number << 3, value])
        length, n = b"", len(value)
        while n > 0x7F:
            length, n = length + bytes([n & 0x7F | 0x80]), n >> 7
        return bytes([number << 3 | 2]) + length + bytes([n]) + value

    rows = [
        field(1, field(1, text.encode()) + field(2, float(score)) + field(3, kind))
        for text, score, kind in [("<unk>", 0, 2), *pieces]
    ]
    trainer, normalizer = field(3, 1), field(1, b"identity") + field(3, 1)
    normalizer += field(4, int(removes_blanks)) + (field(2, rules) if rules else b"")
    if any(kind == _BYTE for _, _, kind in pieces):
        trainer += b"\x98\x02\x01"  # field 35, byte_fallback
    return b"".join([*rows, field(2, trainer), field(3, normalizer)])


def needs_rule_of_sums(kind: str) -> None:
    if kind == "unigram" and [*map(int, re.findall(r"\d+", package.__version__))] < SUMS_SINCE:
        pytest.skip("sums are rounded otherwise before sentencepiece 0.2.2")


@pytest.mark.parametrize(("kind", "name"), kinds(OPTIONS))
def test_ids_and_counts_of_slices_are_those_of_sentencepiece(
    kind: str, name: str, tmp_path: Path
) -> None:
    needs_rule_of_sums(kind)
    encoding, processor = loaded(trained(name, model_type=kind), tmp_path)
    assert encoding.n_vocab == processor.vocab_size()
    chooser = random.Random(name)
    texts = ["".join(chooser.choices(LETTERS, k=chooser.randint(0, 25))) for _ in range(600)]
    named = [text[:3000].encode(errors="ignore").decode() for text in NAMED_TEXTS.values()]
    for text in [*texts, *named]:
        if "\0" in text:
            continue
        tokens = processor.encode(text)
        assert encoding.encode_ordinary(text) == tokens, text
        assert encoding.count(text) == len(tokens)
    for text in texts[:60]:
        counter = encoding.intervals(text)
        start = chooser.randint(0, len(text))
        end = chooser.randint(start, len(text))
        assert counter.count(start, end) == len(processor.encode(text[start:end])), text


@short_or_long("every", 197, 7)
@pytest.mark.parametrize(("kind", "name"), kinds(NORMALIZING))
def test_normalized_texts_have_the_ids_of_sentencepiece(
    kind: str, name: str, every: int, tmp_path: Path
) -> None:
    needs_rule_of_sums(kind)
    encoding, processor = loaded(trained_once(name, {"model_type": kind}), tmp_path)
    chooser = random.Random(name)
    texts = ["".join(chooser.choices(NASTY, k=chooser.randint(0, 25))) for _ in range(200)]
    edges = [
        "",
        " ",
        BLANK,
        "a" + BLANK,
        BLANK + " a",
        " " + BLANK,
        "\x01",
        " \x01 ",
        "\n\n a",
        "a\0b",
    ]
    long = "".join(chooser.choices(NASTY, k=2000))
    named = [text[:1000].encode(errors="ignore").decode() for text in NAMED_TEXTS.values()]
    singles = [chr(code) for code in range(1, 0xD800, every)]
    around = [
        text for one in singles for text in (one, f"a{one}\u1161", f" {one} ", f"{one}\u0301")
    ]
    for text in [*texts, *edges, long, *named, *around]:
        tokens = processor.encode(text)
        assert encoding.encode_ordinary(text) == tokens, ascii(text)
        assert encoding.count(text) == len(tokens), ascii(text)
        with_spans, spans = encoding.encode_with_offsets(text)
        assert with_spans == tokens
        assert (spans[:, 0] <= spans[:, 1]).all()
        assert (spans[1:] >= spans[:-1]).all()
    encoding.save(tmp_path / "x.cutline")
    assert cutline.load(tmp_path / "x.cutline").content_hash == encoding.content_hash
    with pytest.raises(VocabularyError, match=r"save as \.cutline"):
        encoding.save(tmp_path / "x.json")


def check_slices(
    encoding: cutline.Encoding,
    counted: Callable[[str], int],
    letters: list[str],
    chooser: random.Random,
    n_texts: int = 25,
) -> None:
    """Compare counts of slices, cuts and growing texts with those of each text alone."""
    for _ in range(n_texts):
        text = "".join(chooser.choices(letters, k=chooser.randint(1, 14)))
        counter, n = encoding.intervals(text), len(text)
        at_end, at_start = encoding.appender(), encoding.prepender()
        for start in range(n):
            counts = [counted(text[start:end]) for end in range(start, n + 1)]
            assert [counter.count(start, end) for end in range(start, n + 1)] == counts, ascii(text)
            for budget in (1, 2, 4, 8):
                best = start + max(at for at, count in enumerate(counts) if count <= budget)
                assert counter.split_at(start, budget) == best, (ascii(text), start, budget)
                assert encoding.split_at(text, budget, start) == best, (ascii(text), start, budget)
        for at in range(0, n, 3):
            at_end.append(text[at : at + 3])
            at_start.prepend(text[max(0, n - at - 3) : n - at])
            assert at_end.count == counted(text[: at + 3]), ascii(text)
            assert at_start.count == counted(text[max(0, n - at - 3) :]), ascii(text)
    text = "".join(chooser.choices(letters, k=1500))
    for chunks in (encoding.split(text, 64, 7), cutline.TextChunker(encoding, 64).chunk(text)):
        assert len(chunks) > min(5, counted(text) // 128)
        for chunk in chunks:
            assert chunk.token_count == counted(chunk.text) <= 64


@pytest.mark.parametrize(("kind", "name"), kinds(NORMALIZING))
def test_slices_cuts_and_growing_texts_are_normalized_alone(
    kind: str, name: str, tmp_path: Path
) -> None:
    needs_rule_of_sums(kind)
    encoding, processor = loaded(trained_once(name, {"model_type": kind}), tmp_path)
    check_slices(encoding, lambda text: len(processor.encode(text)), NASTY, random.Random(name))


def test_decoding_is_that_of_sentencepiece(tmp_path: Path) -> None:
    encoding, processor = loaded(trained("plain"), tmp_path)
    for text in ("the theme (日本)", " a  b ", "字 ж", ""):
        tokens = processor.encode(text)
        assert encoding.decode(tokens) == processor.decode(tokens) == text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model_type": "word", "byte_fallback": False}, "the type WORD"),
        ({"treat_whitespace_as_suffix": True}, "blanks at the ends of words"),
        ({"unk_piece": "\u2047"}, "an unknown piece of one character"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError) as caught:
        loaded(trained("plain", **more), tmp_path)
    assert message in str(caught.value)
    assert "cutline.wrap(" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        (
            "own rules, no prefix",
            {"add_dummy_prefix": True},
            "that remove characters, and rules for what begins with a blank",
        ),
        (
            "blanks alone",
            {"user_defined_symbols": ["<x>", "a  b"]},
            "two blanks in a row in a symbol",
        ),
        ("own rules", {"rules": RULES | {"@": "a  b"}}, "a rule of normalization, which stay"),
        ("defaults", {"user_defined_symbols": ["x" + BLANK]}, "a symbol that ends in U\\+2581"),
    ],
)
def test_normalization_that_is_not_supported_is_refused_by_name(
    name: str, more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError, match=message):
        loaded(trained_once(name, more), tmp_path)


@pytest.mark.parametrize("name", NOT_OF_UNIGRAM)
def test_normalization_that_unigram_cannot_have_is_refused_by_name(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError, match=NOT_OF_UNIGRAM[name]):
        loaded(trained_once(name, {"model_type": "unigram"}), tmp_path)


@short_or_long("n_texts", 1, 20)
@pytest.mark.parametrize("name", ["defaults", "mapped symbols", "blanks alone", "case folded"])
def test_sums_of_long_texts_are_rounded_and_begin_anew(
    name: str, n_texts: int, tmp_path: Path
) -> None:
    """With sums of more than 1e5, sentencepiece begins anew; before, ties depend on them."""
    needs_rule_of_sums("unigram")
    encoding, processor = loaded(trained_once(name, {"model_type": "unigram"}), tmp_path)
    chooser = random.Random(name)
    words = [*LETTERS, "---", "-----", "....", "aaa", "oooo", "theme", "they", "them all"] * 2

    def counted(text: str) -> int:
        return len(processor.encode(text))

    for _ in range(n_texts):
        text = " ".join("".join(chooser.choices(words, k=3)) for _ in range(9000))
        assert encoding.encode_ordinary(text) == processor.encode(text)
        counter, n = encoding.intervals(text), len(text)
        at_end = encoding.appender()
        for start in range(0, n, n // 5):
            at_end.append(text[start : start + n // 5])
            assert at_end.count == counted(text[: start + n // 5])
            end = chooser.randint(start, n)
            assert counter.count(start, end) == counted(text[start:end])
            budget = chooser.choice((10, 300, 20_000))
            cut = encoding.split_at(text, budget, start)
            assert counter.split_at(start, budget) == cut
            assert counted(text[start:cut]) <= budget
            more = [counted(text[start:end]) for end in range(cut + 1, min(n, cut + 5) + 1)]
            assert min(more, default=budget + 1) > budget
        chunks = cutline.TextChunker(encoding, 200)(text[: n // 4])
        assert all(one.token_count == counted(one.text) <= 200 for one in chunks)


def test_scores_of_symbols_are_rounded_as_in_sentencepiece(tmp_path: Path) -> None:
    """A symbol of one byte has the score 0; others are compared with all floats around theirs."""
    needs_rule_of_sums("unigram")
    for n_bytes in (*range(1, 40), 99, 333):
        symbol, score = "a" * n_bytes, np.float32(0.1 * n_bytes - 0.1)
        for first in (score, np.nextafter(score, np.float32(1e9)), np.nextafter(score, score - 1)):
            pieces = [(BLANK, -abs(first), 1), (BLANK + symbol, -1e-30, 1), (symbol, 0, 4)]
            encoding, processor = loaded(written_model(pieces), tmp_path)
            assert encoding.encode_ordinary(symbol) == processor.encode(symbol), (n_bytes, first)


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([("a", -1e6, 1)], "pieces of up to 1 characters, and scores from -1000000.0 to -2"),
        ([("a" * 300, -1, 1), ("b", -150, 1)], "pieces of up to 300 characters, and scores from"),
        ([("a" * 20, -1, 1), ("b", 3000, 1)], "pieces of up to 20 characters, and scores from"),
        ([("a", float("nan"), 1)], "a score that is no finite number"),
        ([("a", float("-inf"), 5)], "a score that is no finite number"),
        ([("", -1, 1)], "a piece without text"),
    ],
)
def test_scores_and_pieces_that_are_not_supported_are_refused(
    pieces: list[tuple[str, float, int]], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(written_model([(BLANK, -2, 1), *pieces]))
    with pytest.raises(VocabularyError, match=message):
        cutline.load(path)


@pytest.mark.parametrize("farthest", [-3600, 2900])
def test_sums_far_from_zero_begin_anew_where_those_of_sentencepiece_do(
    farthest: int, tmp_path: Path
) -> None:
    needs_rule_of_sums("unigram")
    for seed in range(20):
        chooser = random.Random(seed)
        texts = {"".join(chooser.choices("ab", k=chooser.randint(1, 9))) for _ in range(20)}
        pieces = [(text, farthest * chooser.random(), 1) for text in sorted(texts | {BLANK})]
        encoding, processor = loaded(written_model(pieces), tmp_path)
        text = "".join(chooser.choices("ab", k=2000))
        counter = encoding.intervals(text)
        assert encoding.encode_ordinary(text) == processor.encode(text)
        for start in range(0, 2000, 40):
            end = chooser.randint(start, 2000)
            assert counter.count(start, end) == len(processor.encode(text[start:end]))


def test_rules_of_denormalization_are_refused(tmp_path: Path) -> None:
    model = trained("defaults")
    rules = b"\x12\x01a"  # field 2 of field 5, of a byte
    with pytest.raises(VocabularyError, match="rules of denormalization"):
        loaded(model + bytes([5 << 3 | 2, len(rules)]) + rules, tmp_path)
    damaged = bytes([3 << 3 | 2, 2, 2 << 3, 1])  # a number for a map
    with pytest.raises(VocabularyError, match="rules of normalization that are damaged"):
        loaded(model + damaged, tmp_path)
    damaged = bytes([3 << 3 | 2, 6, 2 << 3 | 2, 4]) + bytes(4)
    with pytest.raises(VocabularyError, match="a precompiled character map is damaged"):
        loaded(model + damaged, tmp_path)


def test_a_folder_whose_other_files_add_tokens_is_refused(tmp_path: Path) -> None:
    encoding, _ = loaded(trained("symbols"), tmp_path)
    config = {str(place): {"content": text} for place, text in enumerate(["<unk>", "<x>"])}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": config}))
    (tmp_path / "added_tokens.json").write_text('{"</s>": 2}')
    assert cutline.load(tmp_path).content_hash == encoding.content_hash
    (tmp_path / "added_tokens.json").write_text('{"<|im_start|>": 1200}')
    said = r"does not have the token '<\|im_start\|>', which .* adds: transformers makes"
    with pytest.raises(VocabularyError, match=said):
        cutline.load(tmp_path)
    assert cutline.load(tmp_path / "tokenizer.model").content_hash == encoding.content_hash


def test_a_folder_of_unigram_is_refused_for_transformers_adds_otherwise(tmp_path: Path) -> None:
    encoding, processor = loaded(trained("plain", model_type="unigram"), tmp_path)
    assert encoding.encode_ordinary("the theme") == processor.encode("the theme")
    with pytest.raises(VocabularyError, match="load the file itself, for sentencepiece's ids"):
        cutline.load(tmp_path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    data = trained("plain")
    for end in (100, len(data) - 5):
        with pytest.raises(VocabularyError):
            loaded(data[:end], tmp_path)


def test_the_published_file_of_mistral(tmp_path: Path) -> None:
    folder = Path(pytest.importorskip("mistral_common").__file__).parent / "data"
    if not (folder / "tokenizer.model.v1").is_file():
        pytest.skip("this version has no such file")
    encoding, processor = loaded((folder / "tokenizer.model.v1").read_bytes(), tmp_path)
    for text in [*NAMED_TEXTS.values(), *(" " * n + "a" for n in range(60))]:
        text = text[:3000].encode(errors="ignore").decode()
        assert encoding.encode_ordinary(text) == processor.encode(text)
