"""Steps that change texts, against the normalizers of `tokenizers`, over all code points."""

import random
import unicodedata
from typing import Any

import pytest

from cutline import normalizing
from cutline.normalizing import (
    Form,
    Lower,
    Prepend,
    Replace,
    Step,
    Strip,
    Traced,
    _marks,
    later_characters,
)
from tests.conftest import short_or_long

tokenizers = pytest.importorskip("tokenizers")
normalizers = tokenizers.normalizers

STEPS: dict[str, tuple[Step, Any]] = {
    "NFC": (Form("NFC"), normalizers.NFC()),
    "NFD": (Form("NFD"), normalizers.NFD()),
    "NFKC": (Form("NFKC"), normalizers.NFKC()),
    "NFKD": (Form("NFKD"), normalizers.NFKD()),
    "lower": (Lower(), normalizers.Lowercase()),
    "strip": (Strip(True, True), normalizers.Strip()),
    "strip left": (Strip(True, False), normalizers.Strip(True, False)),
    "replace": (Replace("ab", "é"), normalizers.Replace("ab", "é")),
    "prepend": (Prepend("> "), normalizers.Prepend("> ")),
}
# No character of the other planes is assigned, but for private ones.
_PLANES = (*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xE1000))
CODE_POINTS = [chr(one) for one in _PLANES]
FORMS = ["NFC", "NFD", "NFKC", "NFKD"]


@short_or_long("every", 40, 1)
@pytest.mark.parametrize("name", [*FORMS, "lower"])
def test_code_points_become_what_tokenizers_makes_of_them(name: str, every: int) -> None:
    """Every one that some step changes, or that moves; and of the others, some or all."""
    step, oracle = STEPS[name]
    points = [
        character
        for place, character in enumerate(CODE_POINTS)
        if place % every == 0
        or unicodedata.combining(character)
        or character.lower() != character
        or not unicodedata.is_normalized("NFKD", character)
    ]
    for template in ("{}", "a\u0345{}\u0334\u0301b"):
        text = "\nx".join(map(template.format, points))
        found, expected = step.apply(text), oracle.normalize_str(text)
        if found != expected:
            pairs = zip(points, found.split("\nx"), expected.split("\nx"), strict=False)
            assert [hex(ord(one)) for one, ours, theirs in pairs if ours != theirs] == []
        assert found == expected


def marked_texts(count: int) -> list[str]:
    """Texts full of what composes, moves or came late to Unicode."""
    numbers = random.Random(53)
    late = "\u0897\u0378\U000105d2\U000113c2\U00016d67\U00016d63\U00011935\U00011930\U0001e030"
    marks = "\u0301\u0308\u0323\u0345\u0334\u3099\u094d\u09be\u1161\u11a8\u11a7"
    letters = "aeAEσΣoIİ ab\u1100\u1112가각かカﾊﾞﾟé\u1eb7\u212bﬁ①¨´\u00a0\u2000\u09c7\u0344\uf900"
    letters += "\u3132\u315c\uffa1\uffc2"
    return [
        "".join(numbers.choices(letters + marks * 3 + late, k=numbers.randint(1, 9)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", STEPS)
def test_texts_of_marks_become_what_tokenizers_makes_of_them(name: str) -> None:
    step, oracle = STEPS[name]
    for text in marked_texts(2_000):
        expected = oracle.normalize_str(text)
        assert step.apply(text) == expected
        traced = step.trace(Traced.of(text))
        assert traced.text == expected
        assert len(traced.spans) == len(expected)
        for start, end in traced.spans:
            assert 0 <= start < end <= len(text)


@pytest.mark.parametrize("name", [*FORMS, "lower"])
def test_blocks_are_changed_like_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step, oracle = STEPS[name]
    monkeypatch.setattr(normalizing, "_BLOCK", 2)
    texts = [*marked_texts(1_000), *("".join(marked_texts(30)) for _ in range(20))]
    for text in texts:
        expected = oracle.normalize_str(text)
        assert step.apply(text) == expected, ascii(text)
        assert not step.keeps_slices(text) or expected == text, ascii(text)


@pytest.mark.parametrize("name", STEPS)
def test_what_is_said_to_be_kept_is_kept(name: str) -> None:
    step, oracle = STEPS[name]
    kept = slices = 0
    for text in marked_texts(1_000):
        if step.keeps_slices(text):
            slices += 1
            for end in range(len(text) + 1):
                assert oracle.normalize_str(text[:end]) == text[:end]
                assert oracle.normalize_str(text[end:]) == text[end:]
        for cut in range(1, len(text)):
            if step.keeps(text[cut]) and step.keeps(text[cut - 1]):
                kept += 1
                parts = [text[:cut], text[cut:]]
                joined = "".join(map(oracle.normalize_str, parts))
                if name != "prepend":
                    assert joined == oracle.normalize_str(text)
                assert oracle.normalize_str(text[:cut]).endswith(text[cut - 1])
    assert kept > 100
    assert slices > 20 or name == "prepend"


MARKS = "\u0301\u0323\u0308\u0344\u0345\u0313\u0f71\u0f72\u0f73\uff9e\u3099\u0903\u09c7\u09be\u0897"


@pytest.mark.parametrize("name", FORMS)
def test_many_marks_become_what_tokenizers_makes_of_them(name: str) -> None:
    step, oracle = STEPS[name]
    numbers = random.Random(97)
    for _ in range(600):
        some = numbers.sample(MARKS, numbers.randint(1, 4))
        letters = numbers.choices("aeα\uff76\u0995\u1100\u1161", k=3)
        text = "".join([*letters, *numbers.choices(some, k=numbers.choice([20, 40, 90])), "a"])
        assert step.apply(text) == oracle.normalize_str(text)


def test_all_marks_are_known_where_there_are_many() -> None:
    for character in CODE_POINTS:
        for compatible, form in ((False, "NFD"), (True, "NFKD")):
            is_mark = unicodedata.combining(unicodedata.normalize(form, character)[0]) > 0
            assert not is_mark or _marks(compatible).fullmatch(character * 32)


def test_what_ends_a_composite_composes() -> None:
    ends = set()
    for composite in CODE_POINTS:
        parts = unicodedata.decomposition(composite).split()
        is_made = unicodedata.normalize("NFC", composite) == composite
        is_made = is_made and not later_characters().match(composite)
        if len(parts) == 2 and parts[0][0] != "<" and is_made:
            ends.add(chr(int(parts[1], 16)))
    assert len(ends) > 60
    assert [one for one in ends if not Form("NFC").composes(one) or Form("NFC").begins(one)] == []
    assert Form("NFC").begins("\ufe0f")
    assert Form("NFC").begins("\u0e31")
    assert not Form("NFC").begins("\u0e48")
    assert not Form("NFC").begins("\u09be")
