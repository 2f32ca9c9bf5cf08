"""A text as a string of JSON is what the standard library writes."""

import json
import random
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.kernels.base.json_text import json_lines, json_string


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


@pytest.mark.parametrize("seed", range(10))
def test_lines_are_their_parts(seed: int) -> None:
    rng = random.Random(seed)
    numbers = [0, 9, 10, -1, 2**63 - 1, -(2**63), rng.randrange(10**9)]
    names = (b'{"a": ', "año ".encode(), b"", b', "text": ')
    tails = (b", ", b"", b', "b": ' * 9)
    for n in (0, 1, 2, 9):
        rows = [rng.choices(numbers, k=3) for _ in range(n)]
        texts = ["".join(rng.choices('a"\\\nñ\0日', k=rng.randrange(20))) for _ in range(n)]
        kinds = rng.choices(range(3), k=n)
        hashes = [rng.randbytes(5) for _ in range(n)]
        utf8 = "".join(texts).encode()
        ends = array("q", [len("".join(texts[: k + 1]).encode()) for k in range(n)])
        lines = b"".join(
            b"".join(name + str(number).encode() for name, number in zip(names, row, strict=False))
            + b"".join((names[3], expected(text), tails[kind], digits, b"}\n"))
            for row, text, kind, digits in zip(rows, texts, kinds, hashes, strict=True)
        )
        flat = array("q", [number for row in rows for number in row])
        # Kinds need not lie side by side.
        apart = memoryview(array("q", [kind for kind in kinds for _ in range(4)]))[::4]
        joined = b"".join(hashes)
        assert json_lines(names, flat, utf8, ends, tails, apart, joined, b"}\n") == lines


def test_lines_need_all_that_is_theirs() -> None:
    names, ends = (b"", b"", b""), array("q", [1])

    def lines(numbers: list[int], kinds: list[int], hashes: bytes = b"ab") -> bytes:
        one = (array("q", numbers), b"a", ends, (b",", b""), array("q", kinds), hashes, b"")
        return json_lines(names, *one)

    assert lines([1, 2], [1]) == b'12"a"ab'
    for numbers, kinds in (([1], [0]), ([1, 2], []), ([1, 2, 3], [0])):
        with pytest.raises(ValueError, match="each line needs"):
            lines(numbers, kinds)
    for kind in (-1, 2):
        with pytest.raises(ValueError, match="each kind"):
            lines([1, 2], [kind])
    with pytest.raises(ValueError, match="each line needs"):
        json_lines(
            (b"",), array("q"), b"ab", array("q", [1, 2]), (b"",), array("q", [0, 0]), b"abc", b""
        )
