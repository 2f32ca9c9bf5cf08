"""Counts of models over characters by runs of their texts, against `tokenizers`."""

import random
from functools import cache
from typing import Any

import pytest

import cutline
from cutline.pipeline.run_rules import run_rules
from cutline.tables import build_bpe_tables, build_scanner
from tests.conftest import short_or_long
from tests.kernels.encoders import NO_CACHES, SMALLEST_CACHES
from tests.pipeline.characters import BLANK, CONFIGURATIONS, make_document, tokenizers

BY_RUNS = [
    "llama 2", "mistral", "gemma", "gemma 2, whose tab has no byte", "gemma 3",
    "gemma 3, runs are added", "runs and a prefix",
    "words apart", "words apart, no prefix", "words apart, runs", "added tokens and a prefix",
    "added after the first", "gemma 3, some runs are added", "masks of all texts",
    "a .model, as transformers 5 reads it", "nllb", "nllb, as converted", "seamless",
    "lower case, composed", "unknown, fused", "unknown, one by one", "unknown and a prefix",
    "a .model, as transformers 5 reads it, composed",
]  # fmt: skip
LETTERS = (
    "abehmty", "the()<>1.", "\u65e5\u672c\u8a9e", "\u0436\u0438a", "\u00e9e\u0301",
    "\U0001f600\U0001f389a", "\ue000\ue07f\ufffd", "a\t\r\0", "\u5b57\u4e00\u4e16",
)  # fmt: skip
BETWEEN = (
    (" ",), (" ", "\n"), (" ", "  ", "\n", "\n\n", "\n    "), (" ", BLANK, BLANK * 2, f"{BLANK} "),
    (" ", " \n", "\n ", "\t", " " * 14, " " * 15, " " * 16, "\n" * 9 + " " * 17, " \n \n  "),
)  # fmt: skip


@cache
def pair(name: str) -> tuple[cutline.Encoding, Any]:
    tokenizer = tokenizers.Tokenizer.from_str(make_document(name))
    tokenizer.encode_special_tokens = True
    return cutline.Encoding.from_tokenizers(tokenizer, name), tokenizer


