"""Texts are found by their bytes, against a dictionary."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.kernels.base.text_table import (
    TextTable,
    code_points_of,
    count_characters,
    read_letters,
    replace_ends,
    replace_in_texts,
    take_texts,
    texts_that_end,
)


def table_of(texts: list[bytes]) -> TextTable:
    return TextTable(b"".join(texts) or b"\0", offsets_of(texts))


def offsets_of(texts: list[bytes]) -> np.ndarray:
    return np.cumsum([0, *map(len, texts)], dtype=np.int64)


def check(texts: list[bytes], asked: list[bytes]) -> None:
    table = table_of(texts)
    places = {text: place for place, text in reversed(list(enumerate(texts)))}
    want = [places.get(text, -1) for text in asked]
    assert [table.find(text) for text in asked] == want
    assert table.find_all(b"".join(asked) or b"\0", offsets_of(asked)).tolist() == want
    if len(places) == len(texts):
        assert table.equal is None
    else:
        later = min(place for place, text in enumerate(texts) if places[text] != place)
        assert table.equal == (places[texts[later]], later)


@given(st.lists(st.binary(max_size=40)), st.lists(st.binary(max_size=40)))
def test_any_texts(texts: list[bytes], asked: list[bytes]) -> None:
    check(texts, [*texts, *asked])


@pytest.mark.parametrize("alphabet", [b"a", b"ab", b"\0\1"])
def test_texts_that_are_much_alike(alphabet: bytes) -> None:
    rng = random.Random(5)
    texts = [bytes(rng.choices(alphabet, k=rng.randrange(40))) for _ in range(2_000)]
    check(texts[:1_500], texts)


def test_all_short_texts() -> None:
    singles = [bytes([one]) for one in range(256)]
    texts = [b"", *singles, *(one + other for one in singles for other in singles)]
    check(texts, [*texts, b"abc"])


@given(st.lists(st.text(max_size=40)))
def test_characters_of_texts(texts: list[str]) -> None:
    written = [text.encode(errors="surrogatepass") for text in texts]
    lengths = np.array([*map(len, written)], dtype=np.int64)
    assert count_characters(b"".join(written), lengths).tolist() == [*map(len, texts)]


def test_lengths_beyond_the_texts_are_refused() -> None:
    for lengths in ([4], [3, 1], [-1, 2]):
        with pytest.raises(ValueError, match="beyond"):
            count_characters(b"abc", np.array(lengths, dtype=np.int64))


def test_texts_are_taken_in_any_order() -> None:
    rng = random.Random(5)
    texts = [
        "".join(rng.choices("ab\u4e16", k=rng.choice((0, 1, 3, 40)))).encode() for _ in range(50)
    ]
    offsets = offsets_of(texts)
    for n in (0, 1, 50, 200):
        places = np.array(rng.choices(range(50), k=n), dtype=np.int64)
        expected = b"".join(texts[place] for place in places)
        assert take_texts(b"".join(texts), offsets, places) == expected
    for wrong in (-1, 50):
        with pytest.raises(ValueError, match="no text in a place"):
            take_texts(b"".join(texts), offsets, np.array([0, wrong]))
    with pytest.raises(ValueError, match="no text in a place"):
        take_texts(b"ab", np.array([0, 3]), np.array([0]))


@given(st.lists(st.text("ab\u2581\u4e16", max_size=9)), st.text("a\u2581", min_size=1, max_size=3))
def test_replaced_as_each_text_alone(texts: list[str], old: str) -> None:
    written = [text.encode() for text in texts]
    lengths = np.array([*map(len, written)], dtype=np.int64)
    replaced, new_lengths = replace_in_texts(b"".join(written), lengths, old, ord("!"))
    expected = [text.replace(old, "!").encode() for text in texts]
    assert (replaced, list(new_lengths)) == (b"".join(expected), [*map(len, expected)])


def test_nothing_is_replaced_beyond_the_texts() -> None:
    assert replace_in_texts(b"ab", np.array([1, 1]), "ab", ord("!"))[0] == b"ab"
    for lengths in ([4], [3, 1], [-1, 2]):
        with pytest.raises(ValueError, match="beyond"):
            replace_in_texts(b"abc", np.array(lengths), "b", ord("!"))
    with pytest.raises(ValueError, match="nothing"):
        replace_in_texts(b"abc", np.array([3]), "", ord("!"))


@given(
    st.lists(st.text("ab>日", max_size=6)), st.text("b>日", max_size=3), st.text("!§", max_size=3),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_ends_are_found_and_replaced_as_those_of_each_text(
    texts: list[str], old: str, new: str, chooser: random.Random
) -> None:
    written, end = [text.encode() for text in texts], old.encode()
    offsets = offsets_of(written)
    found = texts_that_end(b"".join(written), offsets, end)
    assert list(found) == [text.endswith(end) for text in written]
    places = chooser.choices(range(len(texts)), k=9) if texts else []
    replaced, lengths = replace_ends(
        b"".join(written), offsets, np.array(places, dtype=np.int64), end, new.encode()
    )
    expected = [
        written[place].removesuffix(end) + (new.encode() if written[place].endswith(end) else b"")
        for place in places
    ]
    assert (replaced, list(lengths)) == (b"".join(expected), [*map(len, expected)])


@given(st.lists(st.text("aé日\U0001f600\ud800", max_size=6)), st.randoms(use_true_random=False))
def test_letters_are_read_up_to_the_first_text_with_another(
    texts: list[str], chooser: random.Random
) -> None:
    written = [text.encode(errors="surrogatepass") for text in texts]
    places = chooser.choices(range(len(texts)), k=9) if texts else []
    byte_of = np.full(ord("日") + 1, -1, dtype=np.int16)
    known = {letter: chooser.randrange(256) for letter in chooser.sample("aé日", k=2)}
    for letter, byte in known.items():
        byte_of[ord(letter)] = byte
    found, lengths, wrong = read_letters(
        b"".join(written), offsets_of(written), np.array(places, dtype=np.int64), byte_of
    )
    others = [at for at, place in enumerate(places) if not set(texts[place]) <= known.keys()]
    assert wrong == (others[0] if others else -1)
    if not others:
        assert found == bytes(known[letter] for place in places for letter in texts[place])
        assert list(lengths) == [len(texts[place]) for place in places]


def test_ends_and_letters_of_no_text_are_refused() -> None:
    ends, byte_of = np.array([0, 1, 2]), np.arange(128, dtype=np.int16)
    for offsets, place in ((ends, 2), (ends, -1), (np.array([0, 3]), 0), (np.array([2, 1]), 0)):
        places = np.array([place])
        with pytest.raises(ValueError, match="no text in a place"):
            replace_ends(b"ab", offsets, places, b"b", b"!")
        with pytest.raises(ValueError, match="no text in a place"):
            read_letters(b"ab", offsets, places, byte_of)
    with pytest.raises(ValueError, match="no text in a place"):
        texts_that_end(b"ab", np.array([0, 3]), b"b")


@given(st.text(max_size=40))
def test_code_points_are_those_of_the_text(text: str) -> None:
    assert code_points_of(text.encode()).tolist() == [*map(ord, text)]
