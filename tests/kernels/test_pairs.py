"""Places between characters whose classes make a pair, against every two neighbours looked up."""

import random
from itertools import pairwise

import numpy as np
import pytest

from cutline.kernels.base.pairs import next_pair, places_of_pairs

LETTERS = [*"ab \n", "é", "日", "字", "😀", "\ud800", "\x00", "\U0010ffff"]


@pytest.mark.parametrize("n", [1, 2, 3, 300, 40_000])
def test_places_are_those_of_the_definition(n: int) -> None:
    chooser, numbers = random.Random(n), np.random.default_rng(n)
    class_of = numbers.integers(0, n, 0x110000).astype(np.uint16)
    seen = class_of[[*map(ord, LETTERS)]]
    for _ in range(200 if n <= 300 else 2):
        pairs = np.zeros((n, n), dtype=np.uint8)
        pairs[np.ix_(seen, seen)] = numbers.integers(0, 2, (len(seen), len(seen)))
        letters = chooser.sample(LETTERS, chooser.randint(1, len(LETTERS)))
        text = "".join(chooser.choices(letters, k=chooser.randint(0, 30)))
        classes = class_of[[*map(ord, text)]]
        expected = [at for at, pair in enumerate(pairwise(classes), start=1) if pairs[pair]]
        assert places_of_pairs(text, class_of, pairs).tolist() == expected
        for at in range(len(text) + 1):
            until = chooser.randint(0, len(text) + 1)
            later = (place for place in expected if at < place <= until)
            assert next_pair(text, at, until, class_of, pairs) == next(later, -1)


def test_tables_that_are_too_small_are_refused() -> None:
    classes = np.zeros(0x110000, dtype=np.uint16)
    square = np.zeros((1, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="a class for each code point"):
        places_of_pairs("ab", classes[1:], square)
    for wrong in (np.zeros((1, 2), dtype=np.uint8), np.zeros((0, 0), dtype=np.uint8)):
        with pytest.raises(ValueError, match="a square of pairs"):
            places_of_pairs("ab", classes, wrong)
