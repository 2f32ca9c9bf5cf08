"""Where texts end, by their lengths, and what is no text."""

import random
from itertools import accumulate

import pytest

from cutline.kernels.base.text_ends import text_ends


class Longer(str):
    """A text that says that it is longer than it is."""

    __slots__ = ()

    def __len__(self) -> int:
        return super().__len__() + 1


def test_ends_are_sums_of_lengths() -> None:
    rng = random.Random(5)
    for n in (0, 1, 2, 15, 16, 17, 18, 300):
        texts = ["".join(rng.choices("aé日😀", k=rng.randrange(9))) for _ in range(n)]
        ends = text_ends(texts)
        assert isinstance(ends, memoryview)
        assert ends.format == "q"
        assert list(ends) == list(accumulate(map(len, texts)))


def test_what_a_subclass_overrides_does_not_count() -> None:
    ends = text_ends([Longer("ab"), "c"])
    assert isinstance(ends, memoryview)
    assert list(ends) == [2, 3]


@pytest.mark.parametrize("place", [0, 1, 15, 16, 40])
@pytest.mark.parametrize("other", [b"ab", None, 1.5, ["a"]])
def test_the_first_that_is_no_text_is_named(place: int, other: object) -> None:
    texts = ["ab"] * 41
    texts[place:] = [other] * (41 - place)  # type: ignore[list-item]
    assert text_ends(texts) == place