def number(tokenizer: Any, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def words_of(rng: random.Random) -> list[str]:
    letters = [rng.choice(LETTERS) for _ in range(rng.choice((1, 1, 3)))]
    lengths = [*range(1, 20), *rng.choices((13, 14, 15, 16, 17, 40, 90, 300), k=3)]
    words = ["".join(rng.choices(rng.choice(letters), k=n)) for n in lengths]
    return [*words, words[5] + BLANK, BLANK + words[4], "<s>", "<x>", "\n\t", "\u3000"]


def text_of(rng: random.Random, words: list[str]) -> str:
    between = rng.choice(BETWEEN)
    parts = [rng.choice(("", "", " ", "\n", "  ", BLANK, "\n \n", rng.choice(between)))]
    least = rng.choice((5, 250, 400, 900))
    while sum(map(len, parts)) < least:
        parts += [rng.choice(words), rng.choice(between)]
    return "".join(parts[: rng.choice((-1, None))])


def test_which_models_are_counted_by_runs() -> None:
    found = [name for name in CONFIGURATIONS if run_rules(pair(name)[0]._make_spec())]
    assert found == [name for name in CONFIGURATIONS if name in BY_RUNS]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_counts_do_not_depend_on_what_was_met(name: str) -> None:
    rng = random.Random(name)
    encoding, tokenizer = pair(name)
    for _ in range(12):
        words = words_of(rng)
        for _ in range(12):
            text = text_of(rng, words)
            expected = number(tokenizer, text)
            # Characters of one text take one, two or four bytes each.
            wider = [f"{text} {one}" for one in ("\u4e16", "\U0001f600")]
            assert encoding.count(text) == expected, ascii(text)
            assert encoding.count(text) == expected, ascii(text)
            for one in wider:
                assert encoding.count(one) == number(tokenizer, one), ascii(one)


@pytest.mark.parametrize("cache_bits", [SMALLEST_CACHES, NO_CACHES, (3, 2), (0, 16)], ids=str)
@pytest.mark.parametrize("name", ["llama 2", "gemma 3", "words apart"])
def test_any_text_at_any_cache_size(name: str, cache_bits: tuple[int, int]) -> None:
    rng = random.Random(f"{name}{cache_bits}")
    known, tokenizer = pair(name)
    encoding = cutline.Encoding.from_spec(known._make_spec())
    spec = encoding._make_spec()
    assert spec.pat_str
    scan_tables, _ = build_scanner(spec.pat_str, stacklevel=1)
    tables = build_bpe_tables(spec.vocabulary)
    encoding._bind(tables, scan_tables, cache_bits=cache_bits, pipeline=encoding._pipeline)
    words = [word for _ in range(20) for word in words_of(rng)]
    longest = " ".join(letter * 1024 for letter in "\U0001f600\u65e5a\U0001f389")
    for text in [longest, *(text_of(rng, words) for _ in range(20))]:
        expected = number(tokenizer, text)
        for _ in range(2):
            assert encoding.count(text) == expected, ascii(text)


@short_or_long("others", "b\u672c", "b\u0438\u672c\U0001f601")
@pytest.mark.parametrize("n", [1, 13, 14, 15, 16, 17, 255, 256, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("letter", ["a", "\u0436", "\u65e5", "\U0001f600"])
def test_runs_of_all_lengths(n: int, letter: str, others: str) -> None:
    encoding, tokenizer = pair("llama 2")
    for lead in ("", " ", "\n", "  ", BLANK, " " * 300):
        for other in others:
            # Runs of a batch whose keys would not fit together, and such that differ at the end.
            text = lead.join(
                [" ", letter * n, " ", letter * n + other, " ", other + letter * n] * 9
            )
            text += " " + "a" * 80
            for _ in range(2):
                assert encoding.count(text) == number(tokenizer, text)


@short_or_long("n_times", 1, 2)
@pytest.mark.parametrize("name", ["llama 2", "gemma", "words apart"])
def test_leads_of_all_lengths(name: str, n_times: int) -> None:
    encoding, tokenizer = pair(name)
    for n in [*range(20), 4095, 4096, 65534, 65535, 65536, 70_000]:
        for lead in (" " * n, BLANK * n, "\n" * n, "\n" * 3 + " " * n, " " * n + "\n"):
            text = f"{lead}the{lead}them" * n_times + " ab" * 100 + lead
            for _ in range(2):
                assert encoding.count(text) == number(tokenizer, text), (n, lead[:9])


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_end_of_a_text_is_counted(name: str) -> None:
    encoding, tokenizer = pair(name)
    rng = random.Random(name)
    for n in (*range(250, 262), *range(318, 326)):
        for end in ("", " ", "\n", "  ", " b", " the\n", f" {'the' * 8}", BLANK, "\u3000"):
            text = "".join(rng.choices("theab\u65e5 \n", k=n)) + end
            for _ in range(2):
                assert encoding.count(text) == number(tokenizer, text), (n, text)


def test_surrogates_count_as_replacement_characters() -> None:
    encoding, tokenizer = pair("llama 2")
    for text in ("a\ud800b " * 90, "the " * 90 + "\udc00", "\ud83c\udf89 " * 90):
        plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert encoding.count(text) == number(tokenizer, plain)


def test_a_hundred_thousand_runs_take_turns() -> None:
    encoding, tokenizer = pair("gemma")
    rng = random.Random(3)
    words = ["".join(rng.choices("abthe\u65e5", k=rng.randint(3, 24))) for _ in range(100_000)]
    for _ in range(3):
        text = " ".join(rng.choices(words, k=50_000))
        assert encoding.count(text) == number(tokenizer, text)
