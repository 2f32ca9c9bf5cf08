"""What an appender alone promises; the rest: test_growing.py, test_contract.py."""

import random

import pytest

import cutline
from tests.oracles import counter
from tests.vocabularies import TOY_TOKENS, encoding_of, with_bytes


def appender(text: str, name: str = "o200k_base") -> cutline.Appender:
    return cutline.get_encoding(name).appender(text)


@pytest.mark.parametrize(
    ("case", "before", "more", "counts"),
    [
        ("o200k_base", "a'", "s", (2, 2)),
        ("o200k_base", "日AB", "c", (2, 3)),
        ("o200k_base", " plötzlic", "h", (4, 1)),
        ("cl100k_base", " informaçõe", "s", (5, 1)),
        ("cl100k_base", " QHBoxLayout", "r", (1, 7)),
        ("o200k_base", " Pennsylvania", "r", (1, 6)),
        ("o200k_base", "don'", "t", (2, 1)),
        ("r50k_base", "'l", "l", (2, 1)),
        ("o200k_base", " " * 127, " ", (2, 1)),
        ("o200k_base", "-" * 111, "-", (2, 1)),
    ],
)
def test_appending_changes_the_tokens_before(
    case: str, before: str, more: str, counts: tuple[int, int]
) -> None:
    one = appender(before, case)
    assert one.count == counts[0] == counter(case)(before)
    assert one.fits(more, counts[1])
    assert not one.fits(more, counts[1] - 1)
    one.append(more)
    assert one.count == counts[1] == counter(case)(before + more)


def test_every_piece_alive_is_right_though_slow() -> None:
    ours = encoding_of(with_bytes(TOY_TOKENS["powers of a"]), r"a*b|a|c")
    one = ours.appender()
    for _ in range(3_000):
        one.append("a")
    assert one.count == ours.count("a" * 3_000)
    one.truncate(1_234)
    assert one.count == ours.count("a" * 1_234)
    one.append("b")
    assert one.count == ours.count("a" * 1_234 + "b")


def test_fits_asks_about_the_text_that_would_be() -> None:
    one = appender("don")
    assert not one.fits("'", 1)
    assert one.fits("'t", 1)
    assert one.fits("", 1)
    assert not one.fits("", 0)
    assert not one.fits(" word" * 10_000, 9_999)
    assert not one.fits(" word" * 10_000, 10_000)
    assert one.fits(" word" * 10_000, 10_001)
    assert (one.count, one.text) == (1, "don")


@pytest.mark.parametrize("tokens", TOY_TOKENS.values(), ids=TOY_TOKENS.keys())
@pytest.mark.parametrize("pattern", [None, r"a+|[^a]", r" ?\p{L}+|\s+(?!\S)|\s+|[^\s\p{L}]"])
def test_beyond_its_reach_more_text_never_fits(pattern: str | None, tokens: tuple[bytes]) -> None:
    encoding, rng, n_bounded = encoding_of(with_bytes(tokens), pattern), random.Random(6), 0
    for _ in range(60):
        text = "".join(rng.choices("aab c\u4e2d", k=rng.randint(1, 12)))
        start, most = rng.randint(0, len(text)), rng.randint(0, 6)
        one = encoding.appender(text[:start])
        reach = one._reach(text[start:], most)
        assert (one.text, one.count) == (text[:start], encoding.count(text[:start]))
        assert 0 <= reach <= len(text) - start
        if start + reach < len(text):
            n_bounded += 1
            for _ in range(10):
                after = "".join(rng.choices("aab c\u4e2d", k=rng.randint(0, 5)))
                assert encoding.count(text[: start + reach + 1] + after) > most, (text, after)
    assert n_bounded or pattern is None


def test_reach_ends_where_the_tokens_are_decided() -> None:
    one = appender("one two")
    assert one._reach(" three four five", 3) == len(" three four")
    assert one._reach(" three four five", 5) == len(" three four five")
    assert one._reach("", 0) == 0


def test_an_appender_is_begun_only_once() -> None:
    one = appender("abc")
    one.__init__(cutline.get_encoding("cl100k_base"), "zz")  # type: ignore[misc]
    one.append("d")
    assert (one.text, one.tokens()) == ("abcd", cutline.get_encoding("o200k_base").encode("abcd"))


def test_repr_says_encoding_length_and_count() -> None:
    assert repr(appender("hello world")) == "<Appender of 'o200k_base': 11 code points, 2 tokens>"
