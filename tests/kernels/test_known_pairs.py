"""Places between characters of which something holds, against asking for each of them."""

import random

import numpy as np
import pytest

from cutline.kernels.base.known_pairs import KnownPairs

LETTERS = [*"ab \n\x00\x7f", "\x80", "é", "日", "字", "😀", "\ud800", "\U0010ffff"]


def holds(before: str, after: str) -> bool:
    return (ord(before) * 7 + ord(after) * 3) % 5 < 2


def places_in(text: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(1, max(1, len(text)), dtype=np.int64)


def expected(text: str) -> list[int]:
    return [at for at in range(1, len(text)) if holds(text[at - 1], text[at])]


def test_places_are_those_of_which_it_holds() -> None:
    chooser, pairs = random.Random(3), KnownPairs(holds)
    for _ in range(500):
        letters = chooser.sample(LETTERS, chooser.randint(1, len(LETTERS)))
        text = "".join(chooser.choices(letters, k=chooser.randint(0, 30)))
        assert pairs.places_of(text, places_in(text)).tolist() == expected(text)


def test_pairs_that_share_a_slot_are_told_apart() -> None:
    chooser, pairs = random.Random(4), KnownPairs(holds)
    text = "".join(chr(chooser.randrange(0x4E00, 0x9FFF)) for _ in range(60_000))
    for _ in range(2):
        assert pairs.places_of(text, places_in(text)).tolist() == expected(text)


def test_most_pairs_are_asked_for_once() -> None:
    asked = list[tuple[str, str]]()

    def ask(before: str, after: str) -> bool:
        asked.append((before, after))
        return False

    pairs = KnownPairs(ask)
    for _ in range(3):
        assert not pairs.places_of("abab日本", places_in("abab日本"))
    assert asked == [("a", "b"), ("b", "a"), ("b", "日"), ("日", "本")]


def test_places_outside_of_the_text_are_refused() -> None:
    for wrong in (0, 2, -1):
        with pytest.raises(ValueError, match="no place between two characters of 2"):
            KnownPairs(holds).places_of("ab", np.array([wrong], dtype=np.int64))


def test_what_is_raised_for_a_pair_is_passed_on() -> None:
    def fail(before: str, after: str) -> bool:
        raise ZeroDivisionError(before + after)

    with pytest.raises(ZeroDivisionError, match="ab"):
        KnownPairs(fail).places_of("ab", np.array([1], dtype=np.int64))
