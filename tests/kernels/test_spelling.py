"""Characters that are not in a set are found and spelled by their bytes."""

import random
from bisect import bisect_right

import numpy as np
import pytest
from numpy.typing import NDArray

from cutline.kernels.base.spelling import SpelledPlaces, first_other, spell

STAND_INS = "".join(map(chr, range(0xE100, 0xE180)))
LETTERS = [*"ab é", "ÿ", "ж", "日", "字", "😀", "🎉", "\ue100", "a" * 15, "ab" * 9, "日" * 7]


def bits_of(kept: str) -> NDArray[np.uint8]:
    inside = np.zeros(0x110000, dtype=bool)
    inside[list(map(ord, kept))] = True
    return np.packbits(inside, bitorder="little")


def naive(text: str, kept: str) -> str:
    return "".join(
        one if one in kept else "".join(STAND_INS[byte - 128] for byte in one.encode())
        for one in text
    )


@pytest.mark.parametrize("others", ["é日😀", "日字", "", "🎉", "éж日字😀"])
def test_spelling_is_that_of_the_definition(others: str) -> None:
    kept = "".join(map(chr, range(128))) + others
    bits, chooser = bits_of(kept), random.Random(others)
    for _ in range(2000):
        text = "".join(chooser.choices(LETTERS, k=chooser.randint(0, 12)))
        places, numbers = SpelledPlaces(text, bits), np.arange(len(text) + 1)
        written = spell(text, places, STAND_INS)
        assert written == naive(text, kept)
        begins = [len(naive(text[:at], kept)) for at in range(len(text) + 1)]
        rows = np.stack((numbers, numbers), axis=1)
        assert places.rows_of(rows).tolist() == [[at, at] for at in begins]
        assert [*map(places.start_of, numbers.tolist())] == begins
        assert [places.span_of(0, at)[1] for at in numbers.tolist()] == begins
        for place in range(begins[-1] + 3):
            assert places.character_at(place) == bisect_right(begins, place) - 1
        assert first_other(text, bits) == next(
            (at for at, one in enumerate(text) if one not in kept), -1
        )


def test_sets_without_all_of_ascii() -> None:
    bits = bits_of("ab日")
    assert first_other("ab" * 20 + "c", bits) == 40
    assert first_other("日" * 20 + "字", bits) == 20
    assert first_other("", bits) == -1


def test_surrogates_are_reported() -> None:
    bits = bits_of("".join(map(chr, range(128))))
    assert spell("a\ud800", SpelledPlaces("a\ud800", bits), STAND_INS) is None
    assert first_other("a\ud800", bits) == 1
