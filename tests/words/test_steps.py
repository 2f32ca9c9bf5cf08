"""Steps of WordPiece and Unigram against `tokenizers`, for every character and in contexts."""

import random
from typing import Any

import pytest

from cutline.errors import VocabularyError
from cutline.kernels.words.classes import change_members, first_member
from cutline.normalizing import Form, Step, Traced, normalize, trace
from cutline.pretokenize.charset import CharSet
from cutline.words.beginnings import BeginsAnew
from cutline.words.characters import ClassName, chars_of
from cutline.words.precompiled import Precompiled
from cutline.words.steps import ByCharacter, Collapse, CollapseWhite
from tests.conftest import short_or_long
from tests.words.charsmaps import charsmap
from tests.words.configurations import SMALL_MAP, tokenizers
from tests.words.test_char_rules import AWKWARD, SCALARS

norm, pre = tokenizers.normalizers, tokenizers.pre_tokenizers

# Older ones have the classes of an older Unicode.
needs_0_23 = pytest.mark.skipif(
    tuple(map(int, tokenizers.__version__.split(".")[:2])) < (0, 23),
    reason="classes are those of tokenizers 0.23",
)

OFF: dict[str, Any] = {
    "clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False
}  # fmt: skip
SMALL = charsmap(SMALL_MAP)
TWO = charsmap({"a": "x", "b": "y"})
STEPS: dict[str, tuple[tuple[Step, ...], Any]] = {
    "clean text": (
        (ByCharacter("bert clean text"),),
        norm.BertNormalizer(**OFF | {"clean_text": True}),
    ),
    "chinese": (
        (ByCharacter("bert chinese"),),
        norm.BertNormalizer(**OFF | {"handle_chinese_chars": True}),
    ),
    "bert accents": (
        (Form("NFD"), ByCharacter("bert accents")),
        norm.BertNormalizer(**OFF | {"strip_accents": True}),
    ),
    "accents": ((ByCharacter("accents"),), norm.StripAccents()),
    "nmt": ((ByCharacter("nmt"),), norm.Nmt()),
    "runs of white space": (
        (CollapseWhite(),),
        norm.Replace(tokenizers.Regex(r"\s{2,}"), " "),
    ),
    "runs": ((Collapse("\u2581"),), norm.Replace(tokenizers.Regex(" {2,}"), "\u2581")),
    "precompiled": ((Precompiled(SMALL),), norm.Precompiled(SMALL)),
}
CLASSES: dict[ClassName, tuple[Any, list[str]]] = {
    "white space": (pre.WhitespaceSplit(), ["a", "b"]),
    "punctuation": (pre.Punctuation(), ["a", "{}", "b"]),
    "digits": (pre.Digits(), ["a", "{}", "b"]),
    "word": (pre.Whitespace(), ["a{}b"]),
}


@short_or_long("every", 7, 1)
@pytest.mark.parametrize("name", STEPS)
def test_every_character_normalizes_as_in_tokenizers(name: str, every: int) -> None:
    steps, oracle = STEPS[name]
    for code_point in SCALARS[::every]:
        text = chr(code_point)
        assert normalize(text, steps) == oracle.normalize_str(text), hex(code_point)


@short_or_long("n_texts", 5_000, 20_000)
@pytest.mark.parametrize("name", STEPS)
def test_texts_normalize_as_in_tokenizers_and_are_traced(name: str, n_texts: int) -> None:
    steps, oracle = STEPS[name]
    rng = random.Random(name)
    for _ in range(n_texts):
        text = "".join(rng.choices(AWKWARD, k=rng.randint(1, 8)))
        expected = oracle.normalize_str(text)
        assert normalize(text, steps) == expected, ascii(text)
        traced = trace(Traced.of(text), steps)
        assert traced.text == expected
        assert len(traced.spans) == len(expected)
        assert (traced.spans[1:] >= traced.spans[:-1]).all()
        for step in steps:
            if step.keeps_slices(text):
                assert all(
                    step.apply(text[start:end]) == text[start:end]
                    for start in range(len(text))
                    for end in range(start, len(text) + 1)
                )
            for place, one in enumerate(text):
                if step.keeps(one):
                    after = step.apply(text[place:])
                    assert after.startswith(one)
                    assert step.apply(text[:place]) + after == step.apply(text), ascii(text)


@short_or_long("every", 7, 1)
@needs_0_23
@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_every_character_are_those_of_tokenizers(name: ClassName, every: int) -> None:
    splitter, expected = CLASSES[name]
    chars = chars_of(name)
    for code_point in SCALARS[::every]:
        words = [word for word, _ in splitter.pre_tokenize_str(f"a{chr(code_point)}b")]
        inside = [part.format(chr(code_point)) for part in expected]
        assert (words == inside) == (code_point in SETS[name]), hex(code_point)
    assert len(chars) == len(SETS[name])


