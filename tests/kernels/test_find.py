"""The first place of a string in a text: what `str.find` says, at every place and width."""

import random

import pytest

from cutline.kernels.base.find import find

LONG = 1 << 12  # as in the kernel: shorter texts are left to str.find
WANTED = ("<|", "<|x|>", "<||", "aa", "é|", "|日", "<😀", "<", "", "\x00\x00")


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("wide", ["", "é", "日", "😀"], ids=["ascii", "one", "two", "four"])
def test_at_every_place_of_a_block(wanted: str, wide: str) -> None:
    for before in range(140):
        for after in (0, 1, 63, 64, 65):
            text = wide + "-" * (LONG + before) + wanted + "." * after
            assert find(text, wanted) == text.find(wanted)
            assert find(text + wanted, wanted) == text.find(wanted)
            assert find(text[: len(text) - after - 1], wanted) == text[
                : len(text) - after - 1
            ].find(wanted)


@pytest.mark.parametrize("items", ["<|", "<|x", "a", "<|é>", "|日<", "x😀<|", "\x00a"], ids=ascii)
def test_among_its_beginnings(items: str) -> None:
    rng = random.Random(91)
    for length in (*range(12), LONG - 1, LONG, LONG + 1, LONG + 63, LONG + 64, 3 * LONG):
        text = "".join(rng.choices(items, k=length))
        for n in (1, 2, 3, 5, 12):
            for wanted in ("".join(rng.choices(items, k=n)), text[-n:], text[-n:] + "!"):
                assert find(text, wanted) == text.find(wanted)


def test_wanted_is_longer_than_the_text() -> None:
    assert find("a" * LONG, "a" * (LONG + 1)) == -1
    assert find("a" * LONG, "a" * LONG) == 0
