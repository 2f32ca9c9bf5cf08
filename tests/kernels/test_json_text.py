"""A text as a string of JSON is what the standard library writes."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.kernels.base.json_text import json_string


def expected(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def test_every_character() -> None:
    for start in (*range(0, 0xD800, 0x100), *range(0xE000, 0x110000, 0x100)):
        text = "".join(map(chr, range(start, start + 0x100)))
        assert json_string(text.encode()) == expected(text)


@pytest.mark.parametrize("code_point", range(0x80))
def test_an_ascii_character_anywhere(code_point: int) -> None:
    for length in range(18):
        for place in range(length + 1):
            text = "!" * place + chr(code_point) + "]" * (length - place)
            assert json_string(text.encode()) == expected(text)


@pytest.mark.parametrize("seed", range(20))
def test_characters_that_are_escaped_among_others(seed: int) -> None:
    rng = random.Random(seed)
    parts = ["a", "#", "\x1f", " ", "!", '"', "\\", "\n", "\0", "\x7f", "ñ", "\x80", "日", "👩🏽"]
    for length in range(100):
        text = "".join(rng.choices(parts, k=length))
        assert json_string(text.encode()) == expected(text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text(text: str) -> None:
    assert json_string(text.encode()) == expected(text)