SETS = {
    name: {code_point for start, end in chars_of(name).ranges() for code_point in range(start, end)}
    for name in CLASSES
}


@needs_0_23
def test_what_joins_or_leads_a_cluster_is_that_of_tokenizers() -> None:
    oracle = norm.Precompiled(charsmap({"a": "b"}))
    joins = {code for code in SCALARS if oracle.normalize_str("a" + chr(code)) == "b"}
    leads = {
        code
        for code in SCALARS
        if code != ord("a") and oracle.normalize_str(f"{chr(code)}a\u0301").endswith("b\u0301")
    }
    for name, expected in (("joins", joins), ("prepends", leads)):
        ranges = chars_of(name).ranges()  # type: ignore[arg-type]
        assert {code for start, end in ranges for code in range(start, end)} == expected


JAMO = (
    "\u1100\u115f\ua960\ua97c\u1160\u1161\u11a7\ud7b0\ud7c6\u11a8\u11ff\ud7cb\ud7fb"
    "\uac00\uac01\uac02\uac1c\ud7a3\ud7c8"
)
PICTOGRAPHS = "\U0001f468\u200d\U0001f469\u2764\ufe0f\xa9\u200c\u0301\u0900"
CONJUNCTS = "\u0915\u094d\u0916\u093c\u0995\u09cd\u09be\u0600\u0301\u200da"


@needs_0_23
@pytest.mark.parametrize("pool", [JAMO + "\u0301", PICTOGRAPHS, CONJUNCTS, "\xa9\u0915\r\n\u0600"])
def test_what_begins_a_cluster_after_some_characters_is_mapped_apart_from_them(pool: str) -> None:
    rng, found = random.Random(pool), dict.fromkeys(pool, 0)
    for _ in range(40):
        keys = ("".join(rng.choices(pool, k=rng.randint(1, 3))) for _ in range(60))
        data = charsmap(
            {key: rng.choice(("X", "Y", "zz")) for key in keys if len(key.encode()) < 8}
        )
        oracle, anew = norm.Precompiled(data), BeginsAnew((Precompiled(data),), [True])
        for _ in range(60):
            text = "".join(rng.choices(pool, k=rng.randint(2, 9)))
            whole = oracle.normalize_str(text)
            for place in anew.places(text):
                parts = text[:place], text[place:]
                assert "".join(map(oracle.normalize_str, parts)) == whole, ascii(parts)
                found[text[place]] += 1
    never = {one for one in pool if ord(one) in chars_of("joins")}
    assert {one for one, times in found.items() if not times} == never


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not fit"),
        (b"\x04\0\0\0", "does not fit"),
        (b"\x03\0\0\0abcd", "does not fit"),
        (SMALL[:-3] + b"\xff\xff\0", "not UTF-8"),
        (SMALL[: 4 + int.from_bytes(SMALL[:4], "little")], "out of its strings"),
        (TWO[:-2], "out of its strings"),
        (TWO[:-4] + "\u20ac".encode(), "into the middle of a character"),
    ],
)
def test_a_damaged_map_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Precompiled(data)


@pytest.mark.parametrize("size", [1_000_000])
def test_a_million_marks_take_linear_time(size: int) -> None:
    step = Precompiled(SMALL)
    for text in (
        "e" + "\u0301" * size,
        "\u0915" + "\u094d" * size,
        "\u1100" * size,
        "\xa9\u200d" * size,
    ):
        assert len(step.apply(text)) >= size


@pytest.mark.parametrize("instead", ["", " ", "ab", None])
def test_members_of_a_class_are_found_and_changed(instead: str | None) -> None:
    rng = random.Random(5)
    for _ in range(300):
        starts = sorted(rng.sample(range(0x20, 0x120), rng.randint(0, 12)))
        members = CharSet.from_ranges((one, one + rng.randint(1, 9)) for one in starts)
        text = "".join(chr(rng.choice((rng.randrange(0x200), 0x10FFFF))) for _ in range(20))
        found = [place for place, one in enumerate(text) if ord(one) in members]
        for start in range(22):
            wanted = next((place for place in found if place >= start), -1)
            assert first_member(text, members.edges, start) == wanted
        expected = [
            one if place not in found else f" {one} " if instead is None else instead
            for place, one in enumerate(text)
        ]
        assert change_members(text, members.edges, instead) == "".join(expected)
