"""The shipped Unicode tables are those of tiktoken's engine."""

import numpy as np
import pytest

from cutline.container import unpack
from cutline.errors import CorruptDataError
from cutline.pretokenize import unicode
from cutline.pretokenize.charset import CharSet
from cutline.pretokenize.unicode import (
    DATA_PATH,
    UNICODE_MAGIC,
    UNICODE_VERSION,
    find_property,
    fold_closure,
)
from tests.pretokenize.oracles import members_by_tiktoken

EVERY_CHARACTER = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
HEADER, _ = unpack(UNICODE_MAGIC, DATA_PATH.read_bytes())
CATEGORIES = [short for short, *_ in HEADER["category"]] + list("LMNPSZC") + ["LC"]
BINARY = [long for _, long in HEADER["binary"]]
SCRIPTS = [short for short, *_ in HEADER["script"] if short != "Zzzz"]
IN_OPENAI_PATTERNS = ["L", "N", "White_Space", "Lu", "Lt", "Lm", "Lo", "Ll", "M"]


def members(characters: CharSet) -> set[str]:
    return {chr(point) for start, end in characters.ranges() for point in range(start, end)}


def found(name: str) -> CharSet:
    characters = find_property(name)
    assert characters is not None, name
    return characters


@pytest.mark.parametrize("name", IN_OPENAI_PATTERNS)
def test_sets_of_packaged_patterns_equal_tiktokens_over_all_code_points(name: str) -> None:
    assert members(found(name)) == members_by_tiktoken(rf"\p{{{name}}}", EVERY_CHARACTER)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*CATEGORIES, *BINARY, *SCRIPTS])
def test_every_shipped_set_equals_tiktokens_over_all_code_points(name: str) -> None:
    assert members(found(name)) == members_by_tiktoken(rf"\p{{{name}}}", EVERY_CHARACTER)


@pytest.mark.parametrize("atom", [r"\s", r"\d", r"\w"])
def test_shorthands_equal_tiktokens_over_all_code_points(atom: str) -> None:
    name = {"s": unicode.WHITE_SPACE, "d": unicode.DIGIT, "w": unicode.WORD}[atom[1]]
    assert members(found(name)) == members_by_tiktoken(atom, EVERY_CHARACTER)


@pytest.mark.parametrize("name", ["Lu", "Lt", "Ll", "Mn", "Greek", "Word"])
def test_folded_sets_equal_tiktokens_over_all_code_points(name: str) -> None:
    atom = r"\w" if name == "Word" else rf"\p{{{name}}}"
    expected = members_by_tiktoken(f"(?i:{atom})", EVERY_CHARACTER)
    assert members(fold_closure(found(name))) == expected


def test_every_folding_orbit_equals_tiktokens() -> None:
    points, _ = unicode._fold_classes()
    for point in np.random.default_rng(1).choice(points, 60, replace=False).tolist():
        own = members(fold_closure(CharSet.of(chr(point))))
        assert own == members_by_tiktoken(f"(?i:\\x{{{point:x}}})", EVERY_CHARACTER), hex(point)


def test_counts_are_those_of_unicode_16() -> None:
    assert UNICODE_VERSION == HEADER["unicode"] == "16.0.0"
    assert [len(found(name)) for name in ("L", "N", "White_Space")] == [141_028, 1_911, 25]


@pytest.mark.parametrize(
    ("names", "count"),
    [
        (("Han", "han", "Hani", "Script=Han", "sc=Hani", "isHan", "SCRIPT = han"), 99_030),
        (("Lu", "Uppercase_Letter", "uppercaseletter", "gc=Lu", "General_Category=Lu"), 1_858),
        (("White_Space", "space", "whitespace"), 25),
        (("Any",), 1_112_064),
        (("ASCII",), 128),
    ],
)
def test_property_names_match_loosely(names: tuple[str, ...], count: int) -> None:
    assert [len(found(name)) for name in names] == [count] * len(names)


@pytest.mark.parametrize("name", ["", "Klingon", "sc=Lu", "gc=Han", "Age=5.0", "L="])
def test_unknown_properties_are_not_found(name: str) -> None:
    assert find_property(name) is None


def test_categories_partition_the_scalar_values() -> None:
    sizes = [len(found(short)) for short, *_ in HEADER["category"]]
    assert sum(sizes) == 1_112_064
    assert len(found("Cs")) == 0


@pytest.mark.parametrize("position", [0, 8, 40, 200, -1])
def test_damaged_unicode_data_is_refused(position: int) -> None:
    data = bytearray(DATA_PATH.read_bytes())
    data[position] ^= 1
    with pytest.raises(CorruptDataError):
        unpack(UNICODE_MAGIC, bytes(data))
