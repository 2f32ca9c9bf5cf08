"""Added tokens that a slice has and its text has not, for what composes ends with a slice."""

import random
import sys
import unicodedata
from typing import Any, get_args

import pytest

import cutline
from cutline.normalizing import Form, Lower, Replace, Step, normalize
from cutline.pipeline.tokens_of_slices import base_letters, slices_may_have
from cutline.words.precompiled import Precompiled
from cutline.words.steps import ByCharacter, Collapse, Kind
from tests.conftest import short_or_long
from tests.words.charsmaps import charsmap
from tests.words.configurations import RUNS, SMALL_MAP, small_map
from tests.words.tokenizers_of import tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
norm = tokenizers.normalizers

STEPS: list[Step] = [
    Form("NFC"),
    Form("NFD"),
    Form("NFKC"),
    Form("NFKD"),
    Lower(),
    *map(ByCharacter, get_args(Kind)),
]
NORMALIZERS = {
    "NFC": lambda: norm.NFC(),
    "NFKC, lower case": lambda: norm.Sequence([norm.NFKC(), norm.Lowercase()]),
    "lower case, a replacement": lambda: norm.Sequence([norm.Lowercase(), norm.Replace("ab", "c")]),
    "accents": lambda: norm.Sequence([norm.NFD(), norm.StripAccents(), norm.Lowercase()]),
    "BERT": lambda: norm.BertNormalizer(lowercase=True),
    "a map": lambda: norm.Sequence([small_map(), RUNS]),
    "a map of clusters": lambda: norm.Precompiled(charsmap({"e\u0301": "q"})),
    "a map, a form": lambda: norm.Sequence([small_map(), norm.NFC(), norm.Replace("ab", "xa")]),
}


@pytest.mark.parametrize("step", STEPS, ids=str)
@short_or_long("last", 0x3100, sys.maxunicode)
def test_what_is_left_of_characters_does_not_depend_on_what_composes(step: Step, last: int) -> None:
    composites = []
    for code_point in range(last + 1):
        character = chr(code_point)
        if 0xD800 <= code_point < 0xE000:
            continue
        if isinstance(step, Form | Lower):
            assert base_letters(step.apply(character)) == base_letters(character)
        apart = unicodedata.normalize("NFD", character)
        if len(apart) > 1:
            composites.append((character, apart))
        if base_letters(character) == "":
            assert base_letters(step.apply(character)) == ""
    assert len(composites) > 900
    for character, apart in composites:
        together = base_letters(step.apply(character))
        assert together == "".join(base_letters(step.apply(one)) for one in apart)


@short_or_long("last", 0x3100, sys.maxunicode)
def test_lower_case_has_no_more_parts_than_that_of_parts(last: int) -> None:
    for code_point in range(last + 1):
        character = chr(code_point)
        if not 0xD800 <= code_point < 0xE000:
            parts = unicodedata.normalize("NFKD", character)
            lower = "".join(map(Lower().apply, parts)).replace("\u03c3", "\u03c3\u03c2")
            made = unicodedata.normalize("NFKD", Lower().apply(character))
            assert set(made) <= set(unicodedata.normalize("NFKD", parts + lower)), code_point


def test_no_slice_of_marks_has_a_token_of_letters() -> None:
    text = "e" + "\u0301\u0323\u0344" * 400
    for steps in ((small_precompiled(), Collapse(" ")), (small_precompiled(), Form("NFKC"))):
        normalized = normalize(text, steps)
        assert not slices_may_have(["<x>"], steps, text, normalized)
        assert slices_may_have(["\u00e9"], steps, text, normalized)
        assert slices_may_have(["\u0308"], steps, text, normalized)


def test_steps_and_clusters_may_write_other_letters() -> None:
    text = "e\u0301\u0302\u0302 ab  " * 3
    clusters = Precompiled(charsmap({"e\u0301": "q"}))
    for step, token in ((Replace("ab", "x"), "x"), (Collapse("_"), "_"), (Lower(), "q")):
        steps = clusters, step
        assert slices_may_have([token], steps, text, normalize(text, steps))
        assert not slices_may_have(["y"], steps, text, normalize(text, steps))


def small_precompiled() -> Precompiled:
    return Precompiled(charsmap(SMALL_MAP))


def made_with(normalizer: Any, kind: str, token: str) -> Any:
    made = tokenizer_of(kind, "NFC, bert" if kind == "WordPiece" else "deberta", random.Random(1))
    made.normalizer = normalizer
    made.add_tokens([tokenizers.AddedToken(token, normalized=True, special=False)])
    return made


def count_of(oracle: Any, text: str) -> int:
    return len(oracle.encode(text, add_special_tokens=False).ids)


def assert_slices(oracle: Any, text: str, n: int) -> None:
    encoding = cutline.Encoding.from_tokenizers(oracle)
    counter = encoding.intervals(text)
    for start in range(0, len(text), 2):
        counts = [count_of(oracle, text[start:end]) for end in range(start, len(text) + 1)]
        assert [counter.count(start, end) for end in range(start, len(text) + 1)] == counts
        fitting = max(end for end, count in enumerate(counts) if count <= n)
        assert encoding.split_at(text, n, start) == start + fitting, (text, n, start)
        assert counter.split_at(start, n) == start + fitting


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram", "Unigram with bytes"])
@pytest.mark.parametrize(
    ("name", "token", "text"),
    [
        ("NFC", "\u00e9=", "e\u0301=\u0338 b" * 3),
        ("lower case, a replacement", "xa", "Xab " * 3),
        ("NFC", "\u0338\u0301\uac00]=", ("\u0301\u0338\uac00]=" * 2 + "\uac00") * 4),
        ("NFKC, lower case", "\u00e9", "E\u0301\u0323 \uff25\u0301\u0338" * 3),
        ("a map", "\u00e9", "e\u0301\u0302 b\u0301" * 4),
        ("a map", "fi", "\ufb01\u0301\u0302 b" * 4),
        ("a map", "\u0308", "a\u0344\u0301\u0301" * 5),
        ("a map", "  \u0639", "\u0301\ufdfa\u0301\u0302" * 5),
        ("a map of clusters", "q", "e\u0301\u0302\u0302 b" * 4),
        ("a map, a form", "xa", "\u0301\u0302ab\u0301" * 4),
        ("lower case, a replacement", "i\u0307", "\u0130ab" * 4),
    ],
)
def test_a_slice_has_a_token_that_its_text_has_not(
    kind: str, name: str, token: str, text: str
) -> None:
    for n in (1, 2, 5):
        assert_slices(made_with(NORMALIZERS[name](), kind, token), text, n)


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
@pytest.mark.parametrize("name", NORMALIZERS)
def test_random_texts_and_tokens(kind: str, name: str) -> None:
    rng = random.Random(f"{kind} {name}")
    letters = "aeE=\u0301\u0338\u0323\u00e9\uac00\u1100\u1161 xb\u1e69"
    for _ in range(6):
        # Tokens of marks alone may become empty, and are refused then.
        token = rng.choice("aeEx\u00e9\uac00") + "".join(
            rng.choices(letters[:8], k=rng.randint(0, 2))
        )
        oracle = made_with(NORMALIZERS[name](), kind, token)
        for _ in range(4):
            assert_slices(oracle, "".join(rng.choices(letters, k=14)), rng.choice((1, 3)))
